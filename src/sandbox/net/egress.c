/* Theory of operation. A struct egress_redirect belongs to one sandbox: a listening socket and a DNS socket in the
 * sandbox's network namespace, to which the driver redirects all its traffic. It owns its policy, its connections
 * (struct egress_flow) and its DNS queries (struct egress_lookup), and is freed when the sandbox leaves.
 *
 * The destination of a connection is what SO_ORIGINAL_DST says. The names of an address are those that this sandbox
 * resolved through its DNS socket within NAME_MS. So a rule by name applies to addresses that the name has, and a
 * client that speaks TLS or HTTP must also send that name, in each request (egress_flow.c). The host's own addresses
 * are denied like loopback: they lead to services of this host. If the sockets cannot be opened, the sandbox has no
 * egress: it fails closed. */
#include "sandbox/net/egress.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/pace.h"
#include "base/share.h"
#include "os/own_address.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/egress_ceiling.h"
#include "sandbox/net/egress_flow.h"
#include "sandbox/net/egress_lookup.h"
#include "sandbox/observe/event_log.h"

#define RECORDS_A_MIN  30       /* denied connections and names that one sandbox has recorded, and as many at once */
#define EXTRA          "egress" /* in the record: the policy */
#define NAMES_MAX      512      /* answers remembered for one sandbox */
#define NAME_MS        600000   /* … for this long */
#define LOOKUPS_MAX    64       /* queries at the same time */
#define ACCEPTS_A_TURN 16
#define NAMES_OF_ONE   16
#define ADDRESSES_MAX  32
#define FLOWS_SHOWN    100
#define ORIGINAL_DST   80 /* SO_ORIGINAL_DST of <linux/netfilter_ipv4.h>, which does not go with <netinet/in.h> */
#define NO_SUCH_NAME   3
#define TYPE_AAAA      28

struct known_name {
    uint32_t address;
    int64_t until_ms;
    char *name;
};

struct egress_redirect {
    struct egress *e;
    struct sandbox *s; /* borrowed: the redirect is freed when the sandbox leaves */
    char *tenant;
    uint64_t box_number;
    int tcp, dns;
    struct watch *tcp_watch, *dns_watch;
    struct egress_policy *policy;
    struct known_name names[NAMES_MAX];
    size_t next_name;
    struct egress_flow_rate rate;
    struct pace records;
    int64_t n_missed;
    struct egress_flow **flows; /* max_connections slots, NULL when free */
    struct egress_lookup *lookups[LOOKUPS_MAX];
};

struct egress {
    struct manager *m;
    struct egress_ceiling *ceiling;
    struct map *egress_redirects; /* sandbox id -> struct egress_redirect */
    struct share *relays;         /* flows and lookups */
    bool is_short;                /* a sandbox waits for its tenant's share */
    int64_t n_denied;
    void (*on_denied)(void *arg, json_t *what);
    void *denied_arg;
};

/* An open_egress() under way. */
struct opening {
    struct egress *e;
    struct sandbox *s;   /* a reference */
    uint64_t box_number; /* of s when it began: it may have another by then */
    loop_fn *done;
    void *arg;
};

static size_t max_flows(const struct egress *e)
{
    return (size_t)e->m->settings->egress_connections;
}

/* --- records --- */

/* What was denied, as an event: bounded, because code inside can try as often as it likes. Those that were left out are
 * counted in the next one. */
static void record_denied(struct egress_redirect *o, uint32_t address, uint16_t port, const char *name,
                          const char *reason)
{
    o->e->n_denied++;
    if (!pace_take(&o->records, RECORDS_A_MIN, loop_now_ms(o->e->m->loop))) {
        o->n_missed++;
        return;
    }
    struct in_addr in = { .s_addr = htonl(address) };
    char text[INET_ADDRSTRLEN] = "";
    JSON_OWNED data = json_pack("{s:s, s:s, s:s*, s:I}", "sandboxId", o->s->id, "reason", reason, "name", name,
                                "missed", (json_int_t)o->n_missed);
    if (address && inet_ntop(AF_INET, &in, text, sizeof(text))) {
        (void)json_object_set_new(data, "address", json_string(text));
        (void)json_object_set_new(data, "port", json_integer(port));
    }
    o->n_missed = 0;
    if (o->e->on_denied)
        o->e->on_denied(o->e->denied_arg, data);
    (void)event_log_emit(o->e->m->events, EGRESS_DENIED, o->s->id, json_incref(data));
}

