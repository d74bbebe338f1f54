#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum { V4_BITS = 96, TEXT_MAX = 300 };

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

/* --- kinds --- */

struct row {
    uint8_t base[6];
    unsigned bits;
    enum address_kind kind;
};

static const struct row v4_rows[] = {
    { { 0 }, 8, ADDRESS_CLOSED },               /* this network */
    { { 10 }, 8, ADDRESS_PRIVATE },             /* RFC 1918 */
    { { 100, 64 }, 10, ADDRESS_PRIVATE },       /* shared: CGNAT */
    { { 127 }, 8, ADDRESS_LOOPBACK },           /* */
    { { 169, 254 }, 16, ADDRESS_CLOSED },       /* link-local: metadata services */
    { { 172, 16 }, 12, ADDRESS_PRIVATE },       /* RFC 1918 */
    { { 192, 0, 0 }, 24, ADDRESS_PRIVATE },     /* protocol assignments */
    { { 192, 0, 2 }, 24, ADDRESS_RESERVED },    /* documentation */
    { { 192, 88, 99 }, 24, ADDRESS_RESERVED },  /* 6to4 relays, withdrawn */
    { { 192, 168 }, 16, ADDRESS_PRIVATE },      /* RFC 1918 */
    { { 198, 18 }, 15, ADDRESS_PRIVATE },       /* benchmarks */
    { { 198, 51, 100 }, 24, ADDRESS_RESERVED }, /* documentation */
    { { 203, 0, 113 }, 24, ADDRESS_RESERVED },  /* documentation */
    { { 224 }, 3, ADDRESS_CLOSED },             /* multicast, reserved, broadcast */
    { { 0 }, 0, ADDRESS_PUBLIC },               /* */
};

static const struct row v6_rows[] = {
    { { 0xfc }, 7, ADDRESS_PRIVATE },                          /* unique local */
    { { 0xfe, 0x80 }, 10, ADDRESS_CLOSED },                    /* link-local */
    { { 0xfe, 0xc0 }, 10, ADDRESS_PRIVATE },                   /* site-local, withdrawn */
    { { 0xff }, 8, ADDRESS_CLOSED },                           /* multicast */
    { { 0x00, 0x64, 0xff, 0x9b, 0, 1 }, 48, ADDRESS_PRIVATE }, /* NAT64 of one network */
    { { 0x20, 0x01, 0, 0 }, 32, ADDRESS_RESERVED },            /* Teredo: leads to any IPv4 address */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32, ADDRESS_RESERVED },      /* documentation */
    { { 0x3f, 0xff }, 20, ADDRESS_RESERVED },                  /* documentation */
    { { 0x20 }, 3, ADDRESS_PUBLIC },                           /* all that is assigned for the Internet */
    { { 0 }, 0, ADDRESS_RESERVED },                            /* */
};

static bool has_prefix(const uint8_t *bytes, const uint8_t *base, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(bytes, base, whole) == 0 && (!rest || (bytes[whole] ^ base[whole]) >> (8 - rest) == 0);
}

/* The last row matches everything. */
static enum address_kind kind_in(const struct row *rows, const uint8_t *bytes)
{
    while (!has_prefix(bytes, rows->base, rows->bits))
        rows++;
    return rows->kind;
}

enum address_kind address_kind(const struct address *a)
{
    static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b }, zeros[15] = { 0 };
    const uint8_t *b = a->bytes;
    if (memcmp(b, mapped, 12) == 0 || memcmp(b, nat64, 12) == 0)
        return kind_in(v4_rows, b + 12);
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return kind_in(v4_rows, b + 2);
    if (memcmp(b, zeros, 15) == 0 && b[15] <= 1)
        return b[15] ? ADDRESS_LOOPBACK : ADDRESS_CLOSED;
    if (memcmp(b, zeros, 12) == 0) /* IPv4-compatible, withdrawn: whatever it holds */
        return ADDRESS_CLOSED;
    return kind_in(v6_rows, b);
}

/* --- addresses and ranges --- */

struct address address_v4(uint32_t host_order)
{
    struct address a;
    uint32_t be = htonl(host_order);
    memcpy(a.bytes, mapped, 12);
    memcpy(a.bytes + 12, &be, 4);
    return a;
}

bool address_of(const struct sockaddr *a, struct address *ret, uint16_t *ret_port)
{
    uint16_t port = 0;
    if (a->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, a, sizeof(v4));
        *ret = address_v4(ntohl(v4.sin_addr.s_addr));
        port = ntohs(v4.sin_port);
    } else if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, a, sizeof(v6));
        memcpy(ret->bytes, &v6.sin6_addr, 16);
        port = ntohs(v6.sin6_port);
    } else {
        return false;
    }
    if (ret_port)
        *ret_port = port;
    return true;
}

bool address_parse(const char *text, struct address *ret)
{
    char host[INET6_ADDRSTRLEN];
    size_t len = strlen(text), skip = *text == '[' && len > 2 && text[len - 1] == ']';
    struct in_addr v4;
    len -= 2 * skip;
    if (len >= sizeof(host))
        return false;
    memcpy(host, text + skip, len);
    host[len] = '\0';
    if (!skip && inet_pton(AF_INET, host, &v4) == 1) {
        *ret = address_v4(ntohl(v4.s_addr));
        return true;
    }
    return inet_pton(AF_INET6, host, ret->bytes) == 1;
}

/* Digits only, at most max. */
static int parse_number(const char *text, unsigned long max, unsigned long *ret)
{
    size_t len = strlen(text);
    if (len == 0 || len > 5 || strspn(text, "0123456789") != len)
        return -EINVAL;
    *ret = strtoul(text, NULL, 10);
    return *ret <= max ? 0 : -EINVAL;
}

