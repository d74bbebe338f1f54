/* Seeded simulation: a thousand random operations on the real rules over the fake backend, with failures, delays,
 * deaths, time and restarts between them, compared with a model.
 *
 *   test_simulation                 the seeds of the suite
 *   test_simulation --seed N        one of them, with its whole log
 *   test_simulation --seeds N --ops N --from N
 *
 * Theory of operation. Each seed is a process of its own, so that one that crashes is a failed seed. Operations are
 * begun at random times and overlap; each answer changes the model. Now and then the simulation waits until nothing is
 * under way and compares: store, manager, driver, disk and model have to agree. An answer that comes twice or never, a
 * sandbox that goes without a cause, an error that nothing explains is a failure, too.
 *
 * What an operation without an answer did (a crash) is unknown: the model takes then what it finds, if it is one of the
 * things that may have become of it. Files are compared by a number that each write increases. */
#include <sys/wait.h>

#include "sandbox/exec/command.h"
#include "sandbox/fake/fakerig.h"
#include "sandbox/fake/simcompare.h"
#include "sandbox/fake/simmodel.h"

#define SETTLE_EACH 25 /* operations between two comparisons, on average */

/* --- answers --- */

static struct op *op_new(enum kind kind)
{
    struct op *o = xzalloc(sizeof(*o));
    *o = (struct op){ .next = ops, .kind = kind, .step = step, .injected = n_injected, .tenant = "" };
    ops = o;
    g.n_waiting++;
    return o;
}

/* It stays allocated, so that a second answer is seen. */
static void op_end(struct op *o)
{
    for (struct op **at = &ops; *at; at = &(*at)->next)
        if (*at == o) {
            *at = o->next;
            break;
        }
    o->is_answered = true;
    g.n_waiting--;
}

/* true: it went well. */
static bool answered(struct op *o, const struct err *err)
{
    if (o->is_answered || o->is_cancelled)
        fail("%s of operation %u was answered %s", kinds[o->kind].name, o->step,
             o->is_cancelled ? "after it was cancelled" : "twice");
    note("  -> %s of %u: %s", kinds[o->kind].name, o->step, err ? err->msg : "done");
    bool is_explained = !err || err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND || err->code == ERR_CAPACITY ||
                        err->code == ERR_RATE_LIMITED || err->code == ERR_GONE || err->code == ERR_TOO_LARGE ||
                        err->sys == EPIPE || n_injected > o->injected;
    if (!is_explained)
        fail("%s of operation %u failed, and nothing explains it: %s", kinds[o->kind].name, o->step, err->msg);
    op_end(o);
    return !err;
}

static void on_created(void *arg, struct sandbox *s, const struct err *err)
{
    struct op *o = arg;
    if (!answered(o, err))
        return;
    int64_t number = file_number(s);
    if (o->kind == OP_SNAPSHOT_CLONE) {
        const struct model_snapshot *x = map_get(snapshots, o->other_id); /* NULL: deleted meanwhile */
        if (x && number != x->number && x->number != UNKNOWN && (number < x->from || number >= x->to))
            fail("clone %s of snapshot %s has file %lld, not %lld", s->id, o->other_id, (long long)number,
                 (long long)x->number);
    } else if (number != 0) {
        fail("new sandbox %s has file %lld", s->id, (long long)number);
    }
    if (map_get(g.manager->sandboxes, s->id) != s)
        fail("sandbox %s was acknowledged and is not there", s->id);
    (void)model_add(s, number);
    n_made++;
}

static void on_forked(void *arg, struct sandbox *const *children, size_t n, const struct err *err)
{
    struct op *o = arg;
    if (!answered(o, err))
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t number = children[i]->is_gone ? 0 : file_number(children[i]);
        n_made++;
        if (children[i]->is_gone)
            continue;
        if (number != o->number && o->number != UNKNOWN && number < o->from)
            fail("child %s has file %lld, its source had %lld", children[i]->id, (long long)number,
                 (long long)o->number);
        (void)model_add(children[i], number);
    }
}

