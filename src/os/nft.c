#include "os/nft.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

static struct nfgenmsg head_of(uint8_t family, uint16_t subsystem)
{
    return (struct nfgenmsg){ .nfgen_family = family, .version = NFNETLINK_V0, .res_id = htons(subsystem) };
}

static void msg_begin(struct netlink_msg *m, uint8_t family, unsigned type, uint16_t flags)
{
    struct nfgenmsg head = head_of(family, 0);
    netlink_begin(m, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), (uint16_t)(NLM_F_ACK | flags), &head, sizeof(head));
}

static void msg_batch(struct netlink_msg *m, uint16_t type)
{
    struct nfgenmsg head = head_of(AF_UNSPEC, NFNL_SUBSYS_NFTABLES);
    netlink_begin(m, type, 0, &head, sizeof(head));
}

void nft_batch_begin(struct netlink_msg *m)
{
    msg_batch(m, NFNL_MSG_BATCH_BEGIN);
}

void nft_batch_end(struct netlink_msg *m)
{
    msg_batch(m, NFNL_MSG_BATCH_END);
}

static void msg_table(struct netlink_msg *m, uint8_t family, unsigned type, const char *name)
{
    msg_begin(m, family, type, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
    netlink_attr_str(m, NFTA_TABLE_NAME, name);
}

void nft_table_remove(struct netlink_msg m[NFT_REMOVE_MSGS], uint8_t family, const char *name)
{
    msg_table(&m[0], family, NFT_MSG_NEWTABLE, name); /* deleting one that does not exist would fail */
    msg_table(&m[1], family, NFT_MSG_DELTABLE, name);
}

void nft_table_anew(struct netlink_msg m[NFT_TABLE_MSGS], uint8_t family, const char *name)
{
    nft_table_remove(m, family, name);
    msg_table(&m[2], family, NFT_MSG_NEWTABLE, name);
}

void nft_chain_add(struct netlink_msg *m, uint8_t family, const struct nft_chain *c)
{
    msg_begin(m, family, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
    netlink_attr_str(m, NFTA_CHAIN_TABLE, c->table);
    netlink_attr_str(m, NFTA_CHAIN_NAME, c->name);
    size_t hook = netlink_nest(m, NFTA_CHAIN_HOOK);
    netlink_attr_be32(m, NFTA_HOOK_HOOKNUM, c->hook);
    netlink_attr_be32(m, NFTA_HOOK_PRIORITY, (uint32_t)c->priority);
    if (c->device)
        netlink_attr_str(m, NFTA_HOOK_DEV, c->device);
    netlink_end(m, hook);
    if (c->is_closed)
        netlink_attr_be32(m, NFTA_CHAIN_POLICY, NF_DROP);
    netlink_attr_str(m, NFTA_CHAIN_TYPE, c->type);
}

size_t nft_rule_begin(struct netlink_msg *m, uint8_t family, const struct nft_chain *c)
{
    msg_begin(m, family, NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
    netlink_attr_str(m, NFTA_RULE_TABLE, c->table);
    netlink_attr_str(m, NFTA_RULE_CHAIN, c->name);
    return netlink_nest(m, NFTA_RULE_EXPRESSIONS);
}

void nft_rule_end(struct netlink_msg *m, size_t list)
{
    netlink_end(m, list);
}

static size_t begin_expr(struct netlink_msg *m, const char *name, size_t *ret_elem)
{
    *ret_elem = netlink_nest(m, NFTA_LIST_ELEM);
    netlink_attr_str(m, NFTA_EXPR_NAME, name);
    return netlink_nest(m, NFTA_EXPR_DATA);
}

static void end_expr(struct netlink_msg *m, size_t elem, size_t data)
{
    netlink_end(m, data);
    netlink_end(m, elem);
}

void nft_load_meta(struct netlink_msg *m, uint32_t key)
{
    size_t elem, data = begin_expr(m, "meta", &elem);
    netlink_attr_be32(m, NFTA_META_DREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_META_KEY, key);
    end_expr(m, elem, data);
}

void nft_load_payload(struct netlink_msg *m, uint32_t base, uint32_t offset, uint32_t len)
{
    size_t elem, data = begin_expr(m, "payload", &elem);
    netlink_attr_be32(m, NFTA_PAYLOAD_DREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_PAYLOAD_BASE, base);
    netlink_attr_be32(m, NFTA_PAYLOAD_OFFSET, offset);
    netlink_attr_be32(m, NFTA_PAYLOAD_LEN, len);
    end_expr(m, elem, data);
}

void nft_load_value(struct netlink_msg *m, const void *value, size_t len)
{
    size_t elem, data = begin_expr(m, "immediate", &elem);
    netlink_attr_be32(m, NFTA_IMMEDIATE_DREG, NFT_REG_1);
    size_t box = netlink_nest(m, NFTA_IMMEDIATE_DATA);
    netlink_attr(m, NFTA_DATA_VALUE, value, len);
    netlink_end(m, box);
    end_expr(m, elem, data);
}

static void compare(struct netlink_msg *m, uint32_t how, const void *value, size_t len)
{
    size_t elem, data = begin_expr(m, "cmp", &elem);
    netlink_attr_be32(m, NFTA_CMP_SREG, NFT_REG_1);
    netlink_attr_be32(m, NFTA_CMP_OP, how);
    size_t box = netlink_nest(m, NFTA_CMP_DATA);
    netlink_attr(m, NFTA_DATA_VALUE, value, len);
    netlink_end(m, box);
    end_expr(m, elem, data);
}

void nft_must_equal(struct netlink_msg *m, const void *value, size_t len)
{
    compare(m, NFT_CMP_EQ, value, len);
}

void nft_must_differ(struct netlink_msg *m, const void *value, size_t len)
{
    compare(m, NFT_CMP_NEQ, value, len);
}

void nft_redirect(struct netlink_msg *m)
{
    size_t elem, data = begin_expr(m, "redir", &elem);
    netlink_attr_be32(m, NFTA_REDIR_REG_PROTO_MIN, NFT_REG_1);
    end_expr(m, elem, data);
}

void nft_forward(struct netlink_msg *m)
{
    size_t elem, data = begin_expr(m, "fwd", &elem);
    netlink_attr_be32(m, NFTA_FWD_SREG_DEV, NFT_REG_1);
    end_expr(m, elem, data);
}

static void end_with(struct netlink_msg *m, uint32_t code)
{
    size_t elem, data = begin_expr(m, "immediate", &elem);
    netlink_attr_be32(m, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    size_t box = netlink_nest(m, NFTA_IMMEDIATE_DATA);
    size_t verdict = netlink_nest(m, NFTA_DATA_VERDICT);
    netlink_attr_be32(m, NFTA_VERDICT_CODE, code);
    netlink_end(m, verdict);
    netlink_end(m, box);
    end_expr(m, elem, data);
}

void nft_accept(struct netlink_msg *m)
{
    end_with(m, NF_ACCEPT);
}

void nft_drop(struct netlink_msg *m)
{
    end_with(m, NF_DROP);
}
