/* Handlers of API tokens. Changes are made to the file off the loop, exactly as `iii token` makes them; then the file
 * is read again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/call_core.h"
#include "api/handlers.h"
#include "api/keyring.h"
#include "base/alloc.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/offload.h"

struct change {
    struct call *call;
    char *dir, *id, *name, *role, *tenant, *sandbox;
    json_t *operations;
    struct token_file_wish wish;
    struct token_file_token token;
    char secret[TOKEN_FILE_SECRET_MAX]; /* "" when there is none to show */
    int (*work)(struct change *c);
    int result;
    struct err err;
};

static void change_free(struct change *c)
{
    free(c->dir);
    free(c->id);
    free(c->name);
    free(c->role);
    free(c->tenant);
    free(c->sandbox);
    json_decref(c->operations);
    explicit_bzero(c->secret, sizeof(c->secret));
    free(c);
}

static json_t *token_json(struct call *c, const struct token_file_token *t)
{
    json_t *j = token_file_json(t);
    int64_t used = keyring_last_used(call_api(c)->keys, t->id);
    if (used)
        (void)json_object_set_new(j, "lastUsed", json_integer(used));
    if (*t->tenant && strcmp(t->tenant, TOKEN_FILE_ALL) != 0)
        (void)json_object_set_new(j, "usage", tenant_usage_json(call_manager(c), t->tenant));
    return j;
}

static void on_work(void *arg)
{
    struct change *c = arg;
    c->result = c->work(c);
}

static void on_change_done(void *arg)
{
    struct change *c = arg;
    struct call *call = c->call;
    if (c->result < 0) {
        call_fail(call, &c->err);
    } else {
        json_t *body = token_json(call, &c->token);
        if (*c->secret)
            (void)json_object_set_new(body, "secret", json_string(c->secret));
        call_keep(call);
        keyring_reload(call_api(call)->keys); /* before the answer: it counts from now on */
        call_ok(call, body);
    }
    change_free(c);
}

static void change_start(struct call *call, struct change *c, int (*work)(struct change *c))
{
    const char *dir = keyring_dir(call_api(call)->keys);
    c->call = call;
    c->work = work;
    c->dir = xstrdup(dir);
    if (!dir)
        call_error(call, ERR_UNSUPPORTED, "this server has no data folder to keep tokens in");
    else if (offload_run(call_manager(call), on_work, on_change_done, c) < 0)
        call_error(call, ERR_CAPACITY, "no worker thread to write the tokens: try again");
    else
        return;
    change_free(c);
}

static int work_create(struct change *c)
{
    return token_file_create(c->dir, &c->wish, &c->token, c->secret, &c->err);
}

static int check_operations(const json_t *list, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
        r = spec_check_words(json_string_value(json_array_get(list, i)), err);
    return r;
}

static int read_wish(struct call *call, struct change *c, struct err *err)
{
    const char *sandbox = call_str(call, "sandbox", NULL), *tenant = call_str(call, "tenant", NULL);
    const struct sandbox *s = sandbox ? manager_find(call_manager(call), sandbox, err) : NULL;
    if (sandbox && !s)
        return -ENOENT;
    if (s && tenant && strcmp(tenant, s->tenant) != 0)
        return err_set(err, ERR_INVALID, 0, "tenant: a token for one sandbox has the tenant of that; leave it out");
    c->name = xstrdup(call_str(call, "name", ""));
    c->role = xstrdup(call_str(call, "role", NULL));
    c->tenant = xstrdup(s ? s->tenant : tenant);
    c->sandbox = s ? xstrdup(s->id) : NULL;
    c->operations = json_deep_copy(json_get(call_params(call), "operations"));
    c->wish = (struct token_file_wish){ .name = c->name,
                                        .role = c->role,
                                        .tenant = c->tenant,
                                        .sandbox = c->sandbox,
                                        .operations = c->operations,
                                        .expires = call_int(call, "expires", 0) };
    int r = check_operations(c->operations, err);
    return r < 0 ? r : quota_read(json_get(call_params(call), "quota"), &c->wish.quota, err);
}

void api_token_create(struct call *call)
{
    struct err err = ERR_INIT;
    if (keyring_is_open(call_api(call)->keys)) {
        /* Whoever made it would lock out the owner, so it takes access to the data folder. */
        call_error(call, ERR_FORBIDDEN,
                   "this server has no tokens: create the first one on its host with "
                   "`iii token create NAME --role admin --data-dir DIR`");
        return;
    }
    struct change *c = xzalloc(sizeof(*c));
    if (read_wish(call, c, &err) < 0) {
        change_free(c);
        call_fail(call, &err);
        return;
    }
    change_start(call, c, work_create);
}

static int work_revoke(struct change *c)
{
    return token_file_revoke(c->dir, c->id, &c->token, &c->err);
}

static int work_rotate(struct change *c)
{
    return token_file_rotate(c->dir, c->id, &c->token, c->secret, &c->err);
}

static void start_by_id(struct call *call, int (*work)(struct change *c))
{
    struct change *c = xzalloc(sizeof(*c));
    c->id = xstrdup(call_str(call, "tokenId", ""));
    change_start(call, c, work);
}

void api_token_revoke(struct call *c)
{
    start_by_id(c, work_revoke);
}

void api_token_rotate(struct call *c)
{
    start_by_id(c, work_rotate);
}

void api_token_list(struct call *c)
{
    const struct token_file *f = keyring_tokens(call_api(c)->keys);
    json_t *list = json_array();
    for (size_t i = 0; i < f->n; i++)
        (void)json_array_append_new(list, token_json(c, &f->rows[i]));
    call_ok(c, json_pack("{s:o}", "tokens", list));
}

void api_token_get(struct call *c)
{
    struct err err = ERR_INIT;
    const struct token_file_token *t =
        token_file_find(keyring_tokens(call_api(c)->keys), call_str(c, "tokenId", ""), &err);
    handlers_reply(c, t ? token_json(c, t) : NULL, &err);
}