static void on_ran(void *arg, const struct command_result *res, const struct err *err)
{
    struct op *o = arg;
    char wanted[64];
    if (!answered(o, err))
        return;
    (void)snprintf(wanted, sizeof(wanted), "%u\n", o->step);
    if (!res->exit.is_timeout && o->kind == OP_EXEC && strcmp(buf_text(&res->out), wanted) != 0)
        fail("a command printed \"%s\", not \"%s\"", buf_text(&res->out), wanted);
}

static void on_written(void *arg, const struct err *err)
{
    struct op *o = arg;
    struct model_sandbox *x = map_get(sandboxes, o->sandbox_id);
    /* a write of a box that a restore replaced fails: it is in none that is there */
    if (answered(o, err) && x)
        x->number = o->number;
    else if (x)
        x->number = UNKNOWN;
}

static void on_changed(void *arg, struct sandbox *s, const struct err *err)
{
    struct op *o = arg;
    struct model_sandbox *x = map_get(sandboxes, o->sandbox_id);
    if (!answered(o, err)) {
        if (x && o->kind == OP_HALT && err->code != ERR_CONFLICT) /* it is tried again */
            x->status = UNKNOWN;
        return;
    }
    if (x) {
        x->status = o->kind == OP_PAUSE ? SANDBOX_PAUSED : o->kind == OP_HALT ? SANDBOX_STOPPED : SANDBOX_RUNNING;
        x->deadline_us = s->deadline_us;
    }
    if (o->kind != OP_RESTORE || !x)
        return;
    int64_t number = file_number(s);
    const struct model_snapshot *snap = map_get(snapshots, o->other_id);
    if (snap && snap->number != UNKNOWN && number != snap->number && (number < snap->from || number >= snap->to) &&
        number < o->from && !map_get(doomed, s->box_id))
        fail("sandbox %s was restored to %s and has file %lld, not %lld", s->id, snap->id, (long long)number,
             (long long)snap->number);
    x->number = least_coming(s->id) < next_number ? UNKNOWN : number;
}

static void on_snapshot(void *arg, const json_t *record, const struct err *err)
{
    struct op *o = arg;
    if (!answered(o, err))
        return;
    struct model_snapshot *x = xzalloc(sizeof(*x));
    (void)snprintf(x->id, sizeof(x->id), "%s", json_get_str(record, "id", ""));
    x->number = o->number;
    x->from = o->from;
    x->to = next_number;
    map_set(snapshots, x->id, x);
}

static void on_attached(void *arg, const struct err *err)
{
    struct op *o = arg;
    struct model_volume *v = map_get(volumes, o->other_id);
    if (!answered(o, err))
        return;
    if (!v)
        fail("volume %s is changed and deleted", o->other_id);
    if (o->kind == OP_DETACH)
        v->sandbox_id[0] = '\0';
    else if (map_get(sandboxes, o->sandbox_id))
        memcpy(v->sandbox_id, o->sandbox_id, sizeof(v->sandbox_id));
}

static void on_volume_deleted(void *arg, const struct err *err)
{
    struct op *o = arg;
    if (answered(o, err))
        free(map_remove(volumes, o->other_id));
}

static void on_network(void *arg, json_t *record, const struct err *err)
{
    if (answered(arg, err))
        map_set(networks, json_get_str(record, "id", ""), json_object());
}

static void on_connected(void *arg, const struct err *err)
{
    struct op *o = arg;
    if (!answered(o, err))
        return;
    json_t *members = map_get(networks, o->other_id);
    if (members && o->kind == OP_DISCONNECT)
        (void)json_object_del(members, o->sandbox_id);
    else if (members && map_get(sandboxes, o->sandbox_id))
        (void)json_object_set_new(members, o->sandbox_id, json_true());
}

static void on_network_deleted(void *arg, const struct err *err)
{
    struct op *o = arg;
    if (answered(o, err))
        json_decref(map_remove(networks, o->other_id));
}

/* --- beginnings --- */

