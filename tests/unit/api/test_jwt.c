/* What makes a token of an issuer valid, apart from the clock, which the tests bring. tests/blackbox/test_oidc.py has
 * the forgeries that need a key. */
#include "api/jwt.h"

#include <string.h>

#include "base/alloc.h"
#include "jwts.h"
#include "tap.h"

#define NOW_MS 1800000000000LL
#define END_MS 4102444800000LL
#define ALL    "{\"keys\":[" JWTS_EC_KEY "," JWTS_P384_KEY "," JWTS_ED_KEY "," JWTS_RSA_KEY "]}"

static const struct jwt_rules rules = { .issuer = "https://issuer.example", .audience = "iii" };

static struct jwks *keys(const char *text)
{
    struct jwks *s = NULL;
    CHECK_INT(jwks_parse(text, strlen(text), &s, NULL), 0);
    return s;
}

/* "" or what is wrong. */
static const char *verdict(const char *set, const char *token, int64_t now_ms)
{
    static struct err err;
    CLEANUP(jwks_free_p) struct jwks *s = set ? keys(set) : NULL;
    CLEANUP(jwt_done) struct jwt t = { 0 };
    err = (struct err)ERR_INIT;
    if (jwt_check(token, s, &rules, now_ms, &t, &err) == 0) {
        CHECK_STR(t.subject, "alice");
        CHECK(t.expires == END_MS && strlen(t.key) == 64);
        return "";
    }
    CHECK(err.code == ERR_UNAUTHORIZED && !t.claims);
    return err.msg;
}

TEST(every_algorithm)
{
    static const char *const good[] = { JWTS_EC_TOKEN,    JWTS_P384_TOKEN,  JWTS_ED_TOKEN,
                                        JWTS_RS256_TOKEN, JWTS_PS256_TOKEN, JWTS_NO_KID_TOKEN };
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        CHECK_STR(verdict(ALL, good[i], NOW_MS), "");
        CHECK_STR(verdict(ALL, good[i], END_MS - 1), "");
        CHECK(strstr(verdict(ALL, good[i], END_MS), "expired"));
        CHECK(strstr(verdict(NULL, good[i], NOW_MS), "kid"));
    }
    CHECK(strstr(verdict(ALL, JWTS_OTHER_KEY_TOKEN, NOW_MS), "signature"));
    CHECK(strstr(verdict(ALL, JWTS_SMALL_TOKEN, NOW_MS), "kid"));
}

/* A change of any one letter is noticed, whichever part it is in. */
TEST(no_letter_may_change)
{
    CLEANUP(free_p) char *token = xstrdup(JWTS_ED_TOKEN);
    for (char *at = token; *at; at++) {
        char was = *at;
        *at = was == 'A' ? 'B' : was == '.' ? 'A' : 'A';
        CHECK(*verdict(ALL, token, NOW_MS));
        *at = was;
    }
    CHECK_STR(verdict(ALL, token, NOW_MS), "");
}

TEST(a_claim_by_path)
{
    CLEANUP(jwks_free_p) struct jwks *s = keys(ALL);
    CLEANUP(jwt_done) struct jwt t = { 0 };
    CHECK_INT(jwt_check(JWTS_PATHS_TOKEN, s, &rules, NOW_MS, &t, NULL), 0);
    CHECK_STR(jwt_text(jwt_claim(t.claims, "a.b.c")), "deep");
    CHECK_STR(jwt_text(jwt_claim(t.claims, "x.y")), "flat"); /* the claim of that name comes first */
    CHECK_STR(jwt_text(jwt_claim(t.claims, "sub")), "alice");
    CHECK(!jwt_claim(t.claims, "a.c") && !jwt_claim(t.claims, "sub.a") && !jwt_claim(t.claims, "."));
    CHECK(!jwt_claim(t.claims, "") && !jwt_text(jwt_claim(t.claims, "a")));
}

TEST(texts_that_are_no_tokens)
{
    static const char *const bad[] = { "",      ".",       "..",       "...",      "a.b",
                                       "a.b.c", "a.b.c.d", "e30.e30.", ".e30.e30", "e30.e30.AA" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(*verdict(ALL, bad[i], NOW_MS));
    CLEANUP(free_p) char *large = xzalloc(JWT_BYTES_MAX + 2);
    memset(large, 'A', JWT_BYTES_MAX + 1);
    CHECK(strstr(verdict(ALL, large, NOW_MS), "16384"));
    CHECK(jwt_is_one("a.b") && !jwt_is_one("iii_0123"));
}

int main(void)
{
    RUN(every_algorithm);
    RUN(no_letter_may_change);
    RUN(a_claim_by_path);
    RUN(texts_that_are_no_tokens);
    return tap_done();
}
