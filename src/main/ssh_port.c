#include "main/ssh_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/ssh_entry.h"
#include "base/alloc.h"
#include "base/log.h"
#include "main/privilege/privilege.h"
#include "os/inherit.h"
#include "ssh/ssh_listener_client.h"

struct ssh_port {
    const struct settings *settings;
    struct ssh_listener_client *client;
    struct ssh_entry *entry;
    int lent; /* a duplicate of the listening socket, for a successor */
};

int ssh_port_parse(const struct settings *s, char host[64], uint16_t *ret_port, struct err *err)
{
    const char *text = s->ssh, *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    size_t len = colon ? (size_t)(colon - text) : strlen(s->host);
    const char *from = colon ? text : s->host;
    if (colon && len >= 2 && *text == '[' && text[len - 1] == ']') {
        from = text + 1;
        len -= 2;
    }
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    unsigned char address[16];
    bool is_number = *port >= '0' && *port <= '9' && !*end && number <= 65535;
    (void)snprintf(host, 64, "%.*s", (int)(len < 63 ? len : 63), from);
    if (!is_number || len == 0 || len > 63 ||
        (inet_pton(AF_INET, host, address) != 1 && inet_pton(AF_INET6, host, address) != 1))
        return err_set(err, ERR_INVALID, 0,
                       "--ssh \"%.100s\" is not PORT or ADDRESS:PORT (2222, 0.0.0.0:2222, [::]:2222)", text);
    *ret_port = (uint16_t)number;
    return 0;
}

static void port_conn(void *arg, int fd, const char *peer)
{
    struct ssh_port *p = arg;
    ssh_entry_conn(p->entry, fd, peer);
}

static void port_note(void *arg, bool is_bad, const char *what, const char *text)
{
    (void)arg;
    log_event(is_bad ? LOG_WARN : LOG_INFO, "ssh.listener", "what", what, "msg", text, NULL);
}

int ssh_port_new(struct loop *l, struct api *api, struct http_server *rest, const struct settings *s,
                 struct keeper *keeper, struct ssh_port **ret, struct err *err)
{
    char host[64];
    uint16_t port;
    if (!*s->ssh)
        return 0;
    int r = ssh_port_parse(s, host, &port, err);
    if (r < 0)
        return r;
    struct ssh_port *p = xzalloc(sizeof(*p));
    const struct ssh_listener_client_events events = { .on_conn = port_conn, .on_note = port_note, .arg = p };
    *p = (struct ssh_port){ .settings = s, .lent = NO_FD, .entry = ssh_entry_new(api, rest) };
    r = ssh_listener_client_new(l, keeper, PRIVILEGE_SSH, &events, &p->client, err);
    if (r < 0)
        (void)ssh_port_free(p);
    else
        *ret = p;
    return r;
}

int ssh_port_listen(struct ssh_port *p, struct inherit *inherited, uint16_t *ret_port, struct err *err)
{
    char host[64];
    uint16_t port;
    if (!p)
        return 0;
    int r = ssh_port_parse(p->settings, host, &port, err);
    int fd = r == 0 ? inherit_take_at(inherited, INHERIT_SSH, host, port, SOCK_STREAM) : NO_FD;
    if (r == 0 && fd < 0)
        r = http_server_bind(host, port, &fd, NULL, err);
    if (r < 0)
        return r;
    *ret_port = inherit_port(fd);
    p->lent = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    ssh_listener_client_listen(p->client, fd);
    char text[8];
    (void)snprintf(text, sizeof(text), "%u", *ret_port);
    log_event(LOG_INFO, "ssh.listen", "host", host, "port", text, NULL);
    ssh_entry_listens(p->entry, host, *ret_port, ssh_listener_client_key(p->client));
    return 0;
}

void ssh_port_leave(struct ssh_port *p, struct inherit *to)
{
    if (p && p->lent >= 0)
        inherit_add(to, INHERIT_SSH, steal_fd(&p->lent));
    ssh_port_stop(p);
}

void ssh_port_stop(struct ssh_port *p)
{
    if (!p)
        return;
    ssh_listener_client_stop(p->client);
    if (p->lent >= 0)
        (void)close(steal_fd(&p->lent));
    p->entry = ssh_entry_free(p->entry);
}

struct ssh_port *ssh_port_free(struct ssh_port *p)
{
    if (!p)
        return NULL;
    ssh_port_stop(p);
    (void)ssh_listener_client_free(p->client);
    free(p);
    return NULL;
}
