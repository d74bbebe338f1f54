/* Parsers of DNS messages, TLS ClientHellos and HTTP heads, as far as an egress policy needs them. Pure; everything is
 * untrusted. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/net/egress_policy.h"

#define EGRESS_PARSE_MAX 4096 /* bytes of a message */

struct egress_parse_question {
    uint16_t id, type;
    char name[EGRESS_POLICY_NAME]; /* lower case, no dot at the end */
    size_t end;                    /* bytes up to the end of the question */
};
/* A plain query with one question of class IN, or a reply to one: 0, else -EBADMSG. */
int egress_parse_parse(const uint8_t *msg, size_t len, bool is_reply, struct egress_parse_question *ret);
/* Up to max IPv4 addresses (host order) of a parsed reply's answers; how many. */
size_t egress_parse_addresses(const uint8_t *msg, size_t len, const struct egress_parse_question *q, uint32_t *ret,
                              size_t max);
/* Makes the reply without answers to a query, in place: header and question with this code (0, 3 = no such name). */
size_t egress_parse_refuse(uint8_t *msg, const struct egress_parse_question *q, uint8_t code);

/* The server's name in the first bytes a client sends. 1: in ret, lower case. 0: more bytes needed. -EBADMSG: none
 * there. */
int egress_parse_tls_name(const uint8_t *data, size_t len, char ret[EGRESS_POLICY_NAME]);
/* What the first bytes of a client are. EGRESS_PARSE_TEXT: HTTP if the first line says so, which is not whole yet. */
enum egress_parse_kind {
    EGRESS_PARSE_NONE,
    EGRESS_PARSE_TLS,
    EGRESS_PARSE_HTTP,
    EGRESS_PARSE_TEXT,
    EGRESS_PARSE_OTHER
};
enum egress_parse_kind egress_parse_kind(const uint8_t *data, size_t len);
/* The name in the value of a Host header, without port and final dot. 0, else -EBADMSG. */
int egress_parse_host(const char *value, char ret[EGRESS_POLICY_NAME]);