/* --- names --- */

static void learn_name(struct egress_redirect *o, uint32_t address, const char *name)
{
    int64_t until = loop_now_ms(o->e->m->loop) + NAME_MS;
    for (size_t i = 0; i < NAMES_MAX; i++) {
        struct known_name *k = &o->names[i];
        if (k->name && k->address == address && strcmp(k->name, name) == 0) {
            k->until_ms = until;
            return;
        }
    }
    struct known_name *k = &o->names[o->next_name++ % NAMES_MAX];
    free(k->name);
    *k = (struct known_name){ .address = address, .until_ms = until, .name = xstrdup(name) };
}

static enum egress_policy_verdict judge_destination(struct egress_redirect *o, uint32_t address, uint16_t port)
{
    const char *names[NAMES_OF_ONE];
    struct egress_policy_target t = { .address = address, .port = port, .names = names };
    int64_t now = loop_now_ms(o->e->m->loop);
    for (size_t i = 0; i < NAMES_MAX && t.n_names < NAMES_OF_ONE; i++)
        if (o->names[i].name && o->names[i].address == address && o->names[i].until_ms >= now)
            names[t.n_names++] = o->names[i].name;
    return egress_ceiling_judge(o->e->ceiling, o->s->tenant, o->policy, &t);
}

/* --- connections --- */

static bool on_name(void *arg, struct egress_flow *f, const char *name)
{
    struct egress_redirect *o = arg;
    const struct egress_flow_plan *plan = egress_flow_plan(f);
    struct egress_policy_target t = { .address = plan->address, .port = plan->port, .names = &name, .n_names = 1 };
    bool is_allowed = egress_ceiling_judge(o->e->ceiling, o->s->tenant, o->policy, &t) != EGRESS_POLICY_DENY;
    if (!is_allowed)
        record_denied(o, plan->address, plan->port, name, "name");
    return is_allowed;
}

static void on_refused(void *arg, struct egress_flow *f, const char *why)
{
    const struct egress_flow_plan *plan = egress_flow_plan(f);
    record_denied(arg, plan->address, plan->port, NULL, why);
}

static bool has_room(const struct egress_redirect *o)
{
    return share_has_room(o->e->relays, "", 1) && share_has_room(o->e->relays, o->tenant, 1);
}

static void drop_flow(struct egress_redirect *o, struct egress_flow **slot)
{
    *slot = egress_flow_free(*slot);
    share_give(o->e->relays, o->tenant, 1);
    if (!o->e->is_short)
        return;
    o->e->is_short = false;
    for (struct map_iter it = map_iter(o->e->egress_redirects); map_next(&it);)
        watch_set(((struct egress_redirect *)it.value)->tcp_watch, LOOP_READ);
}

static void on_flow_done(void *arg, struct egress_flow *f)
{
    struct egress_redirect *o = arg;
    for (size_t i = 0; i < max_flows(o->e); i++)
        if (o->flows[i] == f)
            drop_flow(o, &o->flows[i]);
    watch_set(o->tcp_watch, LOOP_READ);
}

