#include "api/console_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/admission.h"
#include "api/api_core.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/ident.h"
#include "base/map.h"
#include "http/url.h"

#define PATH          "/console/session"
#define COOKIE        "iii_session"
#define SECRET_BYTES  32
#define SECRET_HEX    (2 * SECRET_BYTES + 1)
#define SESSIONS_MAX  4096 /* of all; the oldest makes room */
#define SESSIONS_EACH 32   /* of one token */

struct login {
    char owner[IDENT_MAX];  /* the token's id */
    char proof[DIGEST_HEX]; /* digest */
    char *credential;
    int64_t expires_ms;
};

struct console_session {
    struct api *api;
    struct map *by_digest; /* of the cookie: struct login */
};

static void end_session(struct console_session *set, const char *key)
{
    struct login *s = map_remove(set->by_digest, key);
    if (s) {
        explicit_bzero(s->credential, strlen(s->credential));
        free(s->credential);
        free(s);
    }
}

/* Removes what is over, and the oldest session where there are too many. */
static void make_room(struct console_session *set, const char *owner)
{
    int64_t now = clock_wall_ms();
    CLEANUP(free_p) char *oldest = NULL;
    CLEANUP(free_p) char *oldest_own = NULL;
    size_t n_own = 0;
    for (struct map_iter it = map_iter(set->by_digest); map_next(&it);) {
        const struct login *s = it.value;
        if (s->expires_ms <= now) {
            end_session(set, it.key);
            continue;
        }
        bool is_own = strcmp(s->owner, owner) == 0;
        n_own += is_own;
        if (!oldest)
            oldest = xstrdup(it.key);
        if (is_own && !oldest_own)
            oldest_own = xstrdup(it.key);
    }
    if (n_own >= SESSIONS_EACH)
        end_session(set, oldest_own);
    else if (map_count(set->by_digest) >= SESSIONS_MAX)
        end_session(set, oldest);
}

static void random_hex(char ret[SECRET_HEX])
{
    unsigned char raw[SECRET_BYTES];
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), ret);
}

bool console_session_is_cookie(const char *name, size_t len)
{
    return len == strlen(COOKIE) && strncmp(name, COOKIE, len) == 0;
}

/* The digest of the cookie; false: there is none. */
static bool cookie_key(const struct http_req *r, char ret[DIGEST_HEX])
{
    const char *name, *value;
    for (size_t i = 0; http_req_header_at(r, i, &name, &value); i++) {
        if (strcasecmp(name, "cookie") != 0)
            continue;
        for (const char *at = value; *at; at += strcspn(at, ";"), at += *at == ';') {
            at += strspn(at, " ");
            size_t len = strcspn(at, ";"), eq = strcspn(at, "=;");
            if (at[eq] == '=' && console_session_is_cookie(at, eq) && len - eq == SECRET_HEX) {
                digest_of(at + eq + 1, SECRET_HEX - 1, ret);
                return true;
            }
        }
    }
    return false;
}

static struct login *find_session(struct console_session *set, const struct http_req *r, char key[DIGEST_HEX])
{
    struct login *s = cookie_key(r, key) ? map_get(set->by_digest, key) : NULL;
    CLEANUP(buf_done) struct buf query = BUF_INIT(SECRET_HEX);
    char proof[DIGEST_HEX];
    if (!s || s->expires_ms <= clock_wall_ms())
        return NULL;
    const char *shown = http_req_header(r, CONSOLE_SESSION_PROOF);
    if (!shown && http_req_header(r, "upgrade") && url_query_get(http_req_query(r), "session", &query) == 1)
        shown = buf_text(&query); /* a browser's WebSocket cannot send the header */
    if (!shown)
        return NULL;
    digest_of(shown, strlen(shown), proof);
    return digest_same_secret(proof, s->proof, DIGEST_HEX - 1) ? s : NULL;
}

const char *console_session_credential(struct console_session *set, const struct http_req *r)
{
    char key[DIGEST_HEX];
    const struct login *s = set ? find_session(set, r, key) : NULL;
    return s ? s->credential : NULL;
}

/* --- the entry point --- */

static void set_cookie(const struct console_session *set, struct http_req *r, const char *value, int keep_s)
{
    char text[SECRET_HEX + 96];
    (void)snprintf(text, sizeof(text), COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", value, keep_s,
                   *set->api->settings->tls_cert ? "; Secure" : "");
    http_req_add_header(r, "Set-Cookie", text);
}