static const char *pick_key(struct map *m)
{
    uint64_t n = map_count(m) ? virtual_roll(map_count(m)) : 0;
    for (struct map_iter it = map_iter(m); map_next(&it);)
        if (n-- == 0)
            return it.key;
    return NULL;
}

static struct sandbox *pick(void)
{
    const char *id = pick_key(sandboxes); /* one that was acknowledged */
    struct sandbox *s = id ? map_get(g.manager->sandboxes, id) : NULL;
    if (id && !s && g.is_recovered)
        fail("sandbox %s is not there", id);
    return s && s->box ? s : NULL;
}

/* One that may be stopped, too. */
static struct sandbox *pick_any(void)
{
    const char *id = pick_key(sandboxes);
    return id && g.is_recovered ? map_get(g.manager->sandboxes, id) : NULL;
}

static struct op *op_on(enum kind kind, const struct sandbox *s, const char *other_id)
{
    struct op *o = op_new(kind);
    const struct model_sandbox *x = s ? map_get(sandboxes, s->id) : NULL;
    if (s)
        memcpy(o->sandbox_id, s->id, sizeof(o->sandbox_id));
    if (other_id)
        (void)snprintf(o->other_id, sizeof(o->other_id), "%s", other_id);
    if (x) {
        o->number = is_under_way(OP_RESTORE, s->id) ? UNKNOWN : x->number;
        o->from = least_coming(s->id);
    }
    note("%s %s %s", kinds[kind].name, o->sandbox_id, o->other_id);
    return o;
}

static void begin_create(struct sandbox *s)
{
    (void)s;
    struct op *o = op_on(OP_CREATE, NULL, NULL);
    o->tenant = tenants[virtual_roll(3)];
    struct tenant_by by = by_of(o->tenant);
    JSON_OWNED config = json_pack("{s:s, s:b}", "image", "shell", "network", virtual_roll(8) == 0);
    if (virtual_roll(2))
        (void)json_object_set_new(config, "timeout", json_integer(60 + (json_int_t)virtual_roll(240)));
    if (virtual_roll(2))
        (void)json_object_set_new(config, "memory", json_integer(64 << virtual_roll(4)));
    SANDBOX_CONFIG_OWNED typed = { 0 };
    sandbox_config_read(&typed, config);
    struct create_plan plan = { .config = &typed, .by = &by };
    manager_create(g.manager, &plan, on_created, o);
}

static void begin_command(enum kind kind, struct sandbox *s)
{
    static const struct command_events events = { .on_done = on_ran };
    struct op *o = op_on(kind, s, NULL);
    struct err err = ERR_INIT;
    char text[64];
    (void)snprintf(text, sizeof(text), kind == OP_CANCEL ? "sleep %u" : "echo %u", step);
    JSON_OWNED command = json_string(text);
    struct command_plan plan = { .command = command, .timeout_ms = 20000 };
    if (command_start(s, &plan, &events, o, &o->command, &err) < 0)
        (void)answered(o, &err);
}

/* One of the commands that sleep. */
static void cancel_command(void)
{
    for (struct op *o = ops; o; o = o->next)
        if (o->kind == OP_CANCEL) {
            note("cancel the command of %u", o->step);
            command_cancel(o->command);
            op_end(o);
            o->is_cancelled = true;
            return;
        }
}

static void begin_write(struct sandbox *s)
{
    if (!s || !s->link)
        return;
    struct op *o = op_on(OP_WRITE, s, NULL);
    struct err err = ERR_INIT;
    char text[32];
    o->number = next_number++;
    int len = snprintf(text, sizeof(text), "%lld", (long long)o->number);
    int r = guest_fs_put(s->link, PATH, text, (size_t)len, 0, on_written, o);
    if (r < 0) {
        (void)err_set(&err, ERR_GONE, 0, "not begun: %d", r);
        (void)answered(o, &err);
    }
}

static void kill_one(struct sandbox *s)
{
    struct model_sandbox *x = map_get(sandboxes, s->id);
    struct err err = ERR_INIT;
    note("kill %s", s->id);
    x->is_killing = true;
    if (manager_kill(g.manager, s, "sandbox.killed", &err) < 0)
        fail("kill: %s", err.msg);
    n_killed++;
}

