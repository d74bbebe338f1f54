#include "sandbox/net/egress_policy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"

struct cidr {
    uint32_t address, prefix;
};

struct rule {
    bool is_allow, has_cidr;
    struct cidr cidr;
    char domain[EGRESS_POLICY_NAME]; /* "" = any; "*.x" = below x */
    struct {
        uint16_t low, high;
    } ports[EGRESS_POLICY_PORTS];
    size_t n_ports;
};

struct egress_policy {
    bool is_allow;
    json_t *json;
    size_t n_rules;
    struct rule rules[];
};

/* This host, link-local with the metadata services, multicast, reserved. Never opened. */
static const struct cidr closed[] = { { 0x00000000, 8 }, { 0x7f000000, 8 }, { 0xa9fe0000, 16 }, { 0xe0000000, 3 } };
/* Private, shared, protocol assignments, benchmarks. */
static const struct cidr private_ranges[] = { { 0x0a000000, 8 },  { 0xac100000, 12 }, { 0xc0a80000, 16 },
                                              { 0x64400000, 10 }, { 0xc0000000, 24 }, { 0xc6120000, 15 } };

static bool is_in(uint32_t address, struct cidr c)
{
    return c.prefix == 0 || (address ^ c.address) >> (32 - c.prefix) == 0;
}

static const struct cidr *private_range(uint32_t address)
{
    for (size_t i = 0; i < sizeof(private_ranges) / sizeof(*private_ranges); i++)
        if (is_in(address, private_ranges[i]))
            return &private_ranges[i];
    return NULL;
}

static int parse_cidr(const char *text, struct cidr *ret)
{
    char host[64];
    struct in_addr in;
    size_t n = strcspn(text, "/");
    char *end = NULL;
    unsigned long prefix = text[n] ? strtoul(text + n + 1, &end, 10) : 32;
    if (n >= sizeof(host) ||
        (text[n] && (end == text + n + 1 || *end || strspn(text + n + 1, "0123456789") != strlen(text + n + 1))) ||
        prefix > 32)
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (inet_pton(AF_INET, host, &in) != 1)
        return -EINVAL;
    ret->prefix = (uint32_t)prefix;
    ret->address = prefix ? ntohl(in.s_addr) & ~0u << (32 - prefix) : 0;
    return 0;
}

static int parse_domain(const char *text, char ret[EGRESS_POLICY_NAME])
{
    size_t len = strlen(text), star = strncmp(text, "*.", 2) == 0 ? 2 : 0;
    if (len == 0 || len >= EGRESS_POLICY_NAME || len == star)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] + 32) : text[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (!is_good && i >= star)
            return -EINVAL;
        ret[i] = c;
    }
    ret[len - (text[len - 1] == '.')] = '\0'; /* the root's dot says nothing */
    /* What is left of "." would be a rule without a name, which is about everything. */
    return !ret[star] || ret[star] == '.' || strstr(ret, "..") ? -EINVAL : 0;
}

/* 443, "443" or "8000-8100". */
static int parse_ports(const json_t *entry, uint16_t *ret_low, uint16_t *ret_high)
{
    long low = 0, high = 0;
    if (json_is_integer(entry)) {
        low = high = (long)json_integer_value(entry);
    } else if (json_is_string(entry)) {
        const char *text = json_string_value(entry);
        if (strspn(text, "0123456789-") != strlen(text) || strlen(text) > 11 || text[0] == '-')
            return -EINVAL;
        char *end = NULL;
        low = high = strtol(text, &end, 10);
        if (*end == '-' && end[1] && end[1] != '-')
            high = strtol(end + 1, &end, 10);
        if (*end)
            return -EINVAL;
    }
    if (low < LIMIT_MIN(PORT) || high > LIMIT_MAX(PORT) || low > high)
        return -EINVAL;
    *ret_low = (uint16_t)low;
    *ret_high = (uint16_t)high;
    return 0;
}