unsigned address_slot(const struct address *a)
{
    size_t len = memcmp(a->bytes, mapped, sizeof(mapped)) == 0 ? sizeof(a->bytes) : sizeof(a->bytes) / 2;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ a->bytes[i]) * 16777619u;
    return (hash ^ hash >> 16) % ADDRESS_SLOTS;
}

int address_range_parse(const char *text, struct address_range *ret)
{
    char host[TEXT_MAX];
    size_t n = strcspn(text, "/");
    if (n >= sizeof(host))
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (!address_parse(host, &ret->base))
        return -EINVAL;
    unsigned long least = strchr(host, ':') ? 0 : V4_BITS, bits = 128 - least;
    if (text[n] && parse_number(text + n + 1, bits, &bits) < 0)
        return -EINVAL;
    ret->bits = (unsigned)(bits + least);
    return 0;
}

bool address_range_has(const struct address_range *r, const struct address *a)
{
    return has_prefix(a->bytes, r->base.bytes, r->bits);
}

/* --- lists --- */

struct entry {
    char host[TEXT_MAX];
    char port[8]; /* "": 80 and 443 */
};

/* Copies the next entry of a list; false at its end. text is "" for one that is too long. */
static bool next_entry(const char **at, char text[TEXT_MAX])
{
    *at += strspn(*at, ", \t");
    size_t len = strcspn(*at, ", \t");
    size_t kept = len < TEXT_MAX ? len : 0;
    memcpy(text, *at, kept);
    text[kept] = '\0';
    *at += len;
    return len > 0;
}

/* Splits HOST[:PORT]; an IPv6 address has several colons, so that its port needs brackets. */
static bool split_entry(const char *text, struct entry *ret)
{
    const char *colon = strrchr(text, ':');
    bool has_port = colon && (colon[-(colon > text)] == ']' || strchr(text, ':') == colon);
    size_t len = has_port ? (size_t)(colon - text) : strlen(text);
    if (len == 0 || len >= sizeof(ret->host) || (has_port && (!colon[1] || strlen(colon + 1) >= sizeof(ret->port))))
        return false;
    memcpy(ret->host, text, len);
    ret->host[len] = '\0';
    ret->port[0] = '\0';
    if (has_port)
        memcpy(ret->port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

static bool is_name(const char *text)
{
    size_t star = strncmp(text, "*.", 2) == 0 ? 2 : 0;
    return text[star] && text[star + strspn(text + star, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                         "0123456789-_.")] == '\0';
}

int address_hosts_check(const char *list, const char *setting, struct err *err)
{
    char text[TEXT_MAX];
    for (const char *at = list, *from = at; next_entry(&at, text); from = at) {
        struct entry e;
        struct address_range range;
        unsigned long port = 1;
        bool is_good = split_entry(text, &e) && (address_range_parse(e.host, &range) == 0 || is_name(e.host));
        if (is_good && *e.port && strcmp(e.port, "*") != 0)
            is_good = parse_number(e.port, UINT16_MAX, &port) == 0 && port > 0;
        if (!is_good)
            return err_set(err, ERR_INVALID, 0,
                           "%s: \"%.100s\" is not a host, *.DOMAIN or a range of addresses, with :PORT, :* or no port",
                           setting, from + strspn(from, ", \t"));
    }
    return 0;
}

static bool is_host(const char *pattern, const char *host)
{
    struct address_range range;
    struct address a;
    if (address_parse(host, &a))
        return address_range_parse(pattern, &range) == 0 && address_range_has(&range, &a);
    size_t have = strlen(host), want = strlen(pattern);
    have -= have && host[have - 1] == '.'; /* the root's dot says nothing */
    if (strncmp(pattern, "*.", 2) == 0)
        return have > want - 1 && strncasecmp(host + have - (want - 1), pattern + 1, want - 1) == 0;
    return have == want && strncasecmp(host, pattern, want) == 0;
}

bool address_hosts_have(const char *list, const char *host, uint16_t port)
{
    char text[TEXT_MAX];
    for (const char *at = list ? list : ""; next_entry(&at, text);) {
        struct entry e;
        if (!split_entry(text, &e) || !is_host(e.host, host))
            continue;
        if (*e.port ? address_ports_have(e.port, port) : port == 80 || port == 443)
            return true;
    }
    return false;
}

static int parse_ports(const char *text, unsigned long *ret_low, unsigned long *ret_high)
{
    char low[8];
    size_t n = strcspn(text, "-");
    if (strcmp(text, "*") == 0) {
        *ret_low = 1;
        *ret_high = UINT16_MAX;
        return 0;
    }
    if (n >= sizeof(low))
        return -EINVAL;
    memcpy(low, text, n);
    low[n] = '\0';
    if (parse_number(low, UINT16_MAX, ret_low) < 0 || *ret_low == 0)
        return -EINVAL;
    *ret_high = *ret_low;
    if (text[n] && parse_number(text + n + 1, UINT16_MAX, ret_high) < 0)
        return -EINVAL;
    return *ret_low <= *ret_high ? 0 : -EINVAL;
}

int address_ports_check(const char *list, const char *setting, struct err *err)
{
    char text[TEXT_MAX];
    unsigned long low, high;
    for (const char *at = list; next_entry(&at, text);)
        if (parse_ports(text, &low, &high) < 0)
            return err_set(err, ERR_INVALID, 0, "%s: \"%.20s\" is not a port from 1 to 65535, a range LOW-HIGH, or *",
                           setting, text);
    return 0;
}

bool address_ports_have(const char *list, unsigned port)
{
    char text[TEXT_MAX];
    unsigned long low, high;
    for (const char *at = list ? list : ""; next_entry(&at, text);)
        if (parse_ports(text, &low, &high) == 0 && port >= low && port <= high)
            return true;
    return false;
}
