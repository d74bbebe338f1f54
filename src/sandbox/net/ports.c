#include "sandbox/net/ports.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/log.h"
#include "sandbox/lifecycle/manager.h"

#define EXTRA   "ports" /* in the record: [{containerPort, hostPort, protocol}] */
#define KEY_MAX 64

struct ports {
    struct manager *m;
    struct map *open; /* "sbx_…:8080/tcp" -> struct forward */
};

static void key_of(const struct sandbox *s, const json_t *row, char key[KEY_MAX])
{
    (void)snprintf(key, KEY_MAX, "%s:%d/%s", s->id, (int)json_get_int(row, "containerPort", 0),
                   json_get_str(row, "protocol", "tcp"));
}

static bool is_row(const json_t *row, uint16_t inner_port, const char *protocol)
{
    return json_get_int(row, "containerPort", 0) == inner_port &&
           (!protocol || strcmp(json_get_str(row, "protocol", ""), protocol) == 0);
}

/* Opens what the record says and is not open yet. */
static void reopen(struct ports *p, struct sandbox *s)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->extra, EXTRA), i, row)
    {
        char key[KEY_MAX];
        struct err err = ERR_INIT;
        struct forward *f = NULL;
        struct forward_plan plan = { .is_udp = strcmp(json_get_str(row, "protocol", ""), "udp") == 0,
                                     .inner_port = (uint16_t)json_get_int(row, "containerPort", 0),
                                     .host_port = (uint16_t)json_get_int(row, "hostPort", 0) };
        key_of(s, row, key);
        if (map_get(p->open, key))
            continue;
        if (forward_open(s, &plan, &f, &err) < 0)
            log_event(LOG_WARN, "port.reopen", "port", key, "error", err.msg, NULL);
        else
            map_set(p->open, key, f);
    }
}

static void on_enter(void *arg, struct sandbox *s)
{
    reopen(arg, s);
}

static void close_row(struct ports *p, const struct sandbox *s, const json_t *row)
{
    char key[KEY_MAX];
    key_of(s, row, key);
    forward_free(map_remove(p->open, key));
}

static void on_leave(void *arg, struct sandbox *s)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->extra, EXTRA), i, row)
    {
        close_row(arg, s, row);
    }
}

struct ports *ports_new(struct manager *m)
{
    struct ports *p = xzalloc(sizeof(*p));
    p->m = m;
    p->open = map_new();
    manager_on_enter(m, on_enter, p);
    manager_on_sleep(m, on_enter, p); /* the ports stay taken */
    manager_on_leave(m, on_leave, p);
    return p;
}

struct ports *ports_free(struct ports *p)
{
    if (!p)
        return NULL;
    for (struct map_iter it = map_iter(p->open); map_next(&it);)
        forward_free(it.value);
    map_free(p->open);
    free(p);
    return NULL;
}

void ports_give(struct ports *p, struct inherit *to)
{
    for (struct map_iter it = map_iter(p->open); map_next(&it);) {
        int fd = forward_give(it.value);
        if (fd >= 0)
            inherit_add(to, INHERIT_PORT, fd);
    }
}

/* What a person or an agent opens. A listener on every address is named by the host's own name. */
static json_t *url_of(const struct sandbox *s, const json_t *row)
{
    const char *host = s->manager->settings->port_host;
    char name[HOST_NAME_MAX + 1] = "";
    bool is_any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    if (is_any && gethostname(name, sizeof(name)) == 0 && *name)
        host = name;
    bool is_v6 = strchr(host, ':') != NULL;
    return json_sprintf("http://%s%s%s:%d/", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                        (int)json_get_int(row, "hostPort", 0));
}

char *ports_closed(const struct ports *p)
{
    struct buf list = BUF_INIT(map_count(p->open) * 8 + 256);
    (void)buf_add_str(&list, p->m->own_ports ? p->m->own_ports : ""); /* there is room for all of it */
    for (struct map_iter it = map_iter(p->open); map_next(&it);)
        (void)buf_addf(&list, ",%u", forward_host_port(it.value));
    return buf_steal(&list, NULL);
}

static json_t *mapping(struct ports *p, const struct sandbox *s, const json_t *row)
{
    char key[KEY_MAX];
    key_of(s, row, key);
    json_t *j = json_copy((json_t *)(uintptr_t)row);
    (void)json_object_set_new(j, "state", json_string(map_get(p->open, key) ? "active" : "mapped"));
    if (is_row(row, (uint16_t)json_get_int(row, "containerPort", 0), "tcp"))
        (void)json_object_set_new(j, "url", url_of(s, row));
    return j;
}

