/* Theory of operation. A network has a number, which determines its /24, and members with an address in it. Records
 * are in the store; the driver owns bridges and veth pairs.
 *
 * A connect reserves its address first, so that no two members get the same. Then the driver creates the veth pair,
 * the record is stored, and the names are written into every member's /etc/hosts. A failure at any step releases the
 * address. veth pairs end with the driver's process, so they are created again for each sandbox that is adopted. The
 * driver processes requests in order: a later request sees the result of an earlier one. */
#include "sandbox/net/networks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/map.h"
#include "sandbox/lifecycle/limits.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/hosts.h"

#define SCOPE        "network"
#define PREFIX       24
#define RANGE        0x0a400000u /* 10.64.0.0/10: one /24 for each network */
#define PLACE_LOW    2u
#define SUBNET_TRIES 64
#define PLACE_HIGH   (PLACE_LOW + LIMIT_MAX(NETWORK_MEMBERS) - 1)

struct network {
    char id[IDENT_MAX];
    char *name, *tenant;
    uint32_t subnet;
    int64_t created_at;
    json_t *members;  /* sandbox id -> place in the /24, in order of connection */
    json_t *changing; /* the ids of those that are being connected or disconnected: nothing else does so meanwhile */
    bool is_deleting; /* being deleted: no sandbox may connect any more */
    unsigned n_cuts;  /* deletes that were started: each disconnects all members */
};

struct networks {
    struct manager *m;
    struct map *by_id;
};

/* One request under way. */
struct network_change {
    struct networks *n;
    char id[IDENT_MAX];
    struct sandbox *s;   /* a reference, or NULL */
    uint64_t box_number; /* of s when the driver was asked: it may have another by then, or none */
    networks_done_fn *fn;
    networks_record_fn *on_record;
    void *arg;
    unsigned pending; /* members whose names are being written */
    unsigned n_tries;
    unsigned n_cuts; /* of the network when a connect began */
};

static struct network *network_free(struct network *net)
{
    if (!net)
        return NULL;
    free(net->name);
    free(net->tenant);
    json_decref(net->members);
    json_decref(net->changing);
    free(net);
    return NULL;
}
DEFINE_CLEANUP(struct network *, network_free)

static json_t *public_record(const struct network *net)
{
    CLEANUP(free_p) char *compat = xasprintf("iii-net-%s", net->id);
    json_t *ids = json_array();
    const char *sid;
    json_t *place;
    json_object_foreach(net->members, sid, place)
    {
        (void)json_array_append_new(ids, json_string(sid));
    }
    json_t *rec = json_pack("{s:s, s:s, s:s, s:o, s:I}", "id", net->id, "name", net->name, "dockerNetworkId", compat,
                            "sandboxes", ids, "createdAt", (json_int_t)net->created_at);
    if (*net->tenant)
        (void)json_object_set_new(rec, "tenant", json_string(net->tenant));
    return rec;
}

static int save_network(struct networks *n, const struct network *net, struct err *err)
{
    JSON_OWNED rec = public_record(net);
    (void)json_object_set_new(rec, "internal",
                              json_pack("{s:I, s:O}", "subnet", (json_int_t)net->subnet, "members", net->members));
    return store_put(n->m->store, SCOPE, net->id, rec, err);
}

static void save_or_log(struct networks *n, const struct network *net)
{
    struct err err = ERR_INIT;
    if (save_network(n, net, &err) < 0)
        log_event(LOG_WARN, "network.save", "id", net->id, "error", err.msg, NULL);
}

/* sid NULL: of the network itself. */
static struct box_plug plug_of(const struct network *net, const char *sid)
{
    uint32_t place = sid ? (uint32_t)json_get_int(net->members, sid, 0) : 0;
    return (struct box_plug){
        .net_id = net->id, .subnet = net->subnet, .address = RANGE + (net->subnet << 8) + place, .prefix = PREFIX
    };
}

static struct network *find_network(struct networks *n, const char *id, struct err *err)
{
    struct network *net = map_get(n->by_id, id);
    if (!net)
        (void)err_set(err, ERR_NOT_FOUND, 0, "network not found: %.64s", id);
    return net;
}

/* A network that is not being deleted. */
static struct network *find_kept(struct networks *n, const char *id, struct err *err)
{
    struct network *net = find_network(n, id, err);
    if (!net || !net->is_deleting)
        return net;
    (void)err_set(err, ERR_CONFLICT, 0, "network %.100s is being deleted", net->name);
    return NULL;
}