static void renew(struct sandbox *s)
{
    if (!s)
        return;
    struct err err = ERR_INIT;
    struct model_sandbox *x = map_get(sandboxes, s->id);
    if (manager_renew(g.manager, s, virtual_us / 1000 + 60000 + (int64_t)virtual_roll(600000), &err) < 0)
        fail("renew: %s", err.msg);
    x->deadline_us = s->deadline_us;
}

static void begin_fork(struct sandbox *s)
{
    if (!s)
        return;
    struct op *o = op_on(OP_FORK, s, NULL);
    struct tenant_by by = by_of(s->tenant);
    struct manager_fork_plan plan = { .count = 1 + (unsigned)virtual_roll(3), .by = &by };
    manager_fork(g.manager, s, &plan, on_forked, o);
}

static void begin_snapshot(struct sandbox *s)
{
    if (!s || map_count(snapshots) >= 12)
        return;
    struct tenant_by by = by_of(s->tenant);
    fake_share(g.host, virtual_roll(4) != 0);
    snapshots_create(g.manager->snapshots, s, &(struct snapshots_plan){ .by = &by }, on_snapshot,
                     op_on(OP_SNAPSHOT, s, NULL));
}

static void create_volume(struct sandbox *s)
{
    (void)s;
    struct err err = ERR_INIT;
    const json_t *rec = map_count(volumes) < 8
                            ? volumes_create(g.manager->volumes, NULL, &(struct volumes_plan){ .name = "v" }, &err)
                            : NULL;
    struct model_volume *v = rec ? xzalloc(sizeof(*v)) : NULL;
    if (!v)
        return;
    (void)snprintf(v->id, sizeof(v->id), "%s", json_get_str(rec, "id", ""));
    map_set(volumes, v->id, v);
}

static void begin_network(struct sandbox *s)
{
    (void)s;
    char name[32];
    (void)snprintf(name, sizeof(name), "net%u", (unsigned)virtual_roll(5));
    networks_create(g.manager->networks, NULL, name, on_network, op_on(OP_NETWORK_CREATE, NULL, name));
}

static void let_die(struct sandbox *s, bool is_box)
{
    note("%s of %s dies", is_box ? "box" : "agent", s->id);
    n_injected++;
    map_set(doomed, s->box_id, &g);
    if (is_box)
        (void)fake_kill_box(g.host, s->box_id, virtual_roll(2) ? "the end" : NULL);
    else
        (void)fake_kill_agent(g.host, s->box_id); /* it may be dead already */
}

static void pass_time(struct sandbox *s)
{
    (void)s;
    beginning = OP_KINDS;
    static const int64_t spans[] = { 0, 1, 10, 100, 1000, 5000, 60000 };
    int64_t ms = (int64_t)virtual_roll((uint64_t)spans[virtual_roll(7)] + 1);
    note("%lld ms go by", (long long)ms);
    if (ms == 0)
        virtual_turn(g.loop);
    virtual_advance(g.loop, ms);
}

/* --- restarts --- */

/* What was under way has no answer any more, and may have been done or not. */
static void forget_ops(void)
{
    for (struct op *o = ops, *next; o; o = next) {
        next = o->next;
        struct model_sandbox *x = map_get(sandboxes, o->sandbox_id);
        struct model_volume *v = map_get(volumes, o->other_id);
        if (x && (o->kind == OP_WRITE || o->kind == OP_RESTORE))
            x->number = UNKNOWN;
        if (x && (o->kind == OP_PAUSE || o->kind == OP_RESUME || o->kind == OP_RESTORE || o->kind == OP_HALT ||
                  o->kind == OP_START))
            x->status = UNKNOWN;
        if (x && o->kind == OP_START)
            x->deadline_us = 0; /* it may have got a new one */
        if (v)
            v->is_unsure = true;
        is_forking_cut |= o->kind == OP_FORK;
        o->is_answered = true; /* an answer would be an error now */
    }
    ops = NULL;
    g.n_waiting = 0;
}