static json_t *rows_of(struct sandbox *s)
{
    json_t *rows = json_object_get(s->extra, EXTRA);
    if (!json_is_array(rows)) {
        rows = json_array();
        (void)json_object_set_new(s->extra, EXTRA, rows);
    }
    return rows;
}

size_t ports_count(const struct sandbox *s)
{
    return json_array_size(json_object_get(s->extra, EXTRA));
}

int ports_expose(struct ports *p, struct sandbox *s, const struct tenant_by *by, const struct forward_plan *plan,
                 json_t **ret, struct err *err)
{
    CLEANUP(forward_free_p) struct forward *f = NULL;
    const char *protocol = plan->is_udp ? "udp" : "tcp";
    json_t *rows = json_object_get(s->extra, EXTRA), *other;
    size_t max = (size_t)s->manager->settings->max_ports, i;
    json_array_foreach(rows, i, other)
    {
        if (is_row(other, plan->inner_port, protocol))
            return err_set(err, ERR_CONFLICT, 0, "port %u/%s of %s is already exposed as host port %d",
                           plan->inner_port, protocol, s->id, (int)json_get_int(other, "hostPort", 0));
    }
    if (json_array_size(rows) >= max)
        return err_set(err, ERR_RATE_LIMITED, 0,
                       "limit of %zu exposed ports of %s reached: unexpose one, or raise III_MAX_PORTS", max, s->id);
    const char *range = s->manager->settings->port_range;
    if (plan->host_port && !address_ports_have(range, plan->host_port))
        return err_set(err, ERR_FORBIDDEN, 0,
                       "host port %u is not one of those for sandboxes, %s (III_PORT_RANGE): choose another hostPort, "
                       "or 0 for a free one",
                       plan->host_port, range);
    int r = tenant_check(p->m, by, QUOTA_PORTS, 1, err);
    if (r == 0)
        r = forward_open(s, plan, &f, err);
    if (r < 0)
        return r;
    rows = rows_of(s);
    JSON_OWNED row = json_pack("{s:i, s:i, s:s}", "containerPort", plan->inner_port, "hostPort", forward_host_port(f),
                               "protocol", protocol);
    (void)json_array_append(rows, row);
    r = sandbox_save(s, err);
    if (r < 0) {
        (void)json_array_remove(rows, json_array_size(rows) - 1);
        return r;
    }
    char key[KEY_MAX];
    key_of(s, row, key);
    map_set(p->open, key, STEAL(f));
    (void)event_log_emit(p->m->events, "port.exposed", s->id, json_deep_copy(row));
    *ret = mapping(p, s, row);
    return 0;
}

json_t *ports_list(struct ports *p, struct sandbox *s)
{
    json_t *list = json_array(), *row;
    size_t i;
    reopen(p, s);
    json_array_foreach(json_object_get(s->extra, EXTRA), i, row)
    {
        (void)json_array_append_new(list, mapping(p, s, row));
    }
    return list;
}

static int not_exposed(const struct sandbox *s, uint16_t inner_port, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, 0, "port not found: %u of %s is not exposed; expose it first", inner_port,
                   s->id);
}

int ports_unexpose(struct ports *p, struct sandbox *s, uint16_t inner_port, struct err *err)
{
    JSON_OWNED before = json_incref(rows_of(s));
    JSON_OWNED kept = json_array();
    JSON_OWNED gone = json_array();
    size_t i;
    json_t *row;
    json_array_foreach(before, i, row)
    {
        (void)json_array_append(is_row(row, inner_port, NULL) ? gone : kept, row);
    }
    if (json_array_size(gone) == 0)
        return not_exposed(s, inner_port, err);
    (void)json_object_set(s->extra, EXTRA, kept);
    int r = sandbox_save(s, err);
    if (r < 0) {
        (void)json_object_set(s->extra, EXTRA, before);
        return r;
    }
    json_array_foreach(gone, i, row)
    {
        close_row(p, s, row);
        (void)event_log_emit(p->m->events, "port.unexposed", s->id, json_deep_copy(row));
    }
    return 0;
}

int ports_need(const struct sandbox *s, uint16_t inner_port, struct err *err)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(s->extra, EXTRA), i, row)
    {
        if (is_row(row, inner_port, "tcp"))
            return 0;
    }
    return not_exposed(s, inner_port, err);
}
