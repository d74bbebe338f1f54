/* `iii token`. Every command works on the token file of a data folder, or with --server (III_SERVER) through the REST
 * API of a server; both give the same JSON, which is then printed for people or, with --json, as it is. A secret is
 * shown only by the command that makes it. */
#include "cli/cmd_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/data_folder.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "cli/rest_client.h"
#include "http/url.h"
#include "spec/spec.h"
#include "store/token_file.h"

#define EXIT_NOT_FOUND 3

static int token_fail(const struct err *err)
{
    (void)engine_connect_fail_text(err->msg);
    return err->code == ERR_INVALID ? 2 : err->code == ERR_NOT_FOUND ? EXIT_NOT_FOUND : 1;
}

static const char *when(int64_t ms, char out[32])
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    if (!ms || !gmtime_r(&s, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M", &tm))
        (void)snprintf(out, 32, "-");
    return out;
}

static const char *state_of(const json_t *t)
{
    int64_t expires = json_get_int(t, "expires", 0);
    return json_get_bool(t, "revoked", false) ? "revoked" : expires && expires <= clock_wall_ms() ? "expired" : "good";
}

/* "sbx_… exec,files": the one sandbox and the operations that it is for; "all": its role and tenant say it. Caller
 * frees. */
static char *scope_of(const json_t *t)
{
    CLEANUP(buf_done) struct buf words = BUF_INIT(TOKEN_FILE_OPS_MAX + IDENT_MAX); /* what is beyond is not shown */
    const json_t *word;
    size_t i;
    (void)buf_add_str(&words, json_get_str(t, "sandbox", ""));
    json_array_foreach(json_get(t, "operations"), i, word)(void)
        buf_addf(&words, "%s%s",
                 i           ? ","
                 : words.len ? " "
                             : "",
                 json_string_value(word) ? json_string_value(word) : "");
    return display_clean(words.len ? buf_text(&words) : "all");
}

/* --- folder or server --- */

/* --server or III_SERVER; NULL: the folder here. */
static const char *server_of(const struct verbs_args *a)
{
    const char *given = verbs_value(a, "server"), *server = given && *given ? given : getenv("III_SERVER");
    return server && *server ? server : NULL;
}

/* 0 with the reply of a success (caller owns); otherwise err has the server's message. */
static int ask_server(const struct verbs_args *a, const struct rest_client_request *req, json_t **ret, struct err *err)
{
    const char *given = verbs_value(a, "token"), *secret = given && *given ? given : getenv("III_AUTH_TOKEN");
    CLEANUP(rest_client_done) struct rest_client link = REST_CLIENT_INIT;
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    rest_client_init(&link, server_of(a), secret ? secret : "", NULL);
    int r = rest_client_run(&link, req, &answer, err);
    if (r < 0)
        return r;
    if (answer.status >= 400)
        return err_set(err, answer.status == 404 ? ERR_NOT_FOUND : ERR_UPSTREAM, 0, "%.200s (status %d)", answer.error,
                       answer.status);
    if (!json_is_object(answer.body) && !json_is_array(answer.body))
        return err_set(err, ERR_UPSTREAM, 0,
                       "status %d, and a response that is not JSON: is that an iii-sandbox server?", answer.status);
    *ret = STEAL(answer.body);
    return 0;
}

static char *path_of(const char *id, const char *behind)
{
    CLEANUP(buf_done) struct buf name = BUF_INIT(1024);
    for (const char *p = id; *p; p++)
        (void)buf_addf(&name, strchr(" /%?#", *p) ? "%%%02X" : "%c", (unsigned char)*p); /* past the limit: not found */
    return xasprintf("/tokens/%s%s", buf_text(&name), behind);
}

static json_t *with_secret(const struct token_file_token *t, const char *secret)
{
    json_t *j = token_file_json(t);
    if (*secret)
        (void)json_object_set_new(j, "secret", json_string(secret));
    return j;
}

enum change { REVOKE, ROTATE };

static int change(const struct verbs_args *a, enum change what, json_t **ret, struct err *err)
{
    const char *id = a->words[0];
    if (server_of(a)) {
        CLEANUP(free_p) char *path = path_of(id, what == ROTATE ? "/rotate" : "");
        struct rest_client_request req = { .method = what == ROTATE ? "POST" : "DELETE", .path = path };
        return ask_server(a, &req, ret, err);
    }
    struct token_file_token t;
    char secret[TOKEN_FILE_SECRET_MAX] = "";
    CLEANUP(free_p) char *dir = data_folder_of(a);
    int r = what == ROTATE ? token_file_rotate(dir, id, &t, secret, err) : token_file_revoke(dir, id, &t, err);
    if (r == 0)
        *ret = with_secret(&t, secret);
    return r;
}

static int read_all(const struct verbs_args *a, json_t **ret, struct err *err)
{
    if (server_of(a)) {
        JSON_OWNED answer = NULL;
        int r = ask_server(a, &(struct rest_client_request){ .method = "GET", .path = "/tokens" }, &answer, err);
        if (r == 0)
            *ret = json_is_array(json_get(answer, "tokens")) ? json_incref(json_get(answer, "tokens")) : json_array();
        return r;
    }
    struct token_file f = TOKEN_FILE_INIT;
    CLEANUP(free_p) char *dir = data_folder_of(a);
    int r = token_file_read(dir, &f, NULL, err);
    if (r < 0)
        return r;
    *ret = json_array();
    for (size_t i = 0; i < f.n; i++)
        (void)json_array_append_new(*ret, token_file_json(&f.rows[i]));
    token_file_done(&f);
    return 0;
}

/* --- output --- */

/* Prints the secret alone on standard output, so that a script can read it; the description goes to standard error. */
static int print_new(const struct verbs_args *a, const json_t *t)
{
    if (verbs_value(a, "json")) {
        display_json(t, stdout);
        return 0;
    }
    CLEANUP(free_p) char *name = display_clean(json_get_str(t, "name", ""));
    (void)fprintf(stderr, "token %s (%s, %s); its secret is shown only now:\n", json_get_str(t, "id", ""), name,
                  json_get_str(t, "role", ""));
    (void)printf("%s\n", json_get_str(t, "secret", ""));
    return fflush(stdout) == EOF ? 1 : 0;
}

static int print_one(const struct verbs_args *a, const json_t *t)
{
    char created[32], expires[32];
    if (verbs_value(a, "json")) {
        display_json(t, stdout);
        return 0;
    }
    CLEANUP(free_p)
    char *name = display_clean(json_get_str(t, "name", "")), *tenant = display_clean(json_get_str(t, "tenant", "-"));
    CLEANUP(free_p) char *quota = json_write(json_get(t, "quota"), NULL);
    CLEANUP(free_p) char *usage = json_get(t, "usage") ? json_write(json_get(t, "usage"), NULL) : NULL;
    CLEANUP(free_p) char *scope = scope_of(t);
    (void)printf(
        "id       %s\nname     %s\nrole     %s\ntenant   %s\nscope    %s\nstate    %s\ncreated  %s\nexpires  %s\n"
        "quota    %s\n",
        json_get_str(t, "id", ""), name, json_get_str(t, "role", ""), tenant, scope, state_of(t),
        when(json_get_int(t, "created", 0), created), when(json_get_int(t, "expires", 0), expires), quota);
    if (usage)
        (void)printf("usage    %s\n", usage);
    return 0;
}

int cmd_token_ls(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED all = NULL;
    size_t i;
    json_t *t;
    if (read_all(a, &all, &err) < 0)
        return token_fail(&err);
    if (verbs_value(a, "json")) {
        display_json(all, stdout);
        return 0;
    }
    (void)printf("%s%-28s  %-20s  %-9s  %-28s  %-8s  %-16s  %s%s\n", display_on(stdout, DISPLAY_BOLD), "ID", "NAME",
                 "ROLE", "TENANT", "STATE", "EXPIRES", "SCOPE", display_off(stdout));
    json_array_foreach(all, i, t)
    {
        char expires[32];
        CLEANUP(free_p)
        char *name = display_clean(json_get_str(t, "name", "")),
             *tenant = display_clean(json_get_str(t, "tenant", "-"));
        CLEANUP(free_p) char *scope = scope_of(t);
        (void)printf("%-28s  %-20s  %-9s  %-28s  %-8s  %-16s  %s\n", json_get_str(t, "id", ""), name,
                     json_get_str(t, "role", ""), tenant, state_of(t), when(json_get_int(t, "expires", 0), expires),
                     scope);
    }
    return 0;
}

int cmd_token_show(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED t = NULL;
    int r;
    if (server_of(a)) {
        CLEANUP(free_p) char *path = path_of(a->words[0], "");
        r = ask_server(a, &(struct rest_client_request){ .method = "GET", .path = path }, &t, &err);
    } else {
        struct token_file f = TOKEN_FILE_INIT;
        CLEANUP(free_p) char *dir = data_folder_of(a);
        r = token_file_read(dir, &f, NULL, &err);
        const struct token_file_token *found = r == 0 ? token_file_find(&f, a->words[0], &err) : NULL;
        r = found ? 0 : -ENOENT;
        t = found ? token_file_json(found) : NULL;
        token_file_done(&f);
    }
    return r < 0 ? token_fail(&err) : print_one(a, t);
}

int cmd_token_revoke(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED t = NULL;
    return change(a, REVOKE, &t, &err) < 0 ? token_fail(&err) : print_one(a, t);
}

int cmd_token_rotate(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED t = NULL;
    return change(a, ROTATE, &t, &err) < 0 ? token_fail(&err) : print_new(a, t);
}

/* --- create --- */

/* Collects every --quota KIND=N in one object; -EINVAL. */
static int read_quota(const struct verbs_args *a, json_t *ret, struct err *err)
{
    size_t at = 0;
    const char *text;
    while ((text = verbs_next(a, "quota", &at))) {
        const char *equals = strchr(text, '=');
        char *end = NULL;
        double n = equals ? strtod(equals + 1, &end) : 0;
        if (!equals || equals == text || end == equals + 1 || *end)
            return err_set(err, ERR_INVALID, 0, "--quota %.60s: not KIND=NUMBER", text);
        CLEANUP(free_p) char *kind = xstrndup(text, (size_t)(equals - text));
        bool is_whole = n > -1e15 && n < 1e15 && n == (double)(json_int_t)n;
        (void)json_object_set_new(ret, kind, is_whole ? json_integer((json_int_t)n) : json_real(n));
    }
    return 0;
}

/* --expires DUR from now; 0: never. */
static int read_expiry(const struct verbs_args *a, int64_t *ret, struct err *err)
{
    const char *text = verbs_value(a, "expires");
    int64_t ms = 0;
    *ret = 0;
    if (!text)
        return 0;
    char *end = NULL;
    long days = strtol(text, &end, 10);
    if (end != text && strcmp(end, "d") == 0 && days > 0 && days < 1000000)
        ms = (int64_t)days * 86400000;
    else if (duration_parse(text, &ms, err) < 0)
        return -EINVAL;
    *ret = clock_wall_ms() + ms;
    return 0;
}

/* What the command line asks for. */
struct wanted {
    const char *name;
    json_t *quota, *operations; /* operations NULL: all */
    int64_t expires;
};

static void wanted_done(struct wanted *w)
{
    json_decref(w->quota);
    json_decref(w->operations);
}

static int read_wanted(const struct verbs_args *a, struct wanted *w, struct err *err)
{
    const char *words = verbs_value(a, "operations"), *sandbox = verbs_value(a, "sandbox");
    w->name = a->n_words ? a->words[0] : sandbox;
    if (!w->name)
        return err_set(err, ERR_INVALID, 0, "give the token a NAME");
    if (words && spec_check_words(words, err) < 0)
        return -EINVAL;
    w->operations = words ? json_array() : NULL;
    for (size_t len; words && *words; words += len + (words[len] == ',')) {
        len = strcspn(words, ",");
        (void)json_array_append_new(w->operations, json_stringn(words, len));
    }
    w->quota = json_object();
    int r = read_quota(a, w->quota, err);
    return r < 0 ? r : read_expiry(a, &w->expires, err);
}

static int create_by_rest(const struct verbs_args *a, const struct wanted *w, json_t **ret, struct err *err)
{
    static const char *const texts[] = { "role", "tenant", "sandbox" };
    JSON_OWNED body = json_pack("{s:s, s:O, s:O*}", "name", w->name, "quota", w->quota, "operations", w->operations);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (verbs_value(a, texts[i]))
            (void)json_object_set_new(body, texts[i], json_string(verbs_value(a, texts[i])));
    if (w->expires)
        (void)json_object_set_new(body, "expires", json_integer(w->expires));
    return ask_server(a, &(struct rest_client_request){ .method = "POST", .path = "/tokens", .body = body }, ret, err);
}

static int create_here(const struct verbs_args *a, const struct wanted *w, json_t **ret, struct err *err)
{
    struct token_file_token t;
    char secret[TOKEN_FILE_SECRET_MAX] = "";
    struct token_file_wish wish = { .name = w->name,
                                    .role = verbs_value(a, "role"),
                                    .tenant = verbs_value(a, "tenant"),
                                    .sandbox = verbs_value(a, "sandbox"),
                                    .operations = w->operations,
                                    .expires = w->expires };
    CLEANUP(free_p) char *dir = data_folder_of(a);
    int r = quota_read(w->quota, &wish.quota, err);
    if (r == 0 && mkdir(dir, 0700) < 0 && errno != EEXIST) /* also before the server's first start */
        r = err_set(err, err_from_errno(errno), errno, "data folder %s", dir);
    if (r == 0)
        r = token_file_create(dir, &wish, &t, secret, err);
    if (r == 0)
        *ret = with_secret(&t, secret);
    return r;
}

int cmd_token_create(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    JSON_OWNED made = NULL;
    CLEANUP(wanted_done) struct wanted w = { 0 };
    int r = read_wanted(a, &w, &err);
    if (r == 0)
        r = server_of(a) ? create_by_rest(a, &w, &made, &err) : create_here(a, &w, &made, &err);
    return r < 0 ? token_fail(&err) : print_new(a, made);
}