static void follow(void)
{
    manager_on_leave(g.manager, on_leave, NULL);
}

static void start_again(void)
{
    n_made = n_killed = n_expired = 0;
    rig_begin(&g);
    follow();
    manager_recover(g.manager, rig_recovered, &g);
}

/* Takes over what may have become of operations that were cut off. */
static void compare_after_restart(void)
{
    for (struct map_iter it = map_iter(sandboxes); map_next(&it);) {
        const struct model_sandbox *x = it.value;
        if (map_get(g.manager->sandboxes, x->id) || x->deadline_us <= virtual_us)
            continue;
        fail("sandbox %s did not survive a restart", x->id);
    }
    for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);) {
        struct sandbox *s = it.value;
        if (map_get(sandboxes, s->id))
            continue;
        if (!is_forking_cut)
            fail("sandbox %s came from nowhere", s->id);
        model_add(s, UNKNOWN)->status = UNKNOWN;
    }
    is_forking_cut = false;
    JSON_OWNED all = networks_list(g.manager->networks, NULL);
    size_t i;
    json_t *rec;
    for (struct map_iter it = map_iter(networks); map_next(&it);)
        json_decref(map_remove(networks, it.key));
    json_array_foreach(all, i, rec)
    {
        json_t *members = json_object(), *id;
        size_t k;
        json_array_foreach(json_get(rec, "sandboxes"), k, id)(void)
            json_object_set_new(members, json_string_value(id), json_true());
        map_set(networks, json_get_str(rec, "id", ""), members);
    }
}

static void restart(bool is_crash, bool is_reboot)
{
    note(is_reboot ? "the host is rebooted" : is_crash ? "the server crashes" : "the server stops");
    if (is_crash) {
        rig_crash(&g);
    } else {
        is_quiet = true;
        rig_stop(&g);
        is_quiet = false;
    }
    forget_ops();
    if (is_reboot)
        fake_reboot(g.host);
    for (struct map_iter it = map_iter(sandboxes); map_next(&it);) { /* whose files are gone, too */
        const struct model_sandbox *x = it.value;
        JSON_OWNED rec = NULL;
        if (virtual_roll(12) || store_get(g.store, "sandbox", x->id, &rec, NULL) < 0)
            continue;
        const char *box_id = json_get_str(json_get(rec, "internal"), "boxId", "");
        note("box %s of %s is lost meanwhile", box_id, x->id);
        (void)fake_lose_box(g.host, box_id);
        model_remove(x->id);
    }
    for (struct map_iter it = map_iter(sandboxes); map_next(&it);) { /* those that died, and nobody was told */
        const struct model_sandbox *x = it.value;
        JSON_OWNED rec = NULL;
        struct fake_view v;
        bool has_record = store_get(g.store, "sandbox", x->id, &rec, NULL) == 0;
        if (!has_record)
            fail("sandbox %s has no record after a stop", x->id);
        const char *box_id = json_get_str(json_get(rec, "internal"), "boxId", "");
        if (!fake_find(g.host, box_id, &v))
            model_remove(x->id);
        else if (is_reboot || (map_get(doomed, box_id) && v.is_dead))
            ((struct model_sandbox *)it.value)->status = SANDBOX_STOPPED;
    }
    if (virtual_roll(3) == 0)
        virtual_us += (int64_t)virtual_roll(200) * 1000000;
    start_again();
    virtual_advance(g.loop, (int64_t)virtual_roll(200)); /* what comes next may meet adoptions */
}

static void settle_once(void)
{
    if (rig_settle(&g))
        return;
    for (const struct op *o = ops; o; o = o->next)
        note("no answer: %s of %u", kinds[o->kind].name, o->step);
    fail("%u operations have no answer after a quarter of an hour; the driver has %zu calls open, %u creates, %u "
         "offloaded",
         g.n_waiting, fake_count_open(g.host), g.manager->n_creating, g.manager->n_offloaded);
}

static bool is_any(enum kind kind)
{
    const struct op *o = ops;
    while (o && o->kind != kind)
        o = o->next;
    return o;
}