static void reset(int fd)
{
    struct linger hard = { .l_onoff = 1 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* else it is an ordinary close */
    (void)close(fd);                                                  /* nothing was sent */
}

static bool is_gateway(const struct egress_flow_plan *plan)
{
    struct in_addr gateway;
    return inet_pton(AF_INET, EGRESS_GATEWAY, &gateway) == 1 && plan->address == ntohl(gateway.s_addr);
}

static char *closed_reply(unsigned port)
{
    CLEANUP(free_p) char *text = xasprintf(EGRESS_GATEWAY_CLOSED "\n", port, port);
    return xasprintf("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
                     "Connection: close\r\n\r\n%s",
                     strlen(text), text);
}

static void take_connection(struct egress_redirect *o, struct egress_flow **slot, int fd)
{
    static const struct egress_flow_events events = { .on_name = on_name,
                                                      .on_refused = on_refused,
                                                      .on_done = on_flow_done };
    struct sockaddr_in to;
    socklen_t len = sizeof(to);
    if (getsockopt(fd, SOL_IP, ORIGINAL_DST, &to, &len) < 0 || len < sizeof(to) || to.sin_family != AF_INET) {
        reset(fd); /* a process inside connected to the listener itself */
        return;
    }
    struct egress_flow_plan plan = { .client_fd = fd,
                                     .address = ntohl(to.sin_addr.s_addr),
                                     .port = ntohs(to.sin_port),
                                     .rate = &o->rate,
                                     .moved = o->s->relayed,
                                     .opened_at = clock_wall_ms() };
    if (is_gateway(&plan)) { /* services of the host that the operator has opened */
        plan.address = INADDR_LOOPBACK;
        plan.refusal = address_ports_have(o->e->m->settings->gateway_ports, plan.port) ? NULL : closed_reply(plan.port);
        *slot = egress_flow_new(o->e->m->loop, &plan, &events, o);
        return;
    }
    enum egress_policy_verdict v = judge_destination(o, plan.address, plan.port);
    bool is_own = own_address_is((struct sockaddr *)&to);
    if (v == EGRESS_POLICY_DENY || is_own) {
        record_denied(o, plan.address, plan.port, NULL, is_own ? "host" : "policy");
        reset(fd);
        return;
    }
    plan.must_name = v == EGRESS_POLICY_NAMED;
    *slot = egress_flow_new(o->e->m->loop, &plan, &events, o);
}

static void on_connection(void *arg, int events)
{
    struct egress_redirect *o = arg;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        size_t slot = 0;
        while (slot < max_flows(o->e) && o->flows[slot])
            slot++;
        bool is_short = slot < max_flows(o->e) && !has_room(o);
        if (slot == max_flows(o->e) || is_short) {
            o->e->is_short |= is_short;
            watch_set(o->tcp_watch, 0); /* the others wait in the backlog until one ends */
            return;
        }
        int fd = accept4(o->tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        take_connection(o, &o->flows[slot], fd);
        if (o->flows[slot])
            share_add(o->e->relays, o->tenant, 1);
    }
}

/* --- lookups --- */

static void send_reply(struct egress_redirect *o, const void *reply, size_t len, const struct sockaddr_in *to)
{
    o->s->relayed[1] += len;
    (void)sendto(o->dns, reply, len, MSG_NOSIGNAL, (const struct sockaddr *)to, sizeof(*to)); /* it asks again */
}

static void on_answer(void *arg, struct egress_lookup *k, uint8_t *reply, size_t len)
{
    struct egress_redirect *o = arg;
    const struct sockaddr_in *from = egress_lookup_from(k);
    struct egress_parse_question q;
    uint32_t addresses[ADDRESSES_MAX];
    if (reply && egress_parse_parse(reply, len, true, &q) == 0) {
        size_t n = egress_parse_addresses(reply, len, &q, addresses, ADDRESSES_MAX);
        for (size_t i = 0; i < n; i++)
            learn_name(o, addresses[i], q.name);
        send_reply(o, reply, len, from);
    }
    for (size_t i = 0; i < LOOKUPS_MAX; i++)
        if (o->lookups[i] == k)
            o->lookups[i] = NULL;
    egress_lookup_free(k);
    share_give(o->e->relays, o->tenant, 1);
}

static void answer_query(struct egress_redirect *o, uint8_t *msg, size_t len, const struct sockaddr_in *from)
{
    struct egress_parse_question q;
    struct sockaddr_in server;
    size_t slot = 0;
    if (egress_parse_parse(msg, len, false, &q) < 0)
        return;
    bool may_resolve = egress_ceiling_may_resolve(o->e->ceiling, o->s->tenant, o->policy, q.name);
    if (!may_resolve)
        record_denied(o, 0, 0, q.name, "lookup");
    if (!may_resolve ||
        q.type == TYPE_AAAA) { /* there is no IPv6 egress: its addresses would only cost the client time */
        len = egress_parse_refuse(msg, &q, may_resolve ? 0 : NO_SUCH_NAME);
        send_reply(o, msg, len, from);
        return;
    }
    while (slot < LOOKUPS_MAX && o->lookups[slot])
        slot++;
    if (slot == LOOKUPS_MAX || !has_room(o) || egress_lookup_server(o->e->m->settings->egress_dns, &server) < 0)
        return;
    o->lookups[slot] = egress_lookup_new(o->e->m->loop, &server, msg, len, on_answer, o);
    if (!o->lookups[slot])
        return;
    share_add(o->e->relays, o->tenant, 1);
    egress_lookup_set_from(o->lookups[slot], from);
}

static void on_query(void *arg, int events)
{
    struct egress_redirect *o = arg;
    (void)events;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        uint8_t msg[EGRESS_PARSE_MAX];
        struct sockaddr_in from;
        socklen_t from_len = sizeof(from);
        ssize_t n = recvfrom(o->dns, msg, sizeof(msg), 0, (struct sockaddr *)&from, &from_len);
        if (n < 0)
            return;
        o->s->relayed[0] += (uint64_t)n;
        answer_query(o, msg, (size_t)n, &from);
    }
}

