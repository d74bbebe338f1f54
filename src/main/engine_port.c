#include "main/engine_port.h"

#include <stdlib.h>

#include "api/engine_entry.h"
#include "api/fn.h"
#include "api/version.h"
#include "base/alloc.h"
#include "base/settings.h"
#include "engine/engine.h"
#include "engine/remote_engine.h"
#include "http/server.h"
#include "tls/tls_context.h"

#define WORKER_NAME "iii-sandbox"

struct engine_port {
    const struct settings *settings;
    struct tls_context_trust trust;
    struct engine *engine;
    struct engine_entry *listener;
    struct api *api;
    struct http_server *server;
    struct outside *outside; /* NULL without III_ENGINE_URL */
};

int engine_port_new(struct manager *m, struct api *a, struct engine_port **ret, struct err *err)
{
    static const struct http_limits limits = HTTP_LIMITS_DEFAULT;
    const struct settings *s = m->settings;
    struct engine_port *p = xzalloc(sizeof(*p));
    p->settings = s;
    p->api = a;
    p->trust = (struct tls_context_trust){ s->ca_cert, s->client_cert, s->client_key };
    struct engine_options options = { .loop = m->loop,
                                      .store = m->store,
                                      .channels = m->channels,
                                      .auth = engine_entry_auth,
                                      .on_refused = engine_entry_refused,
                                      .on_head = engine_entry_head,
                                      .auth_arg = a,
                                      .name = WORKER_NAME,
                                      .version = API_VERSION,
                                      .trust = &p->trust };
    int r = engine_new(&options, &p->engine, err);
    if (r == 0) {
        struct http_app app = engine_http_app(p->engine);
        p->listener = engine_entry_new(p->engine, a, s->api_prefix);
        r = fn_new(m, a, err);
        if (r == 0)
            r = http_server_new(m->loop, &app, &limits, &p->server, err);
    }
    if (r == 0 && *s->engine_url)
        r = remote_engine_new(p->engine, s->engine_url, s->engine_token, &p->outside, err);
    *ret = p; /* on failure too: the caller closes and frees it like the rest */
    return r;
}

int engine_port_listen(struct engine_port *p, struct inherit *inherited, uint16_t *ret_port, struct err *err)
{
    const struct settings *s = p->settings;
    int fd = inherit_take_at(inherited, INHERIT_ENGINE, s->host, (uint16_t)s->engine_port, SOCK_STREAM);
    int r = fd >= 0 ? http_server_listen_fd(p->server, fd, ret_port, err)
                    : http_server_listen_tcp(p->server, s->host, (uint16_t)s->engine_port, ret_port, err);
    while (r == 0 && (fd = inherit_take(inherited, INHERIT_ENGINE_CONN)) >= 0)
        http_server_take(p->server, fd);
    return r;
}

static void port_leave(void *arg, int fd, bool is_listener)
{
    inherit_add(arg, is_listener ? INHERIT_ENGINE : INHERIT_ENGINE_CONN, fd);
}

void engine_port_leave(struct engine_port *p, struct inherit *to)
{
    http_server_leave(p->server, port_leave, to);
}

void engine_port_give(struct engine_port *p, int fd, const char *peer)
{
    http_server_give(p->server, fd, peer);
}

int engine_port_reload(struct engine_port *p, const struct settings *s, struct err *err)
{
    return fn_reload(p->api, s, err);
}

static void port_drained(void *arg)
{
    (void)arg; /* nothing waits for it: the REST listener's drain decides */
}

void engine_port_stop(struct engine_port *p)
{
    engine_stop(p->engine);
    http_server_drain(p->server, 0, port_drained, NULL);
}

void engine_port_close(struct engine_port *p)
{
    if (!p)
        return;
    if (p->engine)
        engine_stop(p->engine);
    p->outside = remote_engine_free(p->outside);
    p->server = http_server_free(p->server);
}

struct engine_port *engine_port_free(struct engine_port *p)
{
    if (p) {
        engine_port_close(p);
        engine_free(p->engine);
        engine_entry_free(p->listener);
        free(p);
    }
    return NULL;
}