static void reply_who(struct http_req *r, const struct console_session *set, const struct caller *who,
                      const char *proof)
{
    JSON_OWNED body = json_pack("{s:s s:s s:s s:b}", "role", token_file_role_name(who->role), "name", who->name,
                                "tenant", who->tenant, "open", keyring_is_open(set->api->keys));
    if (*who->sandbox)
        json_object_set_new(body, "sandbox", json_string(who->sandbox));
    if (proof)
        json_object_set_new(body, "proof", json_string(proof));
    CLEANUP(free_p) char *text = json_write(body, NULL);
    http_req_add_header(r, "Cache-Control", "no-store");
    http_req_reply(r, 200, "application/json", text, strlen(text));
}

/* Only a page of ours may begin a session: another could make this browser use a session of its own choice. */
static bool is_own_page(const struct http_req *r)
{
    const char *origin = http_req_header(r, "origin"), *host = http_req_header(r, "host");
    const char *rest = origin ? strstr(origin, "://") : NULL;
    return !origin || (rest && host && strcasecmp(rest + 3, host) == 0);
}

static int log_in(struct console_session *set, struct http_req *r, struct err *err)
{
    size_t len;
    const char *text = http_req_body(r, &len);
    JSON_OWNED body = NULL;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    int e = json_read_input(text, len, &body, err);
    const char *token = e < 0 ? NULL : json_get_str(body, "token", NULL);
    if (e < 0)
        return err_wrap(err, e, "request body");
    if (!token || !*token)
        return err_set(err, ERR_INVALID, 0, "token: missing");
    if (!is_own_page(r))
        return err_set(err, ERR_FORBIDDEN, 0, "a session begins on a page of this server only");
    struct admission from = { .http = r, .credential = token, .operation = "console::login" };
    if ((e = admission_check(set->api, &from, &who, err)) < 0)
        return e;
    char cookie[SECRET_HEX], proof[SECRET_HEX], key[DIGEST_HEX];
    random_hex(cookie);
    random_hex(proof);
    make_room(set, who->id);
    struct login *s = xzalloc(sizeof(*s));
    (void)snprintf(s->owner, sizeof(s->owner), "%s", who->id);
    digest_of(proof, strlen(proof), s->proof);
    s->credential = xstrdup(token);
    s->expires_ms = clock_wall_ms() + (int64_t)CONSOLE_SESSION_S * 1000;
    digest_of(cookie, strlen(cookie), key);
    map_set(set->by_digest, key, s);
    set_cookie(set, r, cookie, CONSOLE_SESSION_S);
    reply_who(r, set, who, proof);
    return 0;
}

static int tell_who(struct console_session *set, struct http_req *r, struct err *err)
{
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    struct admission from = { .http = r, .operation = "console::who", .is_read = true };
    int e = admission_check(set->api, &from, &who, err);
    if (e >= 0)
        reply_who(r, set, who, NULL);
    return e;
}

static bool serve(void *arg, struct http_req *r)
{
    struct console_session *set = arg;
    struct err err = ERR_INIT;
    char key[DIGEST_HEX];
    const char *method = http_req_method(r);
    int e = 0;
    if (strcmp(method, "POST") == 0) {
        e = log_in(set, r, &err);
    } else if (admission_is_read(r)) {
        e = tell_who(set, r, &err);
    } else if (strcmp(method, "DELETE") == 0) {
        if (find_session(set, r, key))
            end_session(set, key);
        set_cookie(set, r, "", 0);
        http_req_reply(r, 200, "application/json", "{\"success\":true}", 16);
    } else {
        http_req_add_header(r, "Allow", "GET, POST, DELETE");
        e = err_set(&err, ERR_METHOD, 0, "%s of " PATH " is not possible", method);
    }
    if (e < 0)
        admission_refuse(r, &err);
    return true;
}

static bool claims(void *arg, struct http_req *r)
{
    (void)arg;
    return strcmp(http_req_path(r), PATH) == 0;
}

struct console_session *console_session_new(struct api *a)
{
    struct console_session *set = xzalloc(sizeof(*set));
    *set = (struct console_session){ .api = a, .by_digest = map_new() };
    api_add_entry(a, &(struct api_entry){ .path_prefix = PATH, .claims = claims, .fn = serve, .arg = set });
    return set;
}

struct console_session *console_session_free(struct console_session *set)
{
    if (!set)
        return NULL;
    for (struct map_iter it = map_iter(set->by_digest); map_next(&it);)
        end_session(set, it.key);
    map_free(set->by_digest);
    free(set);
    return NULL;
}