static void settle(void)
{
    note("--- compare");
    is_quiet = true;
    for (int i = 0; i < 200 && (is_any(OP_PAUSE) || is_any(OP_RESUME) || is_any(OP_HALT) || is_any(OP_START)); i++)
        virtual_advance(g.loop, 50);
    for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);) { /* a paused agent answers nobody */
        struct sandbox *s = it.value;
        bool is_waited_for = is_any(OP_CONNECT) || is_any(OP_DISCONNECT) || is_any(OP_NETWORK_DELETE) || /* names */
                             is_under_way(OP_WRITE, s->id) || is_under_way(OP_EXEC, s->id) ||
                             is_under_way(OP_CANCEL, s->id);
        if (s->status == SANDBOX_PAUSED && is_waited_for)
            manager_resume(g.manager, s, on_changed, op_on(OP_RESUME, s, NULL));
    }
    settle_once();
    virtual_advance(g.loop, 1200); /* volumes that are tried again, layers that are collected */
    settle_once();
    const char *complaint = fake_complaint(g.host);
    if (complaint)
        fail("driver: %s", complaint);
    for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);)
        check_sandbox(it.value);
    size_t n = map_count(g.manager->sandboxes), n_mounts = 0, n_plugs = 0, in_driver[2] = { 0 };
    if ((size_t)store_count(g.store, "sandbox") != n || map_count(sandboxes) != n)
        fail("%zu sandboxes, %zu records, %zu acknowledged", n, (size_t)store_count(g.store, "sandbox"),
             map_count(sandboxes));
    n_connected = 0;
    fake_each(g.host, check_box, NULL);
    JSON_OWNED listed = volumes_list(g.manager->volumes, NULL); /* forgets sandboxes that were lost meanwhile */
    (void)store_each(g.store, "volume", false, check_volume, &n_mounts, NULL);
    if ((size_t)store_count(g.store, "volume") != map_count(volumes))
        fail("%zu volumes, %zu acknowledged", (size_t)store_count(g.store, "volume"), map_count(volumes));
    check_networks(&n_plugs);
    fake_each(g.host, count_mounts, in_driver);
    if (in_driver[0] != n_mounts || in_driver[1] != n_plugs)
        fail("the driver has %zu mounts and %zu members of networks, the records %zu and %zu", in_driver[0],
             in_driver[1], n_mounts, n_plugs);
    (void)store_each(g.store, "snapshot", false, check_snapshot, NULL, NULL);
    if ((size_t)store_count(g.store, "snapshot") != map_count(snapshots))
        fail("%zu snapshots, %zu acknowledged", (size_t)store_count(g.store, "snapshot"), map_count(snapshots));
    check_pins();
    check_quotas();
    if (g.manager->total_expired != n_expired)
        fail("%lld expired by the counter, %u were seen", (long long)g.manager->total_expired, n_expired);
    is_quiet = false;
}

/* --- a run --- */

static enum kind roll_kind(void)
{
    unsigned sum = 0;
    for (size_t i = 0; i < OP_KINDS; i++)
        sum += kinds[i].weight;
    uint64_t at = virtual_roll(sum);
    for (size_t i = 0; i < OP_KINDS; i++) {
        if (at < kinds[i].weight)
            return (enum kind)i;
        at -= kinds[i].weight;
    }
    return OP_TIME;
}

static void begin_kill(struct sandbox *s)
{
    if (s)
        kill_one(s);
}

static void begin_exec(struct sandbox *s)
{
    if (s)
        begin_command(OP_EXEC, s);
}

static void begin_cancel(struct sandbox *s)
{
    if (s && virtual_roll(2))
        begin_command(OP_CANCEL, s);
    else
        cancel_command();
}

static void begin_pause(struct sandbox *s)
{
    if (s)
        manager_pause(g.manager, s, on_changed, op_on(OP_PAUSE, s, NULL));
}

static void begin_resume(struct sandbox *s)
{
    if (s)
        manager_resume(g.manager, s, on_changed, op_on(OP_RESUME, s, NULL));
}

