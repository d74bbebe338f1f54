/* A TCP connection to a port inside a sandbox on a connection of the client's: GET …/tunnel/:port with `Upgrade: tcp`,
 * 101, then bytes as they are. The port is connected before the answer: where nobody listens, that is 502. */
#include "api/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "base/alloc.h"
#include "base/list.h"
#include "http/server.h"
#include "sandbox/net/relay.h"

static const char accepted[] = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

struct tunnel {
    struct tunnel *next;
    struct tunnel_set *set;
    struct call *call; /* NULL: it was answered */
    struct guest_tunnel *guest;
    struct relay *relay;
    char sandbox_id[IDENT_MAX], token_id[IDENT_MAX];
};

struct tunnel_set {
    struct tunnel *all;
};

static void tunnel_end(struct tunnel *t)
{
    LIST_TAKE(t->set->all, t);
    if (t->guest)
        guest_tunnel_drop(t->guest);
    relay_free(t->relay);
    free(t);
}

static void on_relay_done(void *arg, struct relay *r)
{
    (void)r;
    tunnel_end(arg);
}

static void on_guest_open(void *arg)
{
    struct tunnel *t = arg;
    CLEANUP(close_fd_p) int fd = NO_FD;
    CLEANUP(buf_done) struct buf to_client = BUF_INIT(sizeof(accepted)), to_guest = BUF_INIT(0);
    struct call *c = STEAL(t->call);
    struct loop *l = call_loop(c);
    call_on_cancel(c, NULL, NULL);
    (void)buf_add_str(&to_client, accepted);
    if (http_req_take(call_http(c), &fd, &to_guest) < 0) {
        call_error(c, ERR_INTERNAL, "the connection cannot be taken over");
        tunnel_end(t);
        return;
    }
    call_taken(c, 101);
    if (relay_new(l, fd, on_relay_done, t, &t->relay) < 0) {
        tunnel_end(t);
        return;
    }
    (void)steal_fd(&fd);
    if (relay_join(t->relay, STEAL(t->guest), &to_client, &to_guest) < 0)
        tunnel_end(t);
}

static void on_guest_data(void *arg, const char *data, size_t len)
{
    (void)arg, (void)data, (void)len; /* cannot be: the callbacks are replaced when it has opened */
}

static void on_guest_closed(void *arg, const struct err *err)
{
    struct tunnel *t = arg;
    struct call *c = STEAL(t->call);
    t->guest = NULL;
    if (c && err)
        call_fail(c, err);
    else if (c)
        call_error(c, ERR_UPSTREAM, "the connection was closed");
    tunnel_end(t);
}

static void on_client_gone(void *arg)
{
    struct tunnel *t = arg;
    struct call *c = STEAL(t->call);
    call_error(c, ERR_UPSTREAM, "the client left");
    tunnel_end(t);
}

void api_port_tunnel(struct call *c)
{
    static const struct guest_tunnel_events events = { .on_open = on_guest_open,
                                                       .on_data = on_guest_data,
                                                       .on_closed = on_guest_closed };
    struct tunnel_set *set = call_api(c)->tunnels;
    size_t here = 0, most = (size_t)call_api(c)->settings->port_connections;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    if (!http_req_wants_upgrade(call_http(c), "tcp")) {
        call_error(c, ERR_INVALID, "this is a TCP tunnel: ask for it with `Connection: Upgrade` and `Upgrade: tcp`");
        return;
    }
    for (const struct tunnel *t = set->all; t; t = t->next)
        here += strcmp(t->sandbox_id, s->id) == 0;
    if (here >= most) {
        call_error(c, ERR_CAPACITY, "limit of %zu concurrent tunnels to %s reached", most, s->id);
        return;
    }
    struct tunnel *t = xzalloc(sizeof(*t));
    *t = (struct tunnel){ .set = set, .call = c, .next = set->all };
    memcpy(t->sandbox_id, s->id, sizeof(t->sandbox_id));
    (void)snprintf(t->token_id, sizeof(t->token_id), "%s", call_who(c) ? call_who(c)->id : "");
    set->all = t;
    call_on_cancel(c, on_client_gone, t);
    int r = guest_tunnel_open(s->link, false, NULL, (uint16_t)call_int(c, "port", 0), &events, t, &t->guest);
    if (r < 0) {
        call_on_cancel(c, NULL, NULL);
        tunnel_end(t);
        (void)handlers_failed(c, r, "open a tunnel");
    }
}

void tunnel_end_of(struct tunnel_set *set, const char *token_id)
{
    for (struct tunnel *next, *t = set->all; t; t = next) {
        next = t->next;
        if (!t->call && strcmp(t->token_id, token_id) == 0)
            tunnel_end(t); /* those that are calls still are ended as such */
    }
}

struct tunnel_set *tunnel_set_new(void)
{
    return xzalloc(sizeof(struct tunnel_set));
}

struct tunnel_set *tunnel_set_free(struct tunnel_set *set)
{
    while (set && set->all)
        tunnel_end(set->all);
    free(set);
    return NULL;
}
