/* nftables transactions: tables, chains and rules as netlink messages, one each. Loads go to one register, which the
 * next expression uses. May include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "os/netlink.h"

/* A base chain. */
struct nft_chain {
    const char *table, *name;
    const char *type; /* "nat", "filter" */
    uint32_t hook;    /* NF_INET_…, NF_NETDEV_INGRESS */
    int32_t priority;
    const char *device; /* of a netdev chain; else NULL */
    bool is_closed;     /* drops what no rule accepts */
};

void nft_batch_begin(struct netlink_msg *m);
void nft_batch_end(struct netlink_msg *m);
/* Three messages: makes the table, or empties an existing one. family: NFPROTO_… */
#define NFT_TABLE_MSGS 3
void nft_table_anew(struct netlink_msg m[NFT_TABLE_MSGS], uint8_t family, const char *name);
/* Two messages: removes the table, whether it exists or not. */
#define NFT_REMOVE_MSGS 2
void nft_table_remove(struct netlink_msg m[NFT_REMOVE_MSGS], uint8_t family, const char *name);
void nft_chain_add(struct netlink_msg *m, uint8_t family, const struct nft_chain *c);

/* A rule: begin, expressions in their order, end with the value that begin returned. */
size_t nft_rule_begin(struct netlink_msg *m, uint8_t family, const struct nft_chain *c);
void nft_rule_end(struct netlink_msg *m, size_t list);
void nft_load_meta(struct netlink_msg *m, uint32_t key); /* NFT_META_… */
/* base: NFT_PAYLOAD_…_HEADER */
void nft_load_payload(struct netlink_msg *m, uint32_t base, uint32_t offset, uint32_t len);
void nft_load_value(struct netlink_msg *m, const void *value, size_t len);
void nft_must_equal(struct netlink_msg *m, const void *value, size_t len);
void nft_must_differ(struct netlink_msg *m, const void *value, size_t len);
void nft_redirect(struct netlink_msg *m); /* to the local port that was loaded */
void nft_forward(struct netlink_msg *m);  /* out of the device whose index was loaded; netdev chains */
void nft_accept(struct netlink_msg *m);
void nft_drop(struct netlink_msg *m);