static void begin_halt(struct sandbox *s)
{
    struct manager_stop_plan plan = { .timeout_ms = (int64_t)virtual_roll(3) * 1000, .reason = "request" };
    if (s)
        manager_stop(s, &plan, on_changed, op_on(OP_HALT, s, NULL));
}

static void begin_start(struct sandbox *s)
{
    s = pick_any();
    if (!s)
        return;
    struct op *o = op_on(OP_START, s, NULL);
    o->injected = 0; /* it may share a start that was made to fail before */
    manager_start(s, NULL, on_changed, o, &o->waiter);
    if (o->waiter && virtual_roll(8) == 0) {
        note("nobody waits for the start of %u", o->step);
        manager_start_cancel(o->waiter);
        struct model_sandbox *x = map_get(sandboxes, o->sandbox_id);
        x->status = UNKNOWN;
        op_end(o);
        o->is_cancelled = true;
    }
}

static void begin_restore(struct sandbox *s)
{
    const char *snap = pick_key(snapshots);
    s = pick_any();
    if (s && snap)
        snapshots_restore(g.manager->snapshots, s, snap, on_changed, op_on(OP_RESTORE, s, snap));
}

static void begin_clone(struct sandbox *s)
{
    const char *snap = pick_key(snapshots);
    (void)s;
    struct tenant_by by = by_of("acme"); /* only its quota counts */
    if (snap)
        snapshots_clone(g.manager->snapshots, snap, &(struct snapshots_plan){ .by = &by }, on_created,
                        op_on(OP_SNAPSHOT_CLONE, NULL, snap));
}

static void delete_snapshot(struct sandbox *s)
{
    const char *snap = pick_key(snapshots);
    struct err err = ERR_INIT;
    (void)s;
    if (!snap)
        return;
    note("delete snapshot %s", snap);
    CLEANUP(free_p) struct model_snapshot *x = map_remove(snapshots, snap);
    if (snapshots_delete(g.manager->snapshots, x->id, &err) < 0)
        fail("delete snapshot: %s", err.msg);
}

static void begin_attach(struct sandbox *s)
{
    const char *volume = pick_key(volumes);
    struct box_volume how = { .target = virtual_roll(2) ? "/a" : "/b" };
    if (s && volume)
        volumes_attach(g.manager->volumes, volume, s, &how, on_attached, op_on(OP_ATTACH, s, volume));
}

static void begin_detach(struct sandbox *s)
{
    const char *volume = pick_key(volumes);
    (void)s;
    if (volume)
        volumes_detach(g.manager->volumes, volume, on_attached, op_on(OP_DETACH, NULL, volume));
}

static void begin_volume_delete(struct sandbox *s)
{
    const char *volume = pick_key(volumes);
    (void)s;
    if (volume)
        volumes_delete(g.manager->volumes, volume, on_volume_deleted, op_on(OP_VOLUME_DELETE, NULL, volume));
}

static void begin_connect(struct sandbox *s)
{
    const char *net = pick_key(networks);
    if (s && net)
        networks_connect(g.manager->networks, net, s, on_connected, op_on(OP_CONNECT, s, net));
}

static void begin_disconnect(struct sandbox *s)
{
    const char *net = pick_key(networks);
    if (s && net)
        networks_disconnect(g.manager->networks, net, s, on_connected, op_on(OP_DISCONNECT, s, net));
}

static void begin_network_delete(struct sandbox *s)
{
    const char *net = pick_key(networks);
    (void)s;
    if (net)
        networks_delete(g.manager->networks, net, on_network_deleted, op_on(OP_NETWORK_DELETE, NULL, net));
}

static void box_death(struct sandbox *s)
{
    if (s)
        let_die(s, true);
}

static void agent_death(struct sandbox *s)
{
    if (s)
        let_die(s, false);
}

static void restart_and_compare(bool is_crash, bool is_reboot)
{
    beginning = OP_KINDS;
    restart(is_crash, is_reboot);
    is_quiet = true;
    settle_once();
    is_quiet = false;
    compare_after_restart();
    settle();
}

