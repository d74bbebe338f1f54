#include "api/ws_upgrade.h"

#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/api_core.h"
#include "api/call_core.h"
#include "base/alloc.h"
#include "engine/channel.h"
#include "http/url.h"
#include "sandbox/exec/terminal.h"

#define TOKEN_MAX 4096

struct ws_upgrade {
    struct api *api;
    char *prefix; /* "/sandbox/sandboxes/" */
};

struct session_path {
    char sandbox_id[IDENT_MAX], session_id[IDENT_MAX];
};

/* Copies the segment at *at and the text that must follow it. */
static bool take_segment(const char **at, const char *behind, char out[IDENT_MAX])
{
    size_t len = strcspn(*at, "/");
    if (len == 0 || len >= IDENT_MAX || strncmp(*at + len, behind, strlen(behind)) != 0)
        return false;
    memcpy(out, *at, len);
    out[len] = '\0';
    *at += len + strlen(behind);
    return true;
}

static bool parse(const struct ws_upgrade *d, const char *path, struct session_path *ret)
{
    const char *at = path + strlen(d->prefix);
    return take_segment(&at, "/terminal/", ret->sandbox_id) && take_segment(&at, "/ws", ret->session_id) && *at == '\0';
}

static bool claims_terminal(void *arg, struct http_req *r)
{
    struct session_path p;
    return strcmp(http_req_method(r), "GET") == 0 && parse(arg, http_req_path(r), &p);
}

/* The header, or ?token=: a browser's WebSocket cannot send the header. */
static int check_token(const struct api *a, const struct http_req *r, struct caller **ret, struct err *err)
{
    CLEANUP(buf_done) struct buf token = BUF_INIT(TOKEN_MAX);
    const char *header = http_req_header(r, "authorization");
    bool has_query = !header && url_query_get(http_req_query(r), "token", &token) == 1;
    return gate_auth(a->gate, has_query ? buf_text(&token) : header, ret, err);
}

/* Who types into a shell changes something. status 0: it begins. */
static int record(struct api *a, struct http_req *r, const struct caller *who, const struct session_path *p, int status,
                  struct err *err)
{
    struct audit_line line = { .request_id = http_req_header(r, "x-request-id"),
                               .who = who,
                               .remote = http_req_peer(r),
                               .operation = "terminal::attach",
                               .target = json_pack("{s:s, s:s}", "id", p->sandbox_id, "sessionId", p->session_id),
                               .status = status };
    if (status < 400)
        return audit_add(a->audit, &line, err);
    audit_refused(a->audit, &line);
    return 0;
}

static bool attach(void *arg, struct http_req *r)
{
    struct ws_upgrade *d = arg;
    struct manager *m = d->api->manager;
    struct session_path p;
    struct err err = ERR_INIT;
    struct sandbox *s = NULL;
    struct terminal *t = NULL;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    if (!parse(d, http_req_path(r), &p))
        return false;
    if (check_token(d->api, r, &who, &err) == 0 && access_need(who, true, false, "a terminal", &err) == 0)
        s = access_sandbox(m, who, p.sandbox_id, &err);
    if (s)
        t = terminal_find(m->terminals, s, p.session_id, &err);
    if (t && audit_is_strict(d->api->audit) && record(d->api, r, who, &p, 0, &err) < 0)
        t = NULL;
    (void)http_req_ref(r); /* the line comes after the answer */
    int status = t ? terminal_attach(t, r, who->id) : err_status(err.code);
    if (!t)
        call_refuse(r, &err);
    (void)record(d->api, r, who, &p, status, NULL);
    http_req_unref(r);
    return true;
}

static bool serve_channel(void *arg, struct http_req *r)
{
    struct ws_upgrade *d = arg;
    return channel_hub_serve(d->api->manager->channels, r);
}

struct ws_upgrade *ws_upgrade_new(struct api *a)
{
    struct ws_upgrade *d = xzalloc(sizeof(*d));
    d->api = a;
    d->prefix = xasprintf("/%s/sandboxes/", a->settings->api_prefix);
    api_add_entry(a,
                  &(struct api_entry){ .path_prefix = d->prefix, .claims = claims_terminal, .fn = attach, .arg = d });
    /* The key is the credential, as on the engine's port. */
    api_add_entry(a, &(struct api_entry){ .path_prefix = "/ws/channels/", .fn = serve_channel, .arg = d });
    return d;
}

void ws_upgrade_end_of(struct ws_upgrade *d, const char *token_id)
{
    terminal_end_of(d->api->manager->terminals, token_id);
}

struct ws_upgrade *ws_upgrade_free(struct ws_upgrade *d)
{
    if (d) {
        free(d->prefix);
        free(d);
    }
    return NULL;
}
