#include "api/jwt.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"

#define TIME_MAX_S 1e11 /* in the year 5138: no product overflows */

struct part {
    const char *text;
    size_t len;
};

static int refuse(struct err *err, const char *why)
{
    return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: %s", why);
}

void jwt_done(struct jwt *t)
{
    json_decref(t->claims);
    t->claims = NULL;
}

bool jwt_is_one(const char *token)
{
    return strchr(token, '.') != NULL;
}

const char *jwt_text(const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : NULL;
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

const json_t *jwt_claim(const json_t *claims, const char *name)
{
    const json_t *found = json_object_get(claims, name);
    const char *dot = strchr(name, '.');
    char first[128];
    if (found || !dot || (size_t)(dot - name) >= sizeof(first))
        return json_is_null(found) ? NULL : found;
    memcpy(first, name, (size_t)(dot - name));
    first[dot - name] = '\0';
    return jwt_claim(json_object_get(claims, first), dot + 1);
}

/* --- form --- */

static int split(const char *token, struct part ret[3], struct err *err)
{
    size_t len = strnlen(token, JWT_BYTES_MAX + 1);
    if (len > JWT_BYTES_MAX)
        return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: longer than %d bytes", (int)JWT_BYTES_MAX);
    const char *at = token;
    for (int i = 0; i < 3; i++) {
        size_t n = strcspn(at, ".");
        ret[i] = (struct part){ at, n };
        at += n;
        if (n == 0 || (i < 2) != (*at == '.'))
            return refuse(err, "it is not three parts of base64url with a dot between them (a signed JWT)");
        at += i < 2;
    }
    return 0;
}

static int read_object(const struct part *p, const char *what, json_t **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(JWT_BYTES_MAX);
    struct err why = ERR_INIT;
    if (base64_decode_url(p->text, p->len, &text) < 0)
        return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: its %s is not base64url", what);
    if (json_read_input(buf_text(&text), text.len, ret, &why) < 0 || !json_is_object(*ret))
        return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: its %s is not a JSON object with each member once",
                       what);
    return 0;
}

/* --- header --- */

static bool is_type_known(const json_t *type)
{
    static const char *const known[] = { "JWT", "at+jwt", "application/jwt", "application/at+jwt" };
    const char *text = jwt_text(type);
    for (size_t i = 0; text && i < sizeof(known) / sizeof(*known); i++)
        if (strcasecmp(text, known[i]) == 0)
            return true;
    return !type;
}

static int check_header(const json_t *header, const struct jwks_alg **ret_alg, const char **ret_kid, struct err *err)
{
    const char *alg = jwt_text(json_object_get(header, "alg"));
    const json_t *kid = json_object_get(header, "kid");
    *ret_alg = alg ? jwks_alg(alg) : NULL;
    *ret_kid = jwt_text(kid);
    if (!*ret_alg)
        return refuse(err, "its algorithm is not one of " JWKS_ALGS);
    if (json_object_get(header, "crit") || json_object_get(header, "b64"))
        return refuse(err, "its header demands an extension (crit) that this server does not have");
    if (!is_type_known(json_object_get(header, "typ")))
        return refuse(err, "its type (typ) is not that of an access or identity token");
    if (kid && !*ret_kid)
        return refuse(err, "the key id (kid) of its header is not a text");
    return 0;
}

static int check_signature(const struct part parts[3], const struct jwks *keys, struct jwt *ret, struct err *err)
{
    const struct jwks_alg *alg = NULL;
    const char *kid = NULL;
    JSON_OWNED header = NULL;
    CLEANUP(buf_done) struct buf signature = BUF_INIT(JWT_BYTES_MAX);
    int r = read_object(&parts[0], "header", &header, err);
    if (r == 0)
        r = check_header(header, &alg, &kid, err);
    if (r < 0)
        return r;
    if (base64_decode_url(parts[2].text, parts[2].len, &signature) < 0)
        return refuse(err, "its signature is not base64url");
    const struct jwks_key *key = keys ? jwks_find(keys, kid, alg) : NULL;
    if (!key) {
        ret->is_key_unknown = true;
        return refuse(err, "the issuer has no key with its key id (kid) and algorithm");
    }
    struct jwks_signed what = { .data = parts[0].text,
                                .len = parts[0].len + 1 + parts[1].len,
                                .signature = buf_text(&signature),
                                .signature_len = signature.len };
    if (!jwks_verify(key, alg, &what))
        return refuse(err, "its signature is wrong");
    ret->key = jwks_key_digest(key);
    return 0;
}