static void stop_and_start(struct sandbox *s)
{
    (void)s;
    restart_and_compare(false, false);
}

static void crash_and_start(struct sandbox *s)
{
    (void)s;
    restart_and_compare(true, false);
}

static void reboot_and_start(struct sandbox *s)
{
    (void)s;
    restart_and_compare(virtual_roll(2), true);
}

/* In the order of enum kind. */
static void (*const begins[])(struct sandbox *s) = {
    begin_create,   begin_kill,       begin_exec,           begin_cancel,        begin_write,
    begin_pause,    begin_resume,     begin_halt,           begin_start,         renew,
    begin_snapshot, begin_restore,    begin_clone,          delete_snapshot,     begin_fork,
    create_volume,  begin_attach,     begin_detach,         begin_volume_delete, begin_network,
    begin_connect,  begin_disconnect, begin_network_delete, box_death,           agent_death,
    pass_time,      stop_and_start,   crash_and_start,      reboot_and_start
};
static_assert(sizeof(begins) / sizeof(*begins) == OP_KINDS, "one for each");

static void play(unsigned n_ops)
{
    virtual_seed(seed);
    virtual_work_ms = work_ms;
    sandboxes = map_new();
    snapshots = map_new();
    volumes = map_new();
    networks = map_new();
    doomed = map_new();
    rig_init(&g);
    g.end = MANAGER_KEEP;
    g.settings.max_sandboxes = 16;
    g.settings.pool_size = seed % 3 ? 0 : 2;
    fake_on_op(g.host, on_op, NULL);
    start_again();
    is_quiet = true;
    settle_once();
    is_quiet = false;
    for (step = 1; step <= n_ops; step++) {
        beginning = roll_kind();
        begins[beginning](pick());
        beginning = OP_KINDS;
        if (virtual_roll(3) == 0)
            virtual_turn(g.loop);
        if (virtual_roll(SETTLE_EACH) == 0)
            settle();
    }
    settle();
    scrapfolder_remove(g.dir);
}

/* --- all seeds --- */

struct playing {
    pid_t pid;
    uint64_t seed;
};

static void reap(struct playing *p, int *failed)
{
    int status = 0;
    (void)waitpid(p->pid, &status, 0); /* our child */
    if (WIFSIGNALED(status))
        printf("# seed %llu was ended by signal %d\n# again: test_simulation --seed %llu\n",
               (unsigned long long)p->seed, WTERMSIG(status), (unsigned long long)p->seed);
    *failed += status != 0;
    p->pid = 0;
}

static int play_all(uint64_t from, uint64_t n, unsigned n_ops)
{
    struct playing both[2] = { { 0 } }; /* as many as a small machine has cores */
    int failed = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct playing *p = &both[i % 2];
        if (p->pid)
            reap(p, &failed);
        fflush(stdout);
        p->seed = from + i;
        p->pid = fork();
        if (p->pid == 0) {
            seed = p->seed;
            play(n_ops);
            fflush(stdout);
            _exit(0);
        }
    }
    for (size_t i = 0; i < 2; i++)
        if (both[i].pid)
            reap(&both[i], &failed);
    return failed;
}

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 12
#else
#define SEEDS 100
#endif

int main(int argc, char **argv)
{
    uint64_t from = 1, n = SEEDS;
    unsigned n_ops = 1000;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0)
            seed = value;
        else if (strcmp(argv[i], "--seeds") == 0)
            n = value;
        else if (strcmp(argv[i], "--from") == 0)
            from = value;
        else if (strcmp(argv[i], "--ops") == 0)
            n_ops = (unsigned)value;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (seed) {
        is_loud = true;
        play(n_ops);
        printf("# seed %llu: nothing found\n", (unsigned long long)seed);
        return 0;
    }
    int failed = play_all(from, n, n_ops);
    printf("%sok 1 - %llu seeds of %u operations each agree with the model%s\n", failed ? "not " : "",
           (unsigned long long)n, n_ops, failed ? " (see above)" : "");
    printf("1..1\n");
    return failed != 0;
}
