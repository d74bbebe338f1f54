#include "main/engine_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/engine_entry.h"
#include "api/fn.h"
#include "api/hostguard.h"
#include "api/keyring.h"
#include "api/version.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine.h"
#include "engine/remote_engine.h"
#include "http/server.h"
#include "sandbox/net/ports.h"
#include "store/token_file.h"
#include "tls/tls_context.h"

#define WORKER_NAME "iii-sandbox"

struct engine_port {
    const struct settings *settings;
    struct tls_context_trust trust;
    struct engine *engine;
    struct engine_entry *listener;
    struct api *api;
    struct keyring *keys;
    struct http_server *server;
    struct outside *outside;                           /* NULL without III_ENGINE_URL */
    struct engine_listener more[ENGINE_LISTENERS_MAX]; /* ports that the configuration asks for */
    struct http_server *servers[ENGINE_LISTENERS_MAX];
    size_t n_more;
};

static char *closed_ports(void *arg)
{
    const struct manager *m = arg;
    return ports_closed(m->ports);
}

int engine_port_new(struct manager *m, struct api *a, struct keyring *keys, struct engine_port **ret, struct err *err)
{
    static const struct http_limits limits = HTTP_LIMITS_DEFAULT;
    const struct settings *s = m->settings;
    struct engine_port *p = xzalloc(sizeof(*p));
    p->settings = s;
    p->api = a;
    p->keys = keys;
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
                                      .port = (uint16_t)s->engine_port,
                                      .data_dir = keyring_dir(keys),
                                      .workers = s->engine_workers,
                                      .trust = &p->trust,
                                      .closed_ports = closed_ports,
                                      .closed_arg = m };
    int r = engine_new(&options, &p->engine, err);
    if (r == 0) {
        struct http_app app = engine_http_app(p->engine);
        p->listener = engine_entry_new(p->engine, a, s->api_prefix);
        r = fn_new(m, a, err);
        if (r == 0)
            r = http_server_new(m->loop, &app, &limits, &p->server, err);
        p->n_more = engine_listeners(p->engine, p->more);
        for (size_t i = 0; r == 0 && i < p->n_more; i++) {
            struct http_limits its = limits;
            if (p->more[i].head_ms)
                its.head_ms = p->more[i].head_ms;
            r = http_server_new(m->loop, &p->more[i].app, &its, &p->servers[i], err);
        }
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

/* These ports are plain: whoever reaches them must be judged, and must not need TLS. */
static int check_exposure(const struct engine_port *p, const struct engine_listener *l, const char *host,
                          struct err *err)
{
    const struct settings *s = p->settings;
    struct token_file_stamp tokens;
    bool has_tokens = keyring_is_guarded(s) || (token_file_stamp(keyring_dir(p->keys), &tokens) == 0 && tokens.inode);
    if (hostguard_is_loopback(host))
        return 0;
    if (*s->tls_cert)
        return err_set(err, ERR_INVALID, 0,
                       "%s: refusing to listen on %s without TLS while tls.cert is set: use host 127.0.0.1 and a TLS "
                       "proxy in front of it",
                       l->worker, host);
    if (!l->has_auth && !has_tokens && !s->insecure_listen)
        return err_set(err, ERR_INVALID, 0,
                       "%s: refusing to listen on %s for everyone: set its auth function, a token of the server, or "
                       "--insecure-listen",
                       l->worker, host);
    if (!s->insecure_listen && !s->plain_listen)
        return err_set(
            err, ERR_INVALID, 0,
            "%s: refusing to listen on %s without TLS: use host 127.0.0.1 and a TLS proxy in front of it, or "
            "pass --plain-listen",
            l->worker, host);
    if (!l->has_auth && !s->insecure_listen)
        keyring_expose(p->keys);
    return 0;
}

int engine_port_listen_more(struct engine_port *p, struct inherit *inherited, struct err *err)
{
    const struct settings *s = p->settings;
    int r = 0;
    for (size_t i = 0; r == 0 && i < p->n_more; i++) {
        struct engine_listener *l = &p->more[i];
        const char *host = l->host ? l->host : s->host;
        uint16_t port = 0;
        char text[8];
        r = check_exposure(p, l, host, err);
        int fd = r == 0 ? inherit_take_at(inherited, INHERIT_ENGINE, host, l->port, SOCK_STREAM) : NO_FD;
        if (r == 0)
            r = fd >= 0 ? http_server_listen_fd(p->servers[i], fd, &port, err)
                        : http_server_listen_tcp(p->servers[i], host, l->port, &port, err);
        (void)snprintf(text, sizeof(text), "%u", port);
        l->port = port;
        if (r == 0)
            log_event(LOG_INFO, "engine.listener", "worker", l->worker, "host", host, "port", text, NULL);
    }
    return r;
}

void engine_port_list(const struct engine_port *p, struct buf *to)
{
    for (size_t i = 0; i < p->n_more; i++)
        (void)buf_addf(to, ",%u", p->more[i].port); /* the caller's buffer has room for them */
}

static void port_leave(void *arg, int fd, bool is_listener)
{
    inherit_add(arg, is_listener ? INHERIT_ENGINE : INHERIT_ENGINE_CONN, fd);
}

/* Only the listener: a successor could not tell which port an idle connection belongs to. */
static void more_leave(void *arg, int fd, bool is_listener)
{
    if (is_listener)
        inherit_add(arg, INHERIT_ENGINE, fd);
    else
        (void)close(fd);
}

void engine_port_leave(struct engine_port *p, struct inherit *to)
{
    http_server_leave(p->server, port_leave, to);
    for (size_t i = 0; i < p->n_more; i++)
        http_server_leave(p->servers[i], more_leave, to);
}

void engine_port_give(struct engine_port *p, int fd, const char *peer, const char *cert)
{
    http_server_give(p->server, fd, peer, cert);
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
    for (size_t i = 0; i < p->n_more; i++)
        http_server_drain(p->servers[i], 0, port_drained, NULL);
}

void engine_port_close(struct engine_port *p)
{
    if (!p)
        return;
    if (p->engine)
        engine_stop(p->engine);
    p->outside = remote_engine_free(p->outside);
    p->server = http_server_free(p->server);
    for (size_t i = 0; i < p->n_more; i++)
        p->servers[i] = http_server_free(p->servers[i]);
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