/* Members that were lost while the server was down. */
static void prune(struct networks *n, struct network *net)
{
    const char *sid;
    json_t *place;
    void *next;
    bool has_changed = false;
    json_object_foreach_safe(net->members, next, sid, place)
    {
        if (map_get(n->m->sandboxes, sid))
            continue;
        (void)json_object_del(net->members, sid);
        has_changed = true;
    }
    if (has_changed)
        save_or_log(n, net);
}

/* --- names --- */

static void write_lines(void *arg, const struct sandbox *s, struct buf *out)
{
    struct networks *n = arg;
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);) {
        const struct network *net = it.value;
        const char *sid;
        json_t *place;
        if (!json_get(net->members, s->id))
            continue;
        json_object_foreach(net->members, sid, place)
        {
            const struct sandbox *other = map_get(n->m->sandboxes, sid);
            if (!other)
                continue;
            uint32_t a = plug_of(net, sid).address;
            bool has_name = hosts_is_name(other->name) && strcmp(other->name, sid) != 0;
            (void)buf_addf(out, "%u.%u.%u.%u\t%s%s%s\n", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255, sid,
                           has_name ? " " : "", has_name ? other->name : ""); /* past the maximum a name is missing */
        }
    }
}

static void change_finish(struct network_change *c, const struct err *err)
{
    c->fn(c->arg, err);
    sandbox_unref(c->s);
    free(c);
}

static void on_named(void *arg, const struct err *err)
{
    struct network_change *c = arg;
    if (err)
        log_event(LOG_WARN, "network.names", "id", c->id, "error", err->msg, NULL);
    if (--c->pending == 0)
        change_finish(c, NULL);
}

static void on_named_unwatched(void *arg, const struct err *err)
{
    (void)arg;
    if (err && err->code != ERR_GONE)
        log_event(LOG_DEBUG, "network.names", "error", err->msg, NULL);
}

/* c NULL: no caller waits. A paused sandbox writes when it runs again, so it is not waited for either. */
static void rename_one(struct networks *n, struct sandbox *s, struct network_change *c)
{
    bool is_watched = c && s->status == SANDBOX_RUNNING;
    struct hosts_plan plan = {
        .lines = write_lines, .lines_arg = n, .done = is_watched ? on_named : on_named_unwatched, .done_arg = c
    };
    if (!s->is_gone && hosts_update(s, &plan) == 0 && is_watched)
        c->pending++;
}

static void rename_members(struct networks *n, const json_t *members, struct network_change *c)
{
    const char *sid;
    json_t *place;
    json_object_foreach((json_t *)(uintptr_t)members, sid, place)
    {
        struct sandbox *s = map_get(n->m->sandboxes, sid);
        if (s)
            rename_one(n, s, c);
    }
}

/* --- sandboxes that come and go --- */

static void on_rejoined(void *arg, const struct err *err)
{
    (void)arg;
    if (err)
        log_event(LOG_WARN, "network.rejoin", "error", err->msg, NULL);
}

static void on_enter(void *arg, struct sandbox *s)
{
    struct networks *n = arg;
    const struct runtime_ops *ops = n->m->runtime->ops;
    bool is_member = false;
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);) {
        struct network *net = it.value;
        if (!s->box || s->runtime != n->m->runtime || !json_get(net->members, s->id) || net->is_deleting ||
            json_get(net->changing, s->id))
            continue;
        struct box_plug plug = plug_of(net, s->id), whole = plug_of(net, NULL);
        plug.kbps = limits_net_kbps(&s->config);
        ops->net_create(n->m->runtime, &whole, on_rejoined, NULL);
        ops->net_attach(s->box, &plug, on_rejoined, NULL);
        is_member = true;
    }
    if (is_member)
        rename_one(n, s, NULL);
}

void networks_rejoin(struct networks *n, struct sandbox *s)
{
    if (n->m->runtime->ops->net_create)
        on_enter(n, s);
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct networks *n = arg;
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);) {
        struct network *net = it.value;
        if (!json_get(net->members, s->id))
            continue;
        (void)json_object_del(net->members, s->id);
        save_or_log(n, net);
        rename_members(n, net->members, NULL);
    }
}