static int parse_rule(const json_t *j, size_t at, struct rule *ret, struct err *err)
{
    const char *action = json_get_str(j, "action", ""), *cidr = json_get_str(j, "cidr", NULL);
    const char *domain = json_get_str(j, "domain", NULL);
    const json_t *ports = json_get(j, "ports");
    ret->is_allow = strcmp(action, "allow") == 0;
    if (!ret->is_allow && strcmp(action, "deny") != 0)
        return err_set(err, ERR_INVALID, 0, "rules[%zu].action must be allow or deny", at);
    if (cidr && parse_cidr(cidr, &ret->cidr) < 0)
        return err_set(err, ERR_INVALID, 0, "rules[%zu].cidr must be an IPv4 address or range like 192.0.2.0/24", at);
    ret->has_cidr = cidr != NULL;
    if (domain && parse_domain(domain, ret->domain) < 0)
        return err_set(err, ERR_INVALID, 0, "rules[%zu].domain must be a name like example.org or *.example.org", at);
    if (ports && (!json_is_array(ports) || json_array_size(ports) == 0 || json_array_size(ports) > EGRESS_POLICY_PORTS))
        return err_set(err, ERR_INVALID, 0, "rules[%zu].ports must be an array of 1 to %d ports", at,
                       EGRESS_POLICY_PORTS);
    for (size_t i = 0; i < json_array_size(ports); i++, ret->n_ports++)
        if (parse_ports(json_array_get(ports, i), &ret->ports[i].low, &ret->ports[i].high) < 0)
            return err_set(err, ERR_INVALID, 0,
                           "rules[%zu].ports[%zu] must be a port from 1 to 65535, or a range like \"8000-8100\"", at,
                           i);
    return 0;
}

int egress_policy_new(const json_t *json, struct egress_policy **ret, struct err *err)
{
    const char *usual = json_get_str(json, "default", "allow");
    const json_t *rules = json_get(json, "rules");
    size_t n = json_array_size(rules);
    if (strcmp(usual, "allow") != 0 && strcmp(usual, "deny") != 0)
        return err_set(err, ERR_INVALID, 0, "default must be allow or deny");
    if (n > EGRESS_POLICY_RULES)
        return err_set(err, ERR_INVALID, 0, "rules has %zu entries, more than %d", n, EGRESS_POLICY_RULES);
    CLEANUP(egress_policy_free_p) struct egress_policy *p = xzalloc(sizeof(*p) + n * sizeof(p->rules[0]));
    p->is_allow = strcmp(usual, "allow") == 0;
    for (; p->n_rules < n; p->n_rules++) {
        int r = parse_rule(json_array_get(rules, p->n_rules), p->n_rules, &p->rules[p->n_rules], err);
        if (r < 0)
            return r;
    }
    p->json = json_pack("{s:s, s:o}", "default", usual, "rules",
                        json_is_array(rules) ? json_deep_copy((json_t *)(uintptr_t)rules) : json_array());
    *ret = STEAL(p);
    return 0;
}

struct egress_policy *egress_policy_free(struct egress_policy *p)
{
    if (!p)
        return NULL;
    json_decref(p->json);
    free(p);
    return NULL;
}

const json_t *egress_policy_json(const struct egress_policy *p)
{
    return p->json;
}

static bool is_name_of(const char *domain, const char *name)
{
    size_t have = strlen(name), want = strlen(domain);
    if (domain[0] != '*')
        return strcmp(domain, name) == 0;
    return have > want - 1 && strcmp(name + have - (want - 1), domain + 1) == 0; /* ".x" at its end, something before */
}

static bool is_match(const struct rule *rule, const struct egress_policy_target *t)
{
    bool has_name = !rule->domain[0], has_port = rule->n_ports == 0;
    if (has_port && !has_name && rule->is_allow) /* on other ports nothing says which name the client means */
        has_port = t->port == 80 || t->port == 443;
    for (size_t i = 0; i < t->n_names && !has_name; i++)
        has_name = is_name_of(rule->domain, t->names[i]);
    for (size_t i = 0; i < rule->n_ports && !has_port; i++)
        has_port = t->port >= rule->ports[i].low && t->port <= rule->ports[i].high;
    return has_name && has_port && (!rule->has_cidr || is_in(t->address, rule->cidr));
}

enum egress_policy_verdict egress_policy_judge(const struct egress_policy *p, const struct egress_policy_target *t)
{
    const struct cidr *inner = private_range(t->address);
    for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
        if (is_in(t->address, closed[i]))
            return EGRESS_POLICY_DENY;
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct rule *rule = &p->rules[i];
        if (!is_match(rule, t))
            continue;
        if (!rule->is_allow)
            return EGRESS_POLICY_DENY;
        /* A name or a wide range does not open what is private: the name could be anyone's to point there. */
        if (inner && !(rule->has_cidr && rule->cidr.prefix >= inner->prefix))
            continue;
        return rule->domain[0] ? EGRESS_POLICY_NAMED : EGRESS_POLICY_ALLOW;
    }
    return !inner && p->is_allow ? EGRESS_POLICY_ALLOW : EGRESS_POLICY_DENY;
}

bool egress_policy_may_resolve(const struct egress_policy *p, const char *name)
{
    for (size_t i = 0; i < p->n_rules; i++) {
        const struct rule *rule = &p->rules[i];
        if (!rule->domain[0] || !is_name_of(rule->domain, name))
            continue;
        if (rule->is_allow)
            return true;
        if (rule->n_ports == 0 && !rule->has_cidr)
            return false;
    }
    return p->is_allow;
}
