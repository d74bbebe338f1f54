#include "main/tlsport.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/log.h"
#include "main/privilege.h"
#include "tls/doorkeep.h"

struct tlsport {
    const struct settings *settings;
    struct doorkeep *keep;
    struct http_server *rest; /* NULL until tlsport_listen() */
    struct engine_port *engine;
};

bool tlsport_is_wanted(const struct settings *s)
{
    return *s->tls_cert || *s->tls_key || *s->tls_client_ca;
}

static void on_conn(void *arg, enum doorkeep_port port, int fd, const char *peer)
{
    struct tlsport *t = arg;
    if (port == DOORKEEP_ENGINE)
        engine_port_give(t->engine, fd, peer);
    else
        http_server_give(t->rest, fd, peer);
}

static void on_note(void *arg, bool is_bad, const char *what, const char *text)
{
    (void)arg;
    log_event(is_bad ? LOG_WARN : LOG_INFO, "tls.door", "what", what, "msg", text, NULL);
}

void tlsport_reload(struct tlsport *t)
{
    doorkeep_reload(t->keep);
}

int tlsport_new(struct loop *l, const struct settings *s, struct keeper *keeper, struct tlsport **ret, struct err *err)
{
    if (!*s->tls_cert || !*s->tls_key)
        return err_set(err, ERR_INVALID, 0, "TLS needs both --tls-cert and --tls-key: %s is missing",
                       *s->tls_cert ? "--tls-key" : "--tls-cert");
    struct tlsport *t = xzalloc(sizeof(*t));
    const struct doorkeep_start start = { .keeper = keeper, .job = PRIVILEGE_DOOR, .cert = s->tls_cert };
    const struct doorkeep_events events = { .on_conn = on_conn, .on_note = on_note, .arg = t };
    t->settings = s;
    int r = doorkeep_new(l, &start, &events, &t->keep, err);
    if (r < 0)
        (void)tlsport_free(t);
    else
        *ret = t;
    return r;
}

static int open_listener(const struct settings *s, struct inherit *inherited, enum doorkeep_port which, int *ret_fd,
                         uint16_t *ret_port, struct err *err)
{
    bool is_rest = which == DOORKEEP_REST;
    uint16_t port = (uint16_t)(is_rest ? s->rest_port : s->engine_port);
    int fd = inherit_take_at(inherited, is_rest ? INHERIT_REST : INHERIT_ENGINE, s->host, port, SOCK_STREAM);
    if (fd < 0)
        return http_server_bind(s->host, port, ret_fd, ret_port, err);
    *ret_fd = fd;
    *ret_port = inherit_port(fd);
    return 0;
}

int tlsport_listen(struct tlsport *t, struct http_server *rest, struct engine_port *engine, struct inherit *inherited,
                   uint16_t ret_ports[2], struct err *err)
{
    const struct settings *s = t->settings;
    CLEANUP(close_fd_p) int first = NO_FD;
    int second = NO_FD;
    int r = open_listener(s, inherited, DOORKEEP_REST, &first, &ret_ports[0], err);
    if (r == 0)
        r = open_listener(s, inherited, DOORKEEP_ENGINE, &second, &ret_ports[1], err);
    if (r < 0)
        return r;
    t->rest = rest;
    t->engine = engine;
    doorkeep_listen(t->keep, DOORKEEP_REST, steal_fd(&first));
    doorkeep_listen(t->keep, DOORKEEP_ENGINE, second);
    return 0;
}

void tlsport_leave(struct tlsport *t, struct inherit *to)
{
    int rest = doorkeep_lend(t->keep, DOORKEEP_REST), engine = doorkeep_lend(t->keep, DOORKEEP_ENGINE);
    if (rest >= 0)
        inherit_add(to, INHERIT_REST, rest);
    if (engine >= 0)
        inherit_add(to, INHERIT_ENGINE, engine);
    tlsport_stop(t);
}

void tlsport_stop(struct tlsport *t)
{
    if (t)
        doorkeep_retire(t->keep);
}

struct tlsport *tlsport_free(struct tlsport *t)
{
    if (t) {
        (void)doorkeep_free(t->keep);
        free(t);
    }
    return NULL;
}