/* --- redirects --- */

static struct egress_redirect *egress_redirect_free(struct egress_redirect *o)
{
    if (!o)
        return NULL;
    watch_free(o->tcp_watch);
    watch_free(o->dns_watch);
    for (size_t i = 0; o->flows && i < max_flows(o->e); i++)
        if (o->flows[i])
            drop_flow(o, &o->flows[i]);
    for (size_t i = 0; i < LOOKUPS_MAX; i++) {
        share_give(o->e->relays, o->tenant, o->lookups[i] != NULL);
        egress_lookup_free(o->lookups[i]);
    }
    for (size_t i = 0; i < NAMES_MAX; i++)
        free(o->names[i].name);
    free(o->flows);
    egress_policy_free(o->policy);
    (void)close(o->tcp); /* what waits in it is reset */
    (void)close(o->dns);
    free(o->tenant);
    free(o);
    return NULL;
}

static void close_egress_redirect(struct egress *e, const char *sid)
{
    egress_redirect_free(map_remove(e->egress_redirects, sid));
}

/* A child may do no more than its parent: it starts with the parent's policy. */
static void inherit(struct sandbox *s)
{
    const struct sandbox *parent = s->parent_id ? map_get(s->manager->sandboxes, s->parent_id) : NULL;
    json_t *policy = parent ? json_object_get(parent->extra, EXTRA) : NULL;
    struct err err = ERR_INIT;
    if (!policy || json_object_get(s->extra, EXTRA))
        return;
    (void)json_object_set_new(s->extra, EXTRA, json_deep_copy(policy));
    if (map_get(s->manager->sandboxes, s->id) == s && sandbox_save(s, &err) < 0) /* else its create stores it */
        log_event(LOG_WARN, "egress.inherit", "id", s->id, "error", err.msg, NULL);
}

