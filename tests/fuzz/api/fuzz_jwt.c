/* A key set of an issuer (the first line) and a token (the rest). A token that is accepted is signed: with any byte of
 * its signature or claims changed it is not. */
#include "../feed.h"

#include "api/jwt.h"
#include "base/cleanup.h"
#include "tls/tls_peer.h"

#define NOW_MS 1800000000000LL

static void try_peer(const char *text)
{
    int64_t until;
    char digest[DIGEST_HEX];
    const char *names, *name;
    size_t len, total = 0;
    if (!tls_peer_parse(text, &until, digest, &names))
        return;
    MUST(digest_is_hex(digest));
    while (tls_peer_next(&names, &name, &len))
        total += len;
    MUST(total <= strlen(text));
}

static void must_be_refused(char *token, char *at, const struct jwks *keys, const struct jwt_rules *rules)
{
    struct jwt t;
    char was = *at;
    *at = was == 'A' ? 'B' : 'A';
    MUST(jwt_check(token, keys, rules, NOW_MS, &t, NULL) < 0);
    *at = was;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct jwt_rules rules = { .issuer = "https://issuer.example", .audience = "iii" };
    const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
    size_t len = line ? (size_t)(line - data) : size;
    CLEANUP(jwks_free_p) struct jwks *keys = NULL;
    struct err err = ERR_INIT;
    char *text = feed_bytes(data, len), *token = line ? feed_text(line + 1, size - len - 1) : feed_text("", 0);
    if (jwks_parse(text, len, &keys, &err) == 0)
        MUST(jwks_count(keys) >= 1 && jwks_count(keys) <= JWKS_KEYS_MAX);
    else
        MUST(!keys && err.code != ERR_NONE);
    struct jwt t;
    err = (struct err)ERR_INIT;
    if (jwt_check(token, keys, &rules, NOW_MS, &t, &err) == 0) {
        MUST(keys && t.expires > NOW_MS && *t.subject && strlen(t.subject) <= IDENTITY_SUBJECT_MAX &&
             jwks_has(keys, t.key));
        jwt_done(&t);
        char *end = strrchr(token, '.');
        must_be_refused(token, end + 1, keys, &rules);
        must_be_refused(token, end - 2, keys, &rules);
    } else {
        MUST(err.code == ERR_UNAUTHORIZED && !t.claims);
    }
    try_peer(token);
    free(text);
    free(token);
    return 0;
}
