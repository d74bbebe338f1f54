/* Which names of a client certificate make whom. */
#include "api/client_cert.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tap.h"
#include "tls/tls_peer.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct client_cert_map *make(const char *text, struct err *err)
{
    struct client_cert_map *m = NULL;
    struct settings s = { .tls_client_map = (char *)(uintptr_t)text, .tls_client_ca = (char *)(uintptr_t) "ca.pem" };
    return client_cert_map_new(&s, &m, err) < 0 ? NULL : m;
}

/* "role tenant" or the error. */
static const char *who_is(const char *map, const char *names)
{
    static char text[500];
    struct err err = ERR_INIT;
    struct identity who;
    CLEANUP(client_cert_map_free_p) struct client_cert_map *m = make(map, &err);
    CLEANUP(free_p) char *cert = xasprintf("%lld " HEX "\n%s", (long long)clock_wall_ms() + 60000, names);
    if (!m || client_cert_check(m, cert, clock_wall_ms(), &who, &err) < 0) {
        CHECK(err.code == (m ? ERR_FORBIDDEN : ERR_INVALID));
        (void)snprintf(text, sizeof(text), "%s", err.msg);
    } else {
        CHECK_STR(who.key, HEX);
        (void)snprintf(text, sizeof(text), "%s %s", token_file_role_name(who.token.role), who.token.tenant);
    }
    return text;
}

TEST(names_map_to_tenants_and_roles)
{
    static const char map[] =
        "{\"CN:ci\":{\"role\":\"user\",\"tenant\":\"build\"},\"subject:CN=ops,O=acme\":{\"role\":\"admin\"},"
        "\"URI:spiffe://acme/*\":{\"role\":\"user\",\"tenant\":\"$CN\"},"
        "\"URI:spiffe://acme/audit/*\":{\"role\":\"read-only\",\"tenant\":\"*\"}}";
    CHECK_STR(who_is(map, "subject:CN=ci\nCN:ci\n"), "user build");
    CHECK_STR(who_is(map, "subject:CN=ops,O=acme\nCN:ops\n"), "admin ");
    CHECK_STR(who_is(map, "subject:CN=w1\nCN:w1\nURI:spiffe://acme/w\n"), "user w1");
    CHECK_STR(who_is(map, "subject:CN=w1\nCN:w1\nURI:spiffe://acme/audit/1\n"), "read-only *"); /* the longer one */
    CHECK_STR(who_is(map, "CN:ci\nURI:spiffe://acme/audit/1\n"), "user build");                 /* the exact one */
    CHECK(strstr(who_is(map, "subject:CN=ci2\nCN:ci2\n"), "III_TLS_CLIENT_MAP"));
    CHECK(strstr(who_is(map, "subject:CN=c\nCN:c\n"), "III_TLS_CLIENT_MAP"));
    CHECK(strstr(who_is(map, "DNS:ci\nemail:ci\nsubject:CN=ops\n"), "III_TLS_CLIENT_MAP"));
    CHECK(strstr(who_is(map, ""), "III_TLS_CLIENT_MAP"));
    CHECK(strstr(who_is(map, "URI:spiffe://acme/w\n"), "tenant"));         /* no CN */
    CHECK(strstr(who_is(map, "CN:a b\nURI:spiffe://acme/w\n"), "tenant")); /* not a tenant's name */
    CHECK(strstr(who_is("{\"CN:*\":{\"role\":\"read-only\",\"tenant\":\"$CN\"}}", "CN:*\n"), "tenant"));
}

TEST(what_has_expired_or_is_damaged)
{
    struct err err = ERR_INIT;
    struct identity who;
    CLEANUP(client_cert_map_free_p) struct client_cert_map *m = make("{\"CN:*\":{\"role\":\"admin\"}}", &err);
    static const char *const bad[] = { "",
                                       "1000 " HEX "\nCN:a\n",
                                       "x " HEX "\nCN:a\n",
                                       "9999999999999 \nCN:a\n",
                                       "99999",
                                       "9999999999999 " HEX,
                                       "99999999999999999999999 " HEX "\nCN:a\n",
                                       "9999999999999 " HEX "0\nCN:a\n" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(client_cert_check(m, bad[i], clock_wall_ms(), &who, &err) < 0);
    CHECK_INT(client_cert_check(m, "9999999999999 " HEX "\nCN:a\n", clock_wall_ms(), &who, &err), 0);
    CHECK(who.token.expires == 9999999999999LL);
}

TEST(maps_that_make_no_sense)
{
    static const char *const bad[] = {
        "[]",
        "x",
        "{\"ci\":{\"role\":\"user\",\"tenant\":\"a\"}}",
        "{\"CN:\":{\"role\":\"admin\"}}",
        "{\"CN:a\":1}",
        "{\"CN:a\":{\"role\":\"root\"}}",
        "{\"CN:a\":{\"role\":\"user\"}}",
        "{\"CN:a\":{\"tenant\":\"a\"}}",
        "{\"CN:a\":{\"role\":\"user\",\"tenant\":\"*\"}}",
        "{\"CN:a\":{\"role\":\"user\",\"tenant\":\"a b\"}}",
        "{\"CN:a\":{\"role\":\"admin\",\"sandbox\":\"x\"}}",
        "{\"CN:a\":{\"role\":\"admin\",\"operations\":[\"exce\"]}}",
        "{\"CN:a\":{\"role\":\"admin\",\"operations\":[]}}",
        "{\"CN:a\":{\"role\":\"admin\",\"quota\":{\"cats\":1}}}",
        "{\"CN:a\":{\"role\":\"admin\"},\"CN:a\":{\"role\":\"admin\"}}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct err err = ERR_INIT;
        CLEANUP(client_cert_map_free_p) struct client_cert_map *m = make(bad[i], &err);
        CHECK(!m && strstr(err.msg, "III_TLS_CLIENT_MAP"));
    }
}

int main(void)
{
    RUN(names_map_to_tenants_and_roles);
    RUN(what_has_expired_or_is_damaged);
    RUN(maps_that_make_no_sense);
    return tap_done();
}