/* Both descriptors are ours. */
static void on_opened(void *arg, int tcp, int dns, const struct err *err)
{
    struct opening *w = arg;
    struct egress *e = w->e;
    struct err why = ERR_INIT;
    if (!err && (w->s->is_gone || w->s->box_number != w->box_number || !w->s->box)) {
        (void)close(tcp); /* the box has ended */
        (void)close(dns);
    } else if (!err) {
        struct egress_redirect *o = xzalloc(sizeof(*o));
        *o = (struct egress_redirect){ .e = e, .s = w->s, .box_number = w->box_number, .tcp = tcp, .dns = dns };
        o->tenant = xstrdup(w->s->tenant);
        o->rate.bytes_per_s = (int64_t)limits_net_kbps(&w->s->config) * 125;
        o->flows = xzalloc(max_flows(e) * sizeof(struct egress_flow *));
        inherit(w->s);
        int r = egress_policy_new(json_object_get(w->s->extra, EXTRA), &o->policy, &why);
        if (r == 0)
            r = watch_new(e->m->loop, tcp, LOOP_READ, on_connection, o, &o->tcp_watch);
        if (r == 0)
            r = watch_new(e->m->loop, dns, LOOP_READ, on_query, o, &o->dns_watch);
        if (r == 0) {
            close_egress_redirect(e, w->s->id);
            map_set(e->egress_redirects, w->s->id, o);
        } else {
            egress_redirect_free(o);
            err = &why;
        }
    }
    if (err)
        log_event(LOG_WARN, "egress.open", "id", w->s->id, "error", err->msg, NULL);
    if (w->done)
        w->done(w->arg);
    sandbox_unref(w->s);
    free(w);
}

static bool has_egress(struct runtime *rt)
{
    return rt->ops->open_egress && rt->ops->caps(rt).can_egress;
}

bool egress_open(struct egress *e, struct sandbox *s, loop_fn *done, void *arg)
{
    const struct runtime_ops *ops = s->runtime->ops;
    if (!s->config.has_network || !has_egress(s->runtime) || !s->box)
        return false;
    struct opening *w = xzalloc(sizeof(*w));
    *w = (struct opening){ .e = e, .s = sandbox_ref(s), .box_number = s->box_number, .done = done, .arg = arg };
    ops->open_egress(s->box, on_opened, w);
    return true;
}

/* Adopted or restored: a create or a start has opened it before. */
static void on_enter(void *arg, struct sandbox *s)
{
    struct egress *e = arg;
    const struct egress_redirect *o = map_get(e->egress_redirects, s->id);
    if (!o || o->box_number != s->box_number)
        (void)egress_open(e, s, NULL, NULL); /* false: it has no network */
}

static void on_leave(void *arg, struct sandbox *s)
{
    close_egress_redirect(arg, s->id);
}

struct egress *egress_new(struct manager *m)
{
    struct egress *e = xzalloc(sizeof(*e));
    struct sockaddr_in server;
    e->m = m;
    if (egress_lookup_server(m->settings->egress_dns, &server) < 0)
        log_event(LOG_WARN, "egress.dns", "error",
                  *m->settings->egress_dns
                      ? "III_EGRESS_DNS is not ADDRESS or ADDRESS:PORT: sandboxes get no DNS"
                      : "no IPv4 nameserver in /etc/resolv.conf: sandboxes get no DNS (set III_EGRESS_DNS)",
                  NULL);
    (void)egress_ceiling_new(m->settings->egress_ceiling, &e->ceiling, NULL); /* manager_new() has checked it */
    assert(e->ceiling);
    e->egress_redirects = map_new();
    e->relays = share_new(limits_relays(m->settings));
    manager_on_enter(m, on_enter, e);
    manager_on_sleep(m, on_leave, e);
    manager_on_leave(m, on_leave, e);
    return e;
}

struct egress *egress_free(struct egress *e)
{
    if (!e)
        return NULL;
    for (struct map_iter it = map_iter(e->egress_redirects); map_next(&it);)
        close_egress_redirect(e, it.key);
    map_free(e->egress_redirects);
    share_free(e->relays);
    egress_ceiling_free(e->ceiling);
    free(e);
    return NULL;
}