/* --- begin and end --- */

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct networks *n = arg;
    const json_t *internal = json_get(doc, "internal");
    int64_t subnet = json_get_int(internal, "subnet", -1);
    if (!ident_is("net", key) || subnet < 0 || subnet >= (int64_t)RUNTIME_SUBNETS)
        return true;
    struct network *net = xzalloc(sizeof(*net));
    snprintf(net->id, sizeof(net->id), "%s", key);
    net->name = xstrdup(json_get_str(doc, "name", ""));
    net->tenant = xstrdup(json_get_str(doc, "tenant", ""));
    net->subnet = (uint32_t)subnet;
    net->created_at = json_get_int(doc, "createdAt", 0);
    net->members =
        json_is_object(json_get(internal, "members")) ? json_incref(json_get(internal, "members")) : json_object();
    net->changing = json_object();
    map_set(n->by_id, net->id, net);
    return true;
}

int networks_new(struct manager *m, struct networks **ret, struct err *err)
{
    struct networks *n = xzalloc(sizeof(*n));
    n->m = m;
    n->by_id = map_new();
    int r = store_each(m->store, SCOPE, false, load_one, n, err);
    if (r < 0) {
        networks_free(n);
        return err_wrap(err, r, "networks");
    }
    if (m->runtime && m->runtime->ops->net_create) {
        manager_on_enter(m, on_enter, n);
        manager_on_leave(m, on_leave, n);
    }
    *ret = n;
    return 0;
}

struct networks *networks_free(struct networks *n)
{
    if (!n)
        return NULL;
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);)
        network_free(it.value);
    map_free(n->by_id);
    free(n);
    return NULL;
}

const char *networks_owner(const struct networks *n, const char *id)
{
    const struct network *net = map_get(n->by_id, id);
    return net ? net->tenant : NULL;
}

json_t *networks_list(struct networks *n, const struct tenant_by *by)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);) {
        prune(n, it.value);
        if (tenant_sees(by, ((struct network *)it.value)->tenant))
            (void)json_array_append_new(list, public_record(it.value));
    }
    return list;
}

static struct network_change *change_begin(struct networks *n, const char *id, struct sandbox *s, void *arg)
{
    struct network_change *c = xzalloc(sizeof(*c));
    c->n = n;
    snprintf(c->id, sizeof(c->id), "%s", id);
    c->s = s ? sandbox_ref(s) : NULL;
    c->box_number = s ? s->box_number : 0;
    c->arg = arg;
    return c;
}

/* --- create --- */

static int64_t free_subnet(const struct networks *n, uint32_t from)
{
    for (uint32_t number = from; number < RUNTIME_SUBNETS; number++) {
        bool is_taken = false;
        for (struct map_iter it = map_iter(n->by_id); !is_taken && map_next(&it);)
            is_taken = ((struct network *)it.value)->subnet == number;
        if (!is_taken)
            return number;
    }
    return -1;
}

static int check_new(const struct networks *n, const struct tenant_by *by, const char *name, struct err *err)
{
    const struct runtime_ops *ops = n->m->runtime->ops;
    long long most = n->m->settings->max_networks;
    if (!ops->net_create || (runtime_lack(n->m->runtime, "network") && !ops->caps(n->m->runtime).can_network))
        return runtime_cannot(n->m->runtime, "network", "connect sandboxes", err);
    for (struct map_iter it = map_iter(n->by_id); map_next(&it);)
        if (strcmp(((struct network *)it.value)->name, name) == 0 &&
            strcmp(((struct network *)it.value)->tenant, tenant_of(by)) == 0)
            return err_set(err, ERR_CONFLICT, 0, "a network called \"%.100s\" already exists", name);
    if ((long long)map_count(n->by_id) >= most || free_subnet(n, 0) < 0)
        return err_set(err, ERR_CAPACITY, 0, "network limit reached (%lld): delete one, or raise III_MAX_NETWORKS",
                       most);
    return 0;
}