/* --- claims --- */

static bool has_audience(const json_t *aud, const char *audience)
{
    const char *one = jwt_text(aud);
    if (one)
        return strcmp(one, audience) == 0;
    for (size_t i = 0; i < json_array_size(aud); i++) {
        const char *text = jwt_text(json_array_get(aud, i));
        if (text && strcmp(text, audience) == 0)
            return true;
    }
    return false;
}

/* Seconds since the epoch, maybe with a fraction. */
static int read_time(const json_t *claims, const char *name, double fallback, double *ret, struct err *err)
{
    const json_t *v = json_object_get(claims, name);
    double at = v ? json_number_value(v) : fallback;
    if ((v && !json_is_number(v)) || !(at >= 0 && at <= TIME_MAX_S))
        return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: %s is not a time (seconds since 1970)", name);
    *ret = at;
    return 0;
}

static int check_times(const json_t *claims, int64_t now_ms, int64_t *ret_expires, struct err *err)
{
    double now = (double)now_ms / 1000, expires = 0, not_before = 0, issued = 0;
    if (!json_object_get(claims, "exp"))
        return refuse(err, "it has no end (exp)");
    if (read_time(claims, "exp", 0, &expires, err) < 0 || read_time(claims, "nbf", 0, &not_before, err) < 0 ||
        read_time(claims, "iat", 0, &issued, err) < 0)
        return -EACCES;
    *ret_expires = (int64_t)(expires * 1000);
    if (*ret_expires <= now_ms)
        return refuse(err, "it has expired (exp)");
    if (not_before > now + JWT_LEEWAY_S)
        return refuse(err, "it is not valid yet (nbf)");
    if (issued > now + JWT_LEEWAY_S)
        return refuse(err, "it was issued in the future (iat): compare the clocks of the issuer and this server");
    return 0;
}

static int check_claims(const struct jwt_rules *rules, int64_t now_ms, struct jwt *ret, struct err *err)
{
    const char *issuer = jwt_text(json_object_get(ret->claims, "iss"));
    ret->subject = jwt_text(json_object_get(ret->claims, "sub"));
    if (!issuer || strcmp(issuer, rules->issuer) != 0)
        return refuse(err, "its issuer (iss) is not the one of this server");
    if (!has_audience(json_object_get(ret->claims, "aud"), rules->audience))
        return refuse(err, "its audience (aud) does not include this server");
    if (!ret->subject || !*ret->subject || strlen(ret->subject) > IDENTITY_SUBJECT_MAX)
        return err_set(err, ERR_UNAUTHORIZED, 0, "JWT refused: its subject (sub) is not a text of 1 to %d bytes",
                       IDENTITY_SUBJECT_MAX);
    return check_times(ret->claims, now_ms, &ret->expires, err);
}

int jwt_check(const char *token, const struct jwks *keys, const struct jwt_rules *rules, int64_t now_ms,
              struct jwt *ret, struct err *err)
{
    struct part parts[3];
    *ret = (struct jwt){ 0 };
    int r = split(token, parts, err);
    if (r == 0)
        r = check_signature(parts, keys, ret, err);
    if (r == 0)
        r = read_object(&parts[1], "claims", &ret->claims, err);
    if (r == 0)
        r = check_claims(rules, now_ms, ret, err);
    if (r < 0)
        jwt_done(ret);
    return r;
}
