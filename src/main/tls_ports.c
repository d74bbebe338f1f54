#include "main/tls_ports.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "main/privilege/privilege.h"
#include "tls/tls_listener_client.h"

struct tls_ports {
    const struct settings *settings;
    struct tls_listener_client *keep;
    struct http_server *rest; /* NULL until tls_ports_listen() */
    struct engine_port *engine;
};

bool tls_ports_is_wanted(const struct settings *s)
{
    return *s->tls_cert || *s->tls_key || *s->tls_client_ca;
}

static void port_conn(void *arg, enum tls_listener_client_port port, int fd, const char *peer, const char *cert)
{
    struct tls_ports *t = arg;
    if (port == TLS_LISTENER_CLIENT_ENGINE)
        engine_port_give(t->engine, fd, peer, cert);
    else
        http_server_give(t->rest, fd, peer, cert);
}

static void port_note(void *arg, bool is_bad, const char *what, const char *text)
{
    (void)arg;
    log_event(is_bad ? LOG_WARN : LOG_INFO, "tls.listener", "what", what, "msg", text, NULL);
}

void tls_ports_reload(struct tls_ports *t)
{
    tls_listener_client_reload(t->keep);
}

int tls_ports_new(struct loop *l, const struct settings *s, struct keeper *keeper, struct tls_ports **ret,
                  struct err *err)
{
    if (!*s->tls_cert || !*s->tls_key)
        return err_set(err, ERR_INVALID, 0, "TLS needs both --tls-cert and --tls-key: %s is missing",
                       *s->tls_cert ? "--tls-key" : "--tls-cert");
    bool is_optional = strcmp(s->tls_client_auth, "optional") == 0;
    if (!is_optional && strcmp(s->tls_client_auth, "required") != 0)
        return err_set(err, ERR_INVALID, 0, "III_TLS_CLIENT_AUTH: \"%.20s\" is not one of required, optional",
                       s->tls_client_auth);
    if (is_optional && !*s->tls_client_ca)
        return err_set(err, ERR_INVALID, 0, "III_TLS_CLIENT_AUTH=optional needs --tls-client-ca");
    struct tls_ports *t = xzalloc(sizeof(*t));
    const struct tls_listener_client_start start = { .keeper = keeper, .job = PRIVILEGE_LISTENER, .cert = s->tls_cert };
    const struct tls_listener_client_events events = { .on_conn = port_conn, .on_note = port_note, .arg = t };
    t->settings = s;
    int r = tls_listener_client_new(l, &start, &events, &t->keep, err);
    if (r < 0)
        (void)tls_ports_free(t);
    else
        *ret = t;
    return r;
}

static int open_listener(const struct settings *s, struct inherit *inherited, enum tls_listener_client_port which,
                         int *ret_fd, uint16_t *ret_port, struct err *err)
{
    bool is_rest = which == TLS_LISTENER_CLIENT_REST;
    uint16_t port = (uint16_t)(is_rest ? s->rest_port : s->engine_port);
    int fd = inherit_take_at(inherited, is_rest ? INHERIT_REST : INHERIT_ENGINE, s->host, port, SOCK_STREAM);
    if (fd < 0)
        return http_server_bind(s->host, port, ret_fd, ret_port, err);
    *ret_fd = fd;
    *ret_port = inherit_port(fd);
    return 0;
}

int tls_ports_listen(struct tls_ports *t, struct http_server *rest, struct engine_port *engine,
                     struct inherit *inherited, uint16_t ret_ports[2], struct err *err)
{
    const struct settings *s = t->settings;
    CLEANUP(close_fd_p) int first = NO_FD;
    int second = NO_FD;
    int r = open_listener(s, inherited, TLS_LISTENER_CLIENT_REST, &first, &ret_ports[0], err);
    if (r == 0)
        r = open_listener(s, inherited, TLS_LISTENER_CLIENT_ENGINE, &second, &ret_ports[1], err);
    if (r < 0)
        return r;
    t->rest = rest;
    t->engine = engine;
    tls_listener_client_listen(t->keep, TLS_LISTENER_CLIENT_REST, steal_fd(&first));
    tls_listener_client_listen(t->keep, TLS_LISTENER_CLIENT_ENGINE, second);
    return 0;
}

void tls_ports_leave(struct tls_ports *t, struct inherit *to)
{
    int rest = tls_listener_client_lend(t->keep, TLS_LISTENER_CLIENT_REST),
        engine = tls_listener_client_lend(t->keep, TLS_LISTENER_CLIENT_ENGINE);
    if (rest >= 0)
        inherit_add(to, INHERIT_REST, rest);
    if (engine >= 0)
        inherit_add(to, INHERIT_ENGINE, engine);
    tls_ports_stop(t);
}

void tls_ports_stop(struct tls_ports *t)
{
    if (t)
        tls_listener_client_retire(t->keep);
}

struct tls_ports *tls_ports_free(struct tls_ports *t)
{
    if (t) {
        (void)tls_listener_client_free(t->keep);
        free(t);
    }
    return NULL;
}