static void on_created(void *arg, const struct err *err)
{
    struct network_change *c = arg;
    struct networks *n = c->n;
    struct err why = ERR_INIT;
    struct network *net = map_get(n->by_id, c->id);
    int64_t other = net && err && err->code == ERR_CONFLICT && c->n_tries++ < SUBNET_TRIES
                        ? free_subnet(n, net->subnet + 1)
                        : -1; /* other programs use the host's networks, too */
    if (other >= 0) {
        net->subnet = (uint32_t)other;
        struct box_plug whole = plug_of(net, NULL);
        n->m->runtime->ops->net_create(n->m->runtime, &whole, on_created, c);
        return;
    }
    if (!net) {
        (void)err_set(&why, ERR_NOT_FOUND, 0, "network %s was deleted while it was created", c->id);
        c->on_record(c->arg, NULL, &why);
    } else if (err || save_network(n, net, &why) < 0) {
        network_free(map_remove(n->by_id, c->id));
        c->on_record(c->arg, NULL, err ? err : &why);
    } else {
        JSON_OWNED rec = public_record(net);
        c->on_record(c->arg, rec, NULL);
    }
    free(c);
}

void networks_create(struct networks *n, const struct tenant_by *by, const char *name, networks_record_fn *fn,
                     void *arg)
{
    struct err err = ERR_INIT;
    if (check_new(n, by, name, &err) < 0) {
        fn(arg, NULL, &err);
        return;
    }
    struct network *net = xzalloc(sizeof(*net));
    ident_new("net", net->id);
    net->name = xstrdup(name);
    net->tenant = xstrdup(tenant_of(by));
    net->subnet = (uint32_t)free_subnet(n, 0);
    net->created_at = clock_wall_ms();
    net->members = json_object();
    net->changing = json_object();
    map_set(n->by_id, net->id, net); /* reserves name and number */
    struct network_change *c = change_begin(n, net->id, NULL, arg);
    c->on_record = fn;
    struct box_plug whole = plug_of(net, NULL);
    n->m->runtime->ops->net_create(n->m->runtime, &whole, on_created, c);
}

/* --- connect --- */

static int take_place(struct networks *n, struct network *net, const struct sandbox *s, struct err *err)
{
    long long most = n->m->settings->max_network_members;
    prune(n, net);
    if (json_get(net->members, s->id))
        return err_set(err, ERR_CONFLICT, 0, "sandbox %s is already connected to network %.100s", s->id, net->name);
    uint32_t place = 0;
    for (uint32_t at = PLACE_LOW; at <= PLACE_HIGH && !place; at++) {
        const char *sid;
        json_t *taken;
        bool is_taken = false;
        json_object_foreach(net->members, sid, taken) is_taken |= json_integer_value(taken) == (json_int_t)at;
        place = is_taken ? 0 : at;
    }
    if ((long long)json_object_size(net->members) >= most || place == 0)
        return err_set(err, ERR_CAPACITY, 0,
                       "network %.100s: limit of %zu members reached: disconnect one, or raise III_MAX_NETWORK_MEMBERS",
                       net->name, json_object_size(net->members));
    (void)json_object_set_new(net->members, s->id, json_integer((json_int_t)place));
    return 0;
}

static bool is_moved(const struct network_change *c)
{
    return !c->s->is_gone && (c->s->box_number != c->box_number || !c->s->box);
}

static void on_connected(void *arg, const struct err *err)
{
    struct network_change *c = arg;
    struct networks *n = c->n;
    struct err why = ERR_INIT;
    struct network *net = find_network(n, c->id, &why);
    if (net)
        (void)json_object_del(net->changing, c->s->id);
    if (net && !err && c->s->is_gone)
        (void)err_set(&why, ERR_NOT_FOUND, 0, "sandbox not found: %s", c->s->id);
    if (net && !err && why.code == ERR_NONE)
        (void)save_network(n, net, &why);
    if (err || why.code != ERR_NONE) {
        if (net)
            (void)json_object_del(net->members, c->s->id);
        change_finish(c, err ? err : &why);
        return;
    }
    if (is_moved(c) || c->n_cuts != net->n_cuts)
        networks_rejoin(n, c->s); /* a restore left it out, or a delete that failed cut it off */
    c->pending = 1;               /* ours, so that no early answer finishes it */
    rename_members(n, net->members, c);
    on_named(c, NULL);
}

