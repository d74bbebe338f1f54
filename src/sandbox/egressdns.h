/* Reading DNS messages, TLS greetings and HTTP heads as far as an egress policy needs it. Pure; everything is
 * untrusted. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sandbox/egresspolicy.h"

#define EGRESSDNS_MAX 4096 /* bytes of a message */

struct egressdns_question {
    uint16_t id, type;
    char name[EGRESSPOLICY_NAME]; /* lower case, no dot at the end */
    size_t end;                   /* bytes up to the end of the question */
};
/* A plain query with one question of class IN, or a reply to one: 0, else -EBADMSG. */
int egressdns_parse(const uint8_t *msg, size_t len, bool is_reply, struct egressdns_question *ret);
/* Up to max IPv4 addresses (host order) of a parsed reply's answers; how many. */
size_t egressdns_addresses(const uint8_t *msg, size_t len, const struct egressdns_question *q, uint32_t *ret,
                           size_t max);
/* Makes the reply without answers to a query, in place: header and question with this code (0, 3 = no such name). */
size_t egressdns_refuse(uint8_t *msg, const struct egressdns_question *q, uint8_t code);

/* The server's name in the first bytes a client sends. 1: in ret, lower case. 0: more bytes needed. -EBADMSG: none
 * there. */
int egressdns_tls_name(const uint8_t *data, size_t len, char ret[EGRESSPOLICY_NAME]);
int egressdns_http_name(const uint8_t *data, size_t len, char ret[EGRESSPOLICY_NAME]);
