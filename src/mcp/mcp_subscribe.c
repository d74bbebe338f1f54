/* Theory of operation. A subscription is a work on the server's event stream (stream_events), so that it ends with its
 * exchange and its session like any other, and sees the events of its caller's tenant only. Until 2025-11-25 a session
 * has one (resources/subscribe), whose notifications belong to no request; from 2026-07-28 on each subscriptions/listen
 * is one, and its notifications are part of its response. Every event of a sandbox is an update of each address below
 * it: what a command has changed in files or logs is not known. Tools and prompts never change while a server runs. */
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp_session_core.h"

#define URIS_MAX 64 /* addresses in one subscription */
#define META_ID  "io.modelcontextprotocol/subscriptionId"

/* Takes params. */
static void notify(const struct mcp_work *w, const char *method, json_t *params)
{
    if (w->id)
        (void)json_object_set_new(params, "_meta", json_pack("{s:O}", META_ID, w->id));
    JSON_OWNED m = json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
    if (!w->exchange->is_gone)
        w->exchange->sink.send(w->exchange->sink.arg, m);
}

static const char *box_of(const char *uri)
{
    struct mcp_resource r;
    struct err err = ERR_INIT;
    if (mcp_resource_parse(uri, &r, &err) < 0)
        return NULL;
    mcp_resource_done(&r);
    return strstr(uri, "://") + 3;
}

void mcp_subscribe_event(const struct mcp_work *w, const json_t *event)
{
    static const char *const lists[] = { "sandbox.created", "sandbox.killed", "sandbox.expired" };
    const char *topic = json_get_str(event, "topic", ""), *box = json_get_str(event, "sandboxId", "");
    size_t len = strlen(box);
    for (size_t i = 0; w->wants_list && i < sizeof(lists) / sizeof(lists[0]); i++)
        if (strcmp(topic, lists[i]) == 0)
            notify(w, "notifications/resources/list_changed", json_object());
    for (size_t i = 0; *box && i < json_array_size(w->uris); i++) {
        const char *uri = json_string_value(json_array_get(w->uris, i)), *id = box_of(uri);
        if (strncmp(id, box, len) == 0 && (!id[len] || id[len] == '/'))
            notify(w, "notifications/resources/updated", json_pack("{s:s}", "uri", uri));
    }
}

/* --- from 2026-07-28 on --- */

/* Those of the addresses that a resource can have; not more than the limit. Caller owns. */
static json_t *good_uris(const json_t *given)
{
    json_t *uris = json_array();
    for (size_t i = 0; i < json_array_size(given) && json_array_size(uris) < URIS_MAX; i++) {
        json_t *uri = json_array_get(given, i);
        if (json_is_string(uri) && box_of(json_string_value(uri)))
            (void)json_array_append(uris, uri);
    }
    return uris;
}

static json_t *listen_end(const struct mcp_work *w, const json_t *answer)
{
    return json_pack("{s:{s:O}}", "_meta", META_ID, w->id);
}

void mcp_subscribe_listen(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const json_t *wanted = json_get(params, "notifications");
    if (!json_is_object(wanted)) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, "notifications: an object is needed");
        return;
    }
    struct mcp_work *w = mcp_work_new(x, id, OP_ID_stream_events, json_object());
    if (!w)
        return;
    w->uris = good_uris(json_get(wanted, "resourceSubscriptions"));
    w->wants_list = json_get_bool(wanted, "resourcesListChanged", false);
    w->result = listen_end;
    json_t *granted = json_object();
    if (w->wants_list)
        (void)json_object_set_new(granted, "resourcesListChanged", json_true());
    if (json_array_size(w->uris) > 0)
        (void)json_object_set(granted, "resourceSubscriptions", w->uris);
    notify(w, "notifications/subscriptions/acknowledged", json_pack("{s:o}", "notifications", granted));
    mcp_work_start(w);
}

/* --- until 2025-11-25 --- */

/* The session has room for it. */
static void session_subscribe(struct mcp_session *s)
{
    struct mcp_exchange *x = xzalloc(sizeof(*x)); /* its only work has no id, and ends it */
    *x = (struct mcp_exchange){ .session = s, .sink = s->notes, .version = s->version, .n_open = 1 };
    s->subscription = mcp_work_new(x, NULL, OP_ID_stream_events, json_object());
    s->subscription->uris = json_array();
    mcp_work_start(s->subscription);
}

static size_t place_of(const struct mcp_work *w, const char *uri)
{
    size_t i = 0;
    while (i < json_array_size(w->uris) && strcmp(json_string_value(json_array_get(w->uris, i)), uri) != 0)
        i++;
    return i;
}

void mcp_subscribe_add(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const char *uri = json_get_str(params, "uri", "");
    if (!box_of(uri)) {
        mcp_session_refuse_uri(x, id, uri,
                               "uri: no resource has such an address; resources/templates/list has their forms");
        return;
    }
    struct mcp_session *s = x->session;
    size_t count = s->subscription ? json_array_size(s->subscription->uris) : 0;
    bool is_new = !s->subscription || place_of(s->subscription, uri) == count;
    if (!s->notes.send || (is_new && count >= URIS_MAX) ||
        (!s->subscription && s->n_works >= MCP_SESSION_RUNNING_MAX)) {
        mcp_session_refuse(x, id, MCP_SESSION_BUSY,
                           "limit of 64 subscriptions and concurrent requests in this session reached");
        return;
    }
    if (!s->subscription)
        session_subscribe(s);
    if (is_new)
        (void)json_array_append_new(s->subscription->uris, json_string(uri));
    mcp_session_answer(x, id, json_object());
}

void mcp_subscribe_remove(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    struct mcp_work *w = x->session->subscription;
    if (w)
        (void)json_array_remove(w->uris, place_of(w, json_get_str(params, "uri", "")));
    if (w && json_array_size(w->uris) == 0)
        mcp_work_drop(w);
    mcp_session_answer(x, id, json_object());
}
