/* DNS messages, TLS greetings and HTTP heads: what is read, and that cut or hostile ones are refused. */
#include <errno.h>

#include "sandbox/net/egress_parse.h"
#include "tap.h"

static const uint8_t query[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                               "\x03WwW\x04test\x00\x00\x01\x00\x01";
static const uint8_t reply[] = "\x12\x34\x81\x80\x00\x01\x00\x03\x00\x00\x00\x00"
                               "\x03www\x04test\x00\x00\x01\x00\x01"
                               "\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x04\x01x\xc0\x10"
                               "\x01x\xc0\x10\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x33\x64\x0a"
                               "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\xc6\x33\x64\x0b";

TEST(a_query_and_its_reply)
{
    struct egress_parse_question q;
    uint32_t found[4];
    CHECK_INT(egress_parse_parse(query, sizeof(query) - 1, false, &q), 0);
    CHECK(strcmp(q.name, "www.test") == 0 && q.type == 1 && q.id == 0x1234 && q.end == sizeof(query) - 1);
    CHECK_INT(egress_parse_parse(query, sizeof(query) - 1, true, &q), -EBADMSG);
    CHECK_INT(egress_parse_parse(reply, sizeof(reply) - 1, true, &q), 0);
    CHECK_INT(egress_parse_addresses(reply, sizeof(reply) - 1, &q, found, 4), 2);
    CHECK(found[0] == 0xc633640a && found[1] == 0xc633640b);
    CHECK_INT(egress_parse_addresses(reply, sizeof(reply) - 1, &q, found, 1), 1);
    for (size_t n = 0; n < sizeof(query) - 1; n++)
        CHECK_INT(egress_parse_parse(query, n, false, &q), -EBADMSG);
    CHECK_INT(egress_parse_parse(reply, sizeof(reply) - 1, true, &q), 0);
    for (size_t n = q.end; n < sizeof(reply) - 1; n++)
        CHECK(egress_parse_addresses(reply, n, &q, found, 4) < 2);
}

TEST(odd_queries)
{
    struct egress_parse_question q;
    uint8_t m[sizeof(query)];
    memcpy(m, query, sizeof(m));
    m[12] = 0xc0; /* a pointer */
    CHECK_INT(egress_parse_parse(m, sizeof(m) - 1, false, &q), -EBADMSG);
    memcpy(m, query, sizeof(m));
    m[5] = 2; /* two questions */
    CHECK_INT(egress_parse_parse(m, sizeof(m) - 1, false, &q), -EBADMSG);
    memcpy(m, query, sizeof(m));
    m[13] = '.';
    CHECK_INT(egress_parse_parse(m, sizeof(m) - 1, false, &q), -EBADMSG);
    memcpy(m, query, sizeof(m));
    m[2] |= 0x28; /* not a standard query */
    CHECK_INT(egress_parse_parse(m, sizeof(m) - 1, false, &q), -EBADMSG);
    uint8_t big[EGRESS_PARSE_MAX + 1] = { 0 };
    CHECK_INT(egress_parse_parse(big, sizeof(big), false, &q), -EBADMSG);
    big[5] = 1;
    for (size_t at = 12; at < 12 + 5 * 64; at += 64)
        memset(big + at, 'a', 64), big[at] = 63;
    CHECK_INT(egress_parse_parse(big, 400, false, &q), -EBADMSG); /* a name past 255 bytes */
}

TEST(refusing)
{
    struct egress_parse_question q;
    uint8_t m[64];
    memcpy(m, query, sizeof(query));
    CHECK_INT(egress_parse_parse(m, sizeof(query) - 1, false, &q), 0);
    size_t n = egress_parse_refuse(m, &q, 3);
    CHECK_INT(egress_parse_parse(m, n, true, &q), 0);
    CHECK_INT(m[3] & 15, 3);
}

TEST(first_bytes)
{
    static const struct {
        const char *text;
        enum egress_parse_kind kind;
    } rows[] = { { "", EGRESS_PARSE_NONE },
                 { "\x16\x03", EGRESS_PARSE_TLS },
                 { "GET / HTTP/1.1\r\n", EGRESS_PARSE_HTTP },
                 { "FOO / HTTP/1", EGRESS_PARSE_HTTP },
                 { "\r\n\r\nGET / HTTP/1.1\r\n", EGRESS_PARSE_HTTP },
                 { "PRI * HTTP/2.0\r\n\r\nSM", EGRESS_PARSE_HTTP },
                 { "GET /", EGRESS_PARSE_TEXT },
                 { "\r\n", EGRESS_PARSE_TEXT },
                 { "GET /\r\n", EGRESS_PARSE_OTHER },
                 { "SSH-2.0-x\r\n", EGRESS_PARSE_OTHER },
                 { "EHLO x\r\nGET / HTTP/1.1\r\n", EGRESS_PARSE_OTHER },
                 { "GET \x01 HTTP/1.1", EGRESS_PARSE_OTHER },
                 { "\x03\x2a", EGRESS_PARSE_OTHER } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_INT(egress_parse_kind((const uint8_t *)rows[i].text, strlen(rows[i].text)), rows[i].kind);
}

TEST(hosts)
{
    char name[EGRESS_POLICY_NAME], big[EGRESS_POLICY_NAME + 2];
    CHECK_INT(egress_parse_host("Web.Test:8080", name), 0);
    CHECK_STR(name, "web.test");
    CHECK_INT(egress_parse_host("web.test.", name), 0);
    CHECK_STR(name, "web.test");
    memset(big, 'a', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    static const char *const bad[] = { "", ":80", ".", "a b", "a\x80" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(egress_parse_host(bad[i], name), -EBADMSG);
    CHECK_INT(egress_parse_host(big, name), -EBADMSG);
}

static size_t handshake(uint8_t *out, const char *server)
{
    size_t len = strlen(server), at = 5;
    memset(out, 0, 200);
    out[0] = 22, out[1] = 3, out[2] = 1;
    out[at] = 1; /* ClientHello, 3 bytes of length, version, random */
    at += 1 + 3 + 2 + 32;
    at += 1;                                    /* no session */
    out[at + 1] = 2, at += 4;                   /* one cipher */
    out[at] = 1, at += 2;                       /* one compression */
    at += 2;                                    /* length of the extensions: not used */
    out[at + 1] = 10, out[at + 3] = 1, at += 5; /* some other extension */
    at += 2, out[at + 1] = (uint8_t)(len + 5), at += 2;
    out[at + 1] = (uint8_t)(len + 3), at += 3;
    out[at + 1] = (uint8_t)len, at += 2;
    memcpy(out + at, server, len);
    at += len;
    out[3] = (uint8_t)((at - 5) >> 8), out[4] = (uint8_t)(at - 5);
    return at;
}

TEST(tls_names)
{
    char name[EGRESS_POLICY_NAME];
    uint8_t m[300];
    size_t len = handshake(m, "Web.Test");
    CHECK_INT(egress_parse_tls_name(m, len, name), 1);
    CHECK(strcmp(name, "web.test") == 0);
    for (size_t n = 0; n < len; n++)
        CHECK_INT(egress_parse_tls_name(m, n, name), 0);
    m[0] = 'G';
    CHECK_INT(egress_parse_tls_name(m, len, name), -EBADMSG);
    static const uint8_t largest[] = { 22, 3, 1, 0x40, 0 }, larger[] = { 22, 3, 1, 0x40, 1 };
    CHECK_INT(egress_parse_tls_name(largest, sizeof(largest), name), 0); /* the rest of it may come */
    CHECK_INT(egress_parse_tls_name(larger, sizeof(larger), name), -EBADMSG);
    len = handshake(m, "");
    CHECK_INT(egress_parse_tls_name(m, len, name), -EBADMSG);
    for (size_t cut = 1; cut < len - 5; cut++) { /* a record that ends too early */
        len = handshake(m, "a.b");
        m[4] = (uint8_t)(len - 5 - cut);
        CHECK_INT(egress_parse_tls_name(m, len, name), -EBADMSG);
    }
}

int main(void)
{
    RUN(a_query_and_its_reply);
    RUN(odd_queries);
    RUN(refusing);
    RUN(first_bytes);
    RUN(hosts);
    RUN(tls_names);
    return tap_done();
}