void egress_on_denied(struct egress *e, void (*fn)(void *arg, json_t *what), void *arg)
{
    e->on_denied = fn;
    e->denied_arg = arg;
}

int64_t egress_denied(const struct egress *e)
{
    return e->n_denied;
}

/* --- the policy --- */

int egress_check(const struct sandbox *s, struct err *err)
{
    return has_egress(s->runtime) ? 0 : runtime_cannot(s->runtime, "egress", "hold a policy", err);
}

/* A name that the sandbox has looked up and that has this address; NULL: none. */
static const char *name_of(const struct egress_redirect *o, uint32_t address)
{
    for (size_t i = 0; i < NAMES_MAX; i++)
        if (o->names[i].name && o->names[i].address == address)
            return o->names[i].name;
    return NULL;
}

static json_t *flow_json(const struct egress_redirect *o, const struct egress_flow *f)
{
    const struct egress_flow_plan *plan = egress_flow_plan(f);
    struct in_addr in = { .s_addr = htonl(plan->address) };
    char text[INET_ADDRSTRLEN] = "";
    (void)inet_ntop(AF_INET, &in, text, sizeof(text));
    return json_pack("{s:s, s:i, s:s*, s:I}", "address", plan->address == INADDR_LOOPBACK ? EGRESS_GATEWAY : text,
                     "port", plan->port, "name", name_of(o, plan->address), "openedAt", (json_int_t)plan->opened_at);
}

json_t *egress_json(struct egress *e, const struct sandbox *s)
{
    struct egress_policy *own = NULL;
    const struct egress_redirect *o = map_get(e->egress_redirects, s->id);
    json_t *flows = json_array();
    size_t open = 0;
    if (!o && egress_policy_new(json_object_get(s->extra, EXTRA), &own, NULL) < 0) {
        json_decref(flows);
        return json_object(); /* what was stored was checked before */
    }
    json_t *j = json_deep_copy((json_t *)(uintptr_t)egress_policy_json(o ? o->policy : own));
    for (size_t i = 0; o && i < max_flows(e); i++)
        if (o->flows[i] && open++ < FLOWS_SHOWN)
            (void)json_array_append_new(flows, flow_json(o, o->flows[i]));
    (void)json_object_set_new(j, "active", json_boolean(o != NULL));
    (void)json_object_set_new(j, "connections", json_integer((json_int_t)open));
    (void)json_object_set_new(j, "flows", flows);
    egress_policy_free(own);
    return j;
}

int egress_set(struct egress *e, struct sandbox *s, const json_t *policy, struct err *err)
{
    CLEANUP(egress_policy_free_p) struct egress_policy *p = NULL;
    struct egress_redirect *o = map_get(e->egress_redirects, s->id);
    if (egress_check(s, err) < 0)
        return -ENOTSUP;
    if (!s->config.has_network)
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s has no network: create it with \"network\": true", s->id);
    int r = egress_policy_new(policy, &p, err);
    if (r < 0)
        return r;
    JSON_OWNED former = json_incref(json_object_get(s->extra, EXTRA));
    (void)json_object_set(s->extra, EXTRA, (json_t *)(uintptr_t)egress_policy_json(p));
    r = sandbox_save(s, err);
    if (r < 0) {
        if (former)
            (void)json_object_set(s->extra, EXTRA, former);
        else
            (void)json_object_del(s->extra, EXTRA);
        return r;
    }
    if (o) {
        egress_policy_free(o->policy);
        o->policy = STEAL(p);
        for (size_t i = 0; i < max_flows(e); i++) {
            const struct egress_flow_plan *plan = o->flows[i] ? egress_flow_plan(o->flows[i]) : NULL;
            if (plan && judge_destination(o, plan->address, plan->port) == EGRESS_POLICY_DENY)
                drop_flow(o, &o->flows[i]);
        }
        watch_set(o->tcp_watch, LOOP_READ); /* there may be room again */
    }
    return 0;
}