void networks_connect(struct networks *n, const char *id, struct sandbox *s, networks_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct network *net = find_kept(n, id, &err);
    const struct runtime_ops *ops = n->m->runtime->ops;
    if (net && (!ops->net_attach || s->runtime != n->m->runtime))
        (void)err_set(
            &err, ERR_UNSUPPORTED, 0,
            "the %s backend cannot connect sandboxes here: networks are those of the server's own backend, %s",
            s->runtime->ops->name, ops->name);
    if (!net || !ops->net_attach || s->runtime != n->m->runtime || take_place(n, net, s, &err) < 0) {
        fn(arg, &err);
        return;
    }
    struct network_change *c = change_begin(n, net->id, s, arg);
    struct box_plug plug = plug_of(net, s->id), whole = plug_of(net, NULL);
    plug.kbps = limits_net_kbps(&s->config);
    c->fn = fn;
    c->n_cuts = net->n_cuts;
    (void)json_object_set_new(net->changing, s->id, json_true());
    ops->net_create(n->m->runtime, &whole, NULL,
                    NULL); /* there already, unless the server was restarted; else attach fails */
    ops->net_attach(s->box, &plug, on_connected, c);
}

/* --- disconnect, delete --- */

static void on_disconnected(void *arg, const struct err *err)
{
    struct network_change *c = arg;
    struct network *net = map_get(c->n->by_id, c->id);
    struct err why = ERR_INIT;
    if (net)
        (void)json_object_del(net->changing, c->s->id);
    if (err && !c->s->is_gone) {
        if (is_moved(c)) /* it stays a member, and the restore left it out */
            networks_rejoin(c->n, c->s);
        change_finish(c, err);
        return;
    }
    if (net) {
        (void)json_object_del(net->members, c->s->id); /* gone already is fine */
        if (save_network(c->n, net, &why) < 0) {
            change_finish(c, &why);
            return;
        }
    }
    c->pending = 1;
    rename_one(c->n, c->s, c);
    if (net)
        rename_members(c->n, net->members, c);
    on_named(c, NULL);
}

void networks_disconnect(struct networks *n, const char *id, struct sandbox *s, networks_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct network *net = find_kept(n, id, &err);
    if (net && !json_get(net->members, s->id))
        (void)err_set(&err, ERR_CONFLICT, 0, "sandbox %s is not connected to network %.100s", s->id, net->name);
    else if (net && json_get(net->changing, s->id))
        (void)err_set(&err, ERR_CONFLICT, 0,
                      "sandbox %s is being connected to network %.100s, or disconnected from it: try again", s->id,
                      net->name);
    if (err.code != ERR_NONE) {
        fn(arg, &err);
        return;
    }
    struct network_change *c = change_begin(n, net->id, s, arg);
    struct box_plug plug = plug_of(net, s->id);
    c->fn = fn;
    (void)json_object_set_new(net->changing, s->id, json_true());
    if (s->box)
        n->m->runtime->ops->net_detach(s->box, &plug, on_disconnected, c);
    else
        on_disconnected(c, NULL);
}

static void on_deleted(void *arg, const struct err *err)
{
    struct network_change *c = arg;
    struct err why = ERR_INIT;
    if (!err && store_delete(c->n->m->store, SCOPE, c->id, &why) < 0)
        err = &why;
    if (err) { /* its members were disconnected before: connects them again */
        struct network *kept = map_get(c->n->by_id, c->id);
        const char *sid;
        json_t *place;
        kept->is_deleting = false;
        json_object_foreach(kept->members, sid, place)
        {
            struct sandbox *s = map_get(c->n->m->sandboxes, sid);
            if (s)
                networks_rejoin(c->n, s);
        }
        change_finish(c, err);
        return;
    }
    CLEANUP(network_free_p) struct network *net = map_remove(c->n->by_id, c->id);
    c->pending = 1;
    if (net)
        rename_members(c->n, net->members, c);
    on_named(c, NULL);
}

void networks_delete(struct networks *n, const char *id, networks_done_fn *fn, void *arg)
{
    struct err err = ERR_INIT;
    struct network *net = find_kept(n, id, &err);
    const struct runtime_ops *ops = n->m->runtime->ops;
    const char *sid;
    json_t *place;
    if (!net) {
        fn(arg, &err);
        return;
    }
    struct network_change *c = change_begin(n, net->id, NULL, arg);
    c->fn = fn;
    net->is_deleting = true;
    net->n_cuts++;
    json_object_foreach(net->members, sid, place)
    {
        struct sandbox *s = map_get(n->m->sandboxes, sid);
        struct box_plug plug = plug_of(net, sid);
        if (s && s->box)
            ops->net_detach(s->box, &plug, NULL, NULL); /* the kernel is slow to remove a namespace */
    }
    if (ops->net_delete)
        ops->net_delete(n->m->runtime, net->id, on_deleted, c);
    else
        on_deleted(c, NULL);
}
