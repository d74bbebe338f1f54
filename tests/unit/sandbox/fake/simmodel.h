/* The model of test_simulation.c: what was acknowledged, what is under way, and what was made to fail. */
#pragma once
#include <stdarg.h>

#include "sandbox/fake/fakerig.h"

#define PATH    "/data"
#define TAIL    40   /* lines of the log that a failed seed shows */
#define UNKNOWN (-1) /* contents that nobody can tell */

static struct rig g;
static bool is_loud;
static uint64_t seed;
static unsigned step;

/* --- the log and the end of a seed --- */

static char *lines[TAIL];
static unsigned n_lines;

static void note(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void note(const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char **slot = &lines[n_lines++ % TAIL];
    free(*slot);
    *slot = xasprintf("# %5u %12.3f s  %s", step, (double)(virtual_us - 1800000000ll * 1000000) / 1e6, text);
    if (is_loud)
        printf("%s\n", *slot);
}

static void fail(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((noreturn));
static void fail(const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    for (unsigned i = n_lines > TAIL ? n_lines - TAIL : 0; !is_loud && i < n_lines; i++)
        printf("%s\n", lines[i % TAIL]);
    printf("# seed %llu failed at operation %u: %s\n# again: test_simulation --seed %llu\n", (unsigned long long)seed,
           step, text, (unsigned long long)seed);
    fflush(stdout);
    scrapfolder_remove(g.dir);
    _exit(1);
}

/* --- the model --- */

struct model_sandbox {
    char id[IDENT_MAX];
    const char *tenant;
    bool is_killing; /* somebody asked for its end */
    int64_t number;  /* in PATH; UNKNOWN: any */
    int status;      /* enum sandbox_status; UNKNOWN: any */
    int64_t deadline_us;
};

struct model_snapshot {
    char id[IDENT_MAX];
    int64_t number, from, to; /* number, or one of from … to - 1 */
};

struct model_volume {
    char id[IDENT_MAX], sandbox_id[IDENT_MAX];
    bool is_unsure; /* an operation on it was cut off */
};

static struct map *sandboxes, *snapshots, *volumes, *networks; /* networks: id -> json object of members */
static struct map *doomed;                                     /* boxes that were made to die */
static int64_t next_number = 1;
static unsigned n_injected; /* failures so far */
static unsigned n_made, n_killed, n_expired;
static bool is_forking_cut; /* a crash cut off a fork: some children may be there */

enum kind {
    OP_CREATE,
    OP_KILL,
    OP_EXEC,
    OP_CANCEL,
    OP_WRITE,
    OP_PAUSE,
    OP_RESUME,
    OP_HALT,
    OP_START,
    OP_RENEW,
    OP_SNAPSHOT,
    OP_RESTORE,
    OP_SNAPSHOT_CLONE,
    OP_SNAPSHOT_DELETE,
    OP_FORK,
    OP_VOLUME_CREATE,
    OP_ATTACH,
    OP_DETACH,
    OP_VOLUME_DELETE,
    OP_NETWORK_CREATE,
    OP_CONNECT,
    OP_DISCONNECT,
    OP_NETWORK_DELETE,
    OP_BOX_DEATH,
    OP_AGENT_DEATH,
    OP_TIME,
    OP_STOP,
    OP_CRASH,
    OP_REBOOT,
    OP_KINDS
};
static const struct {
    const char *name;
    unsigned weight;
} kinds[] = { { "create", 14 },        { "kill", 9 },
              { "exec", 10 },          { "cancel", 3 },
              { "write", 14 },         { "pause", 5 },
              { "resume", 5 },         { "stop", 5 },
              { "start", 8 },          { "renew", 2 },
              { "snapshot", 7 },       { "restore", 5 },
              { "clone snapshot", 3 }, { "delete snapshot", 4 },
              { "fork", 3 },           { "create volume", 3 },
              { "attach", 9 },         { "detach", 7 },
              { "delete volume", 2 },  { "create network", 3 },
              { "connect", 8 },        { "disconnect", 5 },
              { "delete network", 2 }, { "box dies", 1 },
              { "agent dies", 1 },     { "time", 30 },
              { "stop and start", 1 }, { "crash and start", 1 },
              { "reboot", 1 } };
static_assert(sizeof(kinds) / sizeof(*kinds) == OP_KINDS, "one for each");

/* One operation under way. */
struct op {
    struct op *next;
    enum kind kind;
    unsigned step, injected;
    char sandbox_id[IDENT_MAX], other_id[IDENT_MAX]; /* other: snapshot, volume, network */
    int64_t number, from;                            /* of the file when it began; the least that may follow */
    const char *tenant;
    struct command *command;
    struct manager_waiter *waiter;
    bool is_answered, is_cancelled;
};
static struct op *ops; /* without an answer */

static const char *const tenants[] = { "", "acme", "bolt" };
#define TENANT_QUOTA 6

static struct tenant_by by_of(const char *tenant)
{
    struct tenant_by by = { .tenant = tenant };
    if (*tenant) {
        by.quota.set = 1u << QUOTA_SANDBOXES | 1u << QUOTA_SNAPSHOTS;
        by.quota.max[QUOTA_SANDBOXES] = TENANT_QUOTA;
        by.quota.max[QUOTA_SNAPSHOTS] = TENANT_QUOTA;
    }
    return by;
}

static int64_t file_number(const struct sandbox *s)
{
    const char *text = fake_file(g.host, s->box_id, PATH, NULL);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* The least number that a write under way, or a later one, may still put there. */
static int64_t least_coming(const char *sandbox_id)
{
    int64_t least = next_number;
    for (const struct op *o = ops; o; o = o->next)
        if (o->kind == OP_WRITE && strcmp(o->sandbox_id, sandbox_id) == 0 && o->number < least)
            least = o->number;
    return least;
}

static struct model_sandbox *model_add(const struct sandbox *s, int64_t number)
{
    struct model_sandbox *x = map_get(sandboxes, s->id);
    if (!x)
        x = xzalloc(sizeof(*x));
    (void)snprintf(x->id, sizeof(x->id), "%s", s->id);
    for (size_t i = 0; i < 3; i++)
        if (strcmp(tenants[i], s->tenant) == 0)
            x->tenant = tenants[i];
    x->number = number;
    x->status = SANDBOX_RUNNING;
    x->deadline_us = s->deadline_us;
    map_set(sandboxes, x->id, x);
    return x;
}

static void model_remove(const char *sandbox_id)
{
    char id[IDENT_MAX];
    (void)snprintf(id, sizeof(id), "%s", sandbox_id); /* it may be the removed one's own */
    free(map_remove(sandboxes, id));
    for (struct map_iter it = map_iter(volumes); map_next(&it);) {
        struct model_volume *v = it.value;
        if (strcmp(v->sandbox_id, id) == 0)
            v->sandbox_id[0] = '\0';
    }
    for (struct map_iter it = map_iter(networks); map_next(&it);)
        (void)json_object_del(it.value, id);
}

/* Every sandbox that leaves has to have a cause. */
static void on_leave(void *arg, struct sandbox *s)
{
    (void)arg;
    struct model_sandbox *x = map_get(sandboxes, s->id);
    note("sandbox %s leaves%s%s", s->id, s->why ? ": " : "", s->why ? s->why : "");
    bool is_dead = s->why && s->status != SANDBOX_STOPPED; /* a stopped one died before */
    bool is_expired = s->deadline_us <= virtual_us && !is_dead && !(x && x->is_killing);
    n_expired += is_expired;
    if (!x)
        return; /* a child of a fork that failed, or one not acknowledged yet */
    if (!x->is_killing && !map_get(doomed, s->box_id) && s->deadline_us > virtual_us)
        fail("sandbox %s went without a cause (%s)", s->id, s->why ? s->why : "nothing said");
    model_remove(s->id);
}

/* --- what becomes of the driver's calls --- */

static bool is_under_way(enum kind kind, const char *id)
{
    for (const struct op *o = ops; o; o = o->next)
        if (o->kind == kind && (strcmp(o->other_id, id) == 0 || strcmp(o->sandbox_id, id) == 0))
            return true;
    return false;
}

static enum kind beginning = OP_KINDS; /* the operation that is just being begun; OP_KINDS: none */

/* Failures are for calls of which somebody hears: what the manager does on its own account is only logged when it
 * fails.
 */
static bool may_fail(enum fake_op op)
{
    static const struct {
        enum fake_op op;
        enum kind by;
    } told[] = { { FAKE_MOUNT, OP_ATTACH },       { FAKE_UNMOUNT, OP_DETACH }, { FAKE_NET_CREATE, OP_NETWORK_CREATE },
                 { FAKE_NET_ATTACH, OP_CONNECT }, { FAKE_PAUSE, OP_PAUSE },    { FAKE_RESUME, OP_RESUME } };
    for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++)
        if (told[i].op == op)
            return told[i].by == beginning;
    return op == FAKE_CREATE || op == FAKE_HALT || op == FAKE_CAPTURE || op == FAKE_REMOVE_VOLUME ||
           op == FAKE_NET_DETACH || op == FAKE_NET_DELETE;
}

static bool is_quiet; /* nothing is to fail now */

static struct fake_fate on_op(void *arg, enum fake_op op, const char *id)
{
    (void)arg;
    struct fake_fate fate = { .outcome = FAKE_DONE };
    uint64_t slow = virtual_roll(10), bad = virtual_roll(1000);
    fate.delay_ms = slow < 4 ? 0 : slow < 8 ? (int64_t)virtual_roll(40) : (int64_t)virtual_roll(2500);
    if (is_quiet || op == FAKE_SWEEP || op == FAKE_DESTROY || op == FAKE_DISCARD || op == FAKE_ADOPT)
        return fate;
    if (bad < 50 && may_fail(op))
        fate.outcome = FAKE_FAIL;
    else if (bad >= 50 && bad < 60 && may_fail(op))
        fate.outcome = FAKE_LOSE;
    else if (bad >= 60 && bad < 70 && strncmp(id, "pool_", 5) != 0 &&
             (op == FAKE_CREATE || op == FAKE_PAUSE || op == FAKE_CAPTURE || op == FAKE_MOUNT))
        fate.outcome = FAKE_DIE;
    if (fate.outcome == FAKE_DIE)
        map_set(doomed, id, &g);
    if (fate.outcome != FAKE_DONE) {
        n_injected++;
        note("  %s of %s: %s after %lld ms", fake_op_name(op), id,
             fate.outcome == FAKE_FAIL   ? "fails"
             : fate.outcome == FAKE_LOSE ? "helper ends"
                                         : "box dies",
             (long long)fate.delay_ms);
    }
    return fate;
}

static int64_t work_ms(void)
{
    return virtual_roll(4) ? (int64_t)virtual_roll(3) : (int64_t)virtual_roll(300);
}
