/* Which keys of a set are used, and what they verify. */
#include "tls/jwks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "jwts.h"
#include "tap.h"

static struct jwks *parse(const char *keys)
{
    struct err err = ERR_INIT;
    struct jwks *s = NULL;
    CLEANUP(free_p) char *text = xasprintf("{\"keys\":[%s]}", keys);
    if (jwks_parse(text, strlen(text), &s, &err) < 0)
        CHECK(err.code == ERR_INVALID && *err.msg);
    return s;
}

static bool verifies(const char *keys, const char *alg, const char *token)
{
    CLEANUP(jwks_free_p) struct jwks *s = parse(keys);
    const char *dot = strrchr(token, '.');
    CLEANUP(buf_done) struct buf signature = BUF_INIT(1024);
    CHECK(base64_decode_url(dot + 1, strlen(dot + 1), &signature) == 0);
    const struct jwks_key *k = s ? jwks_find(s, NULL, jwks_alg(alg)) : NULL;
    struct jwks_signed what = { token, (size_t)(dot - token), buf_text(&signature), signature.len };
    if (!k || !jwks_verify(k, jwks_alg(alg), &what))
        return false;
    signature.data[signature.len / 2] ^= 1;
    CHECK(!jwks_verify(k, jwks_alg(alg), &what));
    signature.data[signature.len / 2] ^= 1;
    what.len--;
    CHECK(!jwks_verify(k, jwks_alg(alg), &what));
    what.len++;
    what.signature_len--;
    CHECK(!jwks_verify(k, jwks_alg(alg), &what));
    what.signature_len = 0;
    CHECK(!jwks_verify(k, jwks_alg(alg), &what));
    return true;
}

TEST(each_algorithm_verifies_with_its_own_key)
{
    CHECK(verifies(JWTS_EC_KEY, "ES256", JWTS_EC_TOKEN));
    CHECK(verifies(JWTS_P384_KEY, "ES384", JWTS_P384_TOKEN));
    CHECK(verifies(JWTS_ED_KEY, "EdDSA", JWTS_ED_TOKEN));
    CHECK(verifies(JWTS_RSA_KEY, "RS256", JWTS_RS256_TOKEN));
    CHECK(verifies(JWTS_RSA_KEY, "PS256", JWTS_PS256_TOKEN));
    CHECK(!verifies(JWTS_RSA_KEY, "PS256", JWTS_RS256_TOKEN));
    CHECK(!verifies(JWTS_RSA_KEY, "RS512", JWTS_RS256_TOKEN));
    CHECK(!verifies(JWTS_EC_KEY, "ES384", JWTS_EC_TOKEN));
    CHECK(!verifies(JWTS_EC_KEY, "RS256", JWTS_EC_TOKEN));
    CHECK(!verifies(JWTS_EC_KEY, "ES256", JWTS_OTHER_KEY_TOKEN));
    CHECK(!jwks_alg("none") && !jwks_alg("HS256") && !jwks_alg("") && !jwks_alg("es256") && !jwks_alg("ES512"));
}

TEST(keys_that_must_not_be_used_are_left_out)
{
    static const char *const bad[] = {
        "{\"kty\":\"oct\",\"k\":\"c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0\"}",
        JWTS_SMALL_RSA_KEY,
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}",
        "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"AA\",\"y\":\"AA\"}",
        "{}",
        "1",
        "null",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CLEANUP(jwks_free_p) struct jwks *none = parse(bad[i]);
        CHECK(!none);
        CLEANUP(free_p) char *both = xasprintf("%s,%s", bad[i], JWTS_EC_KEY);
        CLEANUP(jwks_free_p) struct jwks *one = parse(both);
        CHECK(one && jwks_count(one) == 1);
    }
}

/* The key with one member put in front: the first text of a member counts nowhere twice, since a set with a member
 * twice is not read at all. */
static bool is_used_with(const char *member)
{
    CLEANUP(free_p) char *plain = xstrdup(JWTS_EC_KEY), *text = NULL;
    char *use = strstr(plain, "\"use\":\"sig\",");
    *use = '\0';
    text = xasprintf("%s%s%s", plain, member, use + strlen("\"use\":\"sig\","));
    CLEANUP(jwks_free_p) struct jwks *s = parse(text);
    return s != NULL;
}

TEST(a_key_says_what_it_is_for)
{
    CHECK(is_used_with("") && is_used_with("\"use\":\"sig\",") && is_used_with("\"alg\":\"ES256\","));
    CHECK(is_used_with("\"key_ops\":[\"sign\",\"verify\"],"));
    CHECK(!is_used_with("\"use\":\"enc\",") && !is_used_with("\"use\":1,") && !is_used_with("\"alg\":\"HS256\","));
    CHECK(!is_used_with("\"alg\":\"none\",") && !is_used_with("\"key_ops\":[\"encrypt\"],") &&
          !is_used_with("\"key_ops\":[],"));
    CHECK(!is_used_with("\"kty\":\"oct\","));
}

TEST(a_key_is_found_by_its_id)
{
    CLEANUP(jwks_free_p) struct jwks *s = parse(JWTS_EC_KEY "," JWTS_P384_KEY "," JWTS_RSA_KEY "," JWTS_ED_KEY);
    CHECK_INT((int)jwks_count(s), 4);
    CHECK(jwks_find(s, "ec", jwks_alg("ES256")) && !jwks_find(s, "ec", jwks_alg("ES384")));
    CHECK(!jwks_find(s, "", jwks_alg("ES256")) && !jwks_find(s, "EC", jwks_alg("ES256")));
    CHECK(jwks_find(s, NULL, jwks_alg("ES256")));
    const struct jwks_key *k = jwks_find(s, "rsa", jwks_alg("RS512"));
    CHECK(k && jwks_has(s, jwks_key_digest(k)) && !jwks_has(s, "x"));
    CLEANUP(jwks_free_p) struct jwks *twice = parse(JWTS_EC_KEY "," JWTS_EC_KEY);
    CHECK(twice && !jwks_find(twice, NULL, jwks_alg("ES256"))); /* which one is not said */
}

TEST(a_set_is_bounded)
{
    struct err err = ERR_INIT;
    struct jwks *s = NULL;
    CLEANUP(buf_done) struct buf text = BUF_INIT(2 * JWKS_BYTES_MAX);
    for (int i = 0; i <= JWKS_KEYS_MAX; i++)
        CHECK(buf_addf(&text, "%s%s", i ? "," : "{\"keys\":[", JWTS_ED_KEY) == 0);
    CHECK(buf_add_str(&text, "]}") == 0);
    CHECK(jwks_parse(buf_text(&text), text.len, &s, &err) < 0 && strstr(err.msg, "64"));
    buf_clear(&text);
    while (text.len <= JWKS_BYTES_MAX)
        CHECK(buf_add_char(&text, ' ') == 0);
    CHECK(jwks_parse(buf_text(&text), text.len, &s, &err) < 0 && strstr(err.msg, "262144"));
    static const char *const bad[] = {
        "", "[]", "{}", "{\"keys\":1}", "{\"keys\":[]}", "{\"keys\":[],\"keys\":[]}", "x"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(jwks_parse(bad[i], strlen(bad[i]), &s, &err) < 0);
    CHECK(!s);
}

int main(void)
{
    RUN(each_algorithm_verifies_with_its_own_key);
    RUN(keys_that_must_not_be_used_are_left_out);
    RUN(a_key_says_what_it_is_for);
    RUN(a_key_is_found_by_its_id);
    RUN(a_set_is_bounded);
    return tap_done();
}
