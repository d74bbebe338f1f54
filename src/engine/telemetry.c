#include "engine/telemetry.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "http/ws.h"
#include "http/ws_closing.h"

struct telemetry {
    LIST_ENTRY(telemetry) link;
    struct engine *engine;
    struct ws *ws;
    char tenant[SHARE_TENANT_MAX];
};

static void telemetry_forget(struct telemetry *t)
{
    LIST_REMOVE(t, link);
    t->engine->n_telemetry--;
    share_give(t->engine->connections, t->tenant, 1);
    free(t);
}

static void telemetry_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)w, (void)is_text, (void)data, (void)len;
}

static void telemetry_closed(void *arg, struct ws *w, int code, const char *reason)
{
    (void)w, (void)code, (void)reason;
    telemetry_forget(arg);
}

void telemetry_accept(struct engine *e, struct http_req *r, const char tenant[SHARE_TENANT_MAX])
{
    static const struct ws_events events = { .on_message = telemetry_message, .on_close = telemetry_closed };
    struct telemetry *t = xzalloc(sizeof(*t));
    t->engine = e;
    (void)memcpy(t->tenant, tenant, SHARE_TENANT_MAX);
    if (ws_accept(e->loop, r, ENGINE_MESSAGE_MAX, &events, t, &t->ws) < 0) {
        share_give(e->connections, tenant, 1);
        free(t);
        return;
    }
    ws_charge(t->ws, e->bytes, tenant);
    LIST_INSERT_HEAD(&e->telemetry, t, link);
    e->n_telemetry++;
}

void telemetry_stop(struct engine *e)
{
    struct telemetry *t;
    while ((t = LIST_FIRST(&e->telemetry))) {
        ws_closing_add(e->parting, t->ws, 1001, "the server stops");
        telemetry_forget(t);
    }
}
