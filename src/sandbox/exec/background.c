/* Theory of operation. A background command is a durable job of the agent: it writes to a log in the sandbox and
 * outlives the server. Its record (struct records) says whether it runs and how it exited; background.c owns the
 * records, the agent owns process and log.
 *
 * A start (struct starting) stores the record as soon as the agent reports the pid; if that fails, the command is
 * killed, so no command runs without a record. The agent reports each exit over the link. When a sandbox enters, the
 * agent is asked about every command that was running, since it may have exited while no server was there. Records are
 * dropped with their sandbox.
 *
 * A struct growth is one question to the agent, "tell me when this log grows", shared by all watches of the log. */
#include "sandbox/exec/background.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/exec/command.h"
#include "sandbox/lifecycle/records.h"

#define SCOPE             "background"
#define BACKGROUND_ID_MAX LIMIT_MAX(EXEC_ID_BYTES)

struct background_watch {
    struct background_watch *next;
    struct growth *of;
    loop_fn *fn;
    void *arg;
};

/* The watches of one log. It exists while the agent's answer is pending. */
struct growth {
    struct background *b;
    struct background_watch *watches;
    char key[IDENT_MAX + BACKGROUND_ID_MAX + 2]; /* sandbox and tag */
};

struct background {
    struct manager *m;
    struct records records;
    struct map *growing; /* sandbox and tag -> struct growth */
};

/* ex NULL: the exit status is unknown. */
static void mark_ended(struct background *b, json_t *rec, const struct guest_exit *ex)
{
    struct sandbox *s = map_get(b->m->sandboxes, json_get_str(rec, "sandboxId", ""));
    (void)json_object_set_new(rec, "running", json_false());
    (void)json_object_set_new(rec, "exitCode", json_integer(ex ? ex->code : -1));
    (void)json_object_set_new(rec, "finishedAt", json_integer(clock_wall_ms()));
    if (ex) {
        struct guest_exit known = *ex;
        known.is_oom = ex->is_oom || (s && command_was_oom(s, ex));
        (void)json_object_set_new(rec, "userMs", json_integer((json_int_t)(ex->user_us / 1000)));
        (void)json_object_set_new(rec, "systemMs", json_integer((json_int_t)(ex->system_us / 1000)));
        (void)json_object_set_new(rec, "maxRssKb", json_integer((json_int_t)ex->max_rss_kb));
        command_exit_json(&known, rec);
    }
    struct err err = ERR_INIT;
    const char *id = json_get_str(rec, "id", "");
    if (records_save(&b->records, id, &err) < 0)
        log_event(LOG_ERROR, "background.save", "id", id, "error", err.msg, NULL);
}

/* Applies the agent's state of a command that may have exited unnoticed. */
static void take_state(struct background *b, json_t *rec, const struct guest_job *job, const struct err *err)
{
    if (!err) {
        (void)json_object_set_new(rec, "logBytes", json_integer((json_int_t)job->log_bytes));
        (void)json_object_set_new(rec, "truncated", json_boolean(job->log_start > 0));
    }
    if (!json_get_bool(rec, "running", false))
        return;
    if (err && err->code == ERR_NOT_FOUND)
        mark_ended(b, rec, NULL);
    else if (!err && !job->is_running)
        mark_ended(b, rec, &job->exit);
}

static void on_job_exit(void *arg, const char *tag, const struct guest_exit *ex)
{
    struct background *b = arg;
    json_t *rec = records_find(&b->records, tag, NULL);
    if (rec && json_get_bool(rec, "running", false))
        mark_ended(b, rec, ex);
}

struct asking {
    struct background *b;
    background_fn *fn; /* NULL: no caller waits */
    void *arg;
    char id[BACKGROUND_ID_MAX + 1];
};

static struct asking *new_asking(struct background *b, const char *id)
{
    struct asking *a = xzalloc(sizeof(*a));
    a->b = b;
    memcpy(a->id, id, strnlen(id, BACKGROUND_ID_MAX));
    return a;
}

static void on_state(void *arg, const struct guest_job *job, const struct err *err)
{
    struct asking *a = arg;
    struct err gone = ERR_INIT;
    json_t *rec = background_find(a->b, a->id, &gone);
    if (rec)
        take_state(a->b, rec, job, err);
    if (a->fn)
        a->fn(a->arg, rec, &gone);
    free(a);
}

static void on_enter(void *arg, struct sandbox *s)
{
    struct background *b = arg;
    guest_on_job_exit(s->link, on_job_exit, b);
    for (struct map_iter it = map_iter(b->records.by_id); map_next(&it);) {
        json_t *rec = it.value;
        if (!records_is(rec, "sandboxId", s->id) || !json_get_bool(rec, "running", false))
            continue;
        struct asking *a = new_asking(b, it.key); /* it may have exited while no server was running */
        if (guest_job_state(s->link, it.key, on_state, a) < 0)
            free(a);
    }
}

/* All of them ended with its box. */
static void on_sleep(void *arg, struct sandbox *s)
{
    if (s->status == SANDBOX_HIBERNATED)
        return; /* its processes come back */
    struct background *b = arg;
    for (struct map_iter it = map_iter(b->records.by_id); map_next(&it);)
        if (records_is(it.value, "sandboxId", s->id) && json_get_bool(it.value, "running", false))
            mark_ended(b, it.value, NULL);
}

static void on_leave(void *arg, struct sandbox *s)
{
    background_drop(arg, s->id);
}

struct background *background_new(struct manager *m)
{
    struct background *b = xzalloc(sizeof(*b));
    b->m = m;
    records_init(&b->records, m->store, SCOPE, "background command");
    b->growing = map_new();
    manager_on_enter(m, on_enter, b);
    manager_on_sleep(m, on_sleep, b);
    manager_on_leave(m, on_leave, b);
    return b;
}

struct background *background_free(struct background *b)
{
    if (!b)
        return NULL;
    records_done(&b->records);
    map_free(b->growing); /* empty: freeing the links failed every pending question */
    free(b);
    return NULL;
}

void background_load(struct background *b)
{
    struct err err = ERR_INIT;
    if (records_load(&b->records, NULL, NULL, &err) < 0)
        log_event(LOG_ERROR, "background.load", "error", err.msg, NULL);
}

void background_drop(struct background *b, const char *sandbox_id)
{
    for (struct map_iter it = map_iter(b->records.by_id); map_next(&it);)
        if (records_is(it.value, "sandboxId", sandbox_id))
            records_drop(&b->records, it.key);
}

json_t *background_list(const struct background *b, const char *sandbox_id)
{
    return records_list(&b->records, NULL, "sandboxId", sandbox_id);
}

const char *background_owner(const struct background *b, const char *id, const char **ret_sandbox)
{
    *ret_sandbox = json_get_str(records_find(&b->records, id, NULL), "sandboxId", NULL);
    return *ret_sandbox ? manager_owner(b->m, *ret_sandbox) : NULL;
}

json_t *background_find(struct background *b, const char *id, struct err *err)
{
    return records_find(&b->records, id, err);
}

struct starting {
    struct background *b;
    struct guest_exec *exec;
    json_t *rec;
    background_fn *fn;
    void *arg;
};

static void on_forgotten(void *arg, const struct err *err)
{
    (void)arg, (void)err; /* the log of a forgotten command is removed with its sandbox at the latest */
}

static void on_start_failed(void *arg, const struct err *err)
{
    struct starting *st = arg;
    struct err why = *err;
    if (why.code == ERR_NOT_FOUND)
        why.code = ERR_INVALID; /* the program or the folder is missing, not the sandbox */
    st->fn(st->arg, NULL, &why);
    json_decref(st->rec);
    free(st);
}

static void on_command_started(void *arg, int pid)
{
    struct starting *st = arg;
    struct background *b = st->b;
    guest_exec_drop(st->exec); /* durable: the exit notice comes over the link */
    (void)json_object_set_new(st->rec, "pid", json_integer(pid));
    struct err err = ERR_INIT;
    const char *id = json_get_str(st->rec, "id", "");
    if (records_add(&b->records, id, st->rec, &err) < 0) { /* it would be unknown after a restart, so it is killed */
        struct sandbox *s = map_get(b->m->sandboxes, json_get_str(st->rec, "sandboxId", ""));
        if (s && s->link) { /* else it ended with its sandbox; a link that is full ends, and the box with it */
            (void)guest_job_signal(s->link, id, SIGKILL, on_forgotten, NULL);
            (void)guest_job_forget(s->link, id, on_forgotten, NULL);
        }
        on_start_failed(st, &err);
        return;
    }
    st->fn(st->arg, st->rec, NULL);
    json_decref(st->rec);
    free(st);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    (void)arg, (void)fd, (void)data, (void)len; /* durable commands write to their log, not to the link */
}

/* The exit of a command that ended before on_command_started() ran: not possible, since the link reports the start
 * first. */
static void on_exited(void *arg, const struct guest_exit *ex)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_INTERNAL, 0, "the command exited with code %d before it was reported as started", ex->code);
    on_start_failed(arg, &err);
}

static const struct guest_exec_events start_events = {
    .on_started = on_command_started, .on_output = on_output, .on_exit = on_exited, .on_failed = on_start_failed
};

int background_state(struct background *b, const char *id, background_fn *fn, void *arg, struct err *err)
{
    json_t *rec = background_find(b, id, err);
    if (!rec)
        return -1;
    struct sandbox *s = map_get(b->m->sandboxes, json_get_str(rec, "sandboxId", ""));
    if (!s || sandbox_need_running(s, NULL) < 0) {
        fn(arg, rec, NULL);
        return 0;
    }
    struct asking *a = new_asking(b, id);
    a->fn = fn;
    a->arg = arg;
    int r = guest_job_state(s->link, id, on_state, a);
    if (r < 0) {
        free(a);
        return err_set(err, err_from_errno(-r), -r, "state of %s", id);
    }
    return 0;
}

/* --- watching --- */

static void on_grown(void *arg, const struct err *err)
{
    struct growth *g = arg;
    (void)err; /* whatever it is, the next read reports it */
    (void)map_remove(g->b->growing, g->key);
    while (g->watches) {
        struct background_watch *w = g->watches;
        g->watches = w->next;
        loop_fn *fn = w->fn;
        void *fn_arg = w->arg;
        free(w);
        fn(fn_arg);
    }
    free(g);
}

struct background_watch *background_watch(struct background *b, struct sandbox *s, const char *tag, uint64_t offset,
                                          loop_fn *fn, void *arg, struct err *err)
{
    char key[sizeof(((struct growth *)NULL)->key)];
    (void)snprintf(key, sizeof(key), "%s/%s", s->id, tag);
    struct growth *g =
        map_get(b->growing, key); /* it asks for an earlier offset, or this one: woken too early, never too late */
    if (!g) {
        g = xzalloc(sizeof(*g));
        g->b = b;
        memcpy(g->key, key, sizeof(key));
        int r = guest_job_wait(s->link, tag, offset, on_grown, g);
        if (r < 0) {
            (void)err_set(err, err_from_errno(-r), -r, "wait for output of %s", tag);
            free(g);
            return NULL;
        }
        map_set(b->growing, key, g);
    }
    struct background_watch *w = xzalloc(sizeof(*w));
    *w = (struct background_watch){ .next = g->watches, .of = g, .fn = fn, .arg = arg };
    g->watches = w;
    return w;
}

struct background_watch *background_unwatch(struct background_watch *w)
{
    if (!w)
        return NULL;
    struct background_watch **at = &w->of->watches;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    free(w);
    return NULL;
}

/* --- starting --- */

/* What the agent accepts as a name, except reserved names. */
static int check_id(const struct background *b, const char *id, struct err *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
    size_t len = strlen(id);
    if (len == 0 || len > BACKGROUND_ID_MAX || id[0] == '.' || strspn(id, allowed) != len || strcmp(id, "main") == 0 ||
        strcmp(id, "background") == 0)
        return err_set(
            err, ERR_INVALID, 0,
            "id: \"%.80s\" is not 1 to %d letters, digits, '_', '-' or '.' (no leading '.'; main and background "
            "are taken)",
            id, BACKGROUND_ID_MAX);
    if (records_find(&b->records, id, NULL))
        return err_set(err, ERR_CONFLICT, 0, "a command with the id %s already exists", id);
    return 0;
}

static int make_room(struct background *b, struct sandbox *s, struct err *err)
{
    int64_t n = 0, max = b->m->settings->max_background;
    const char *oldest = NULL;
    for (struct map_iter it = map_iter(b->records.by_id); map_next(&it);) {
        if (!records_is(it.value, "sandboxId", s->id))
            continue;
        n++;
        if (!oldest && !json_get_bool(it.value, "running", false))
            oldest = it.key;
    }
    if (n < max)
        return 0;
    if (!oldest)
        return err_set(
            err, ERR_CAPACITY, 0,
            "limit of %lld background commands in this sandbox reached: terminate one, or raise III_MAX_BACKGROUND",
            (long long)n);
    CLEANUP(free_p) char *id = xstrdup(oldest);
    (void)guest_job_forget(s->link, id, on_forgotten, NULL); /* its log is removed with the sandbox at the latest */
    records_drop(&b->records, id);
    return 0;
}

static int launch(struct starting *st, struct sandbox *s, const struct background_plan *plan, const char *dir,
                  struct err *err)
{
    const char *user = NULL;
    CLEANUP(strlist_free_p) char **argv = command_argv(plan->command, err);
    CLEANUP(strlist_free_p) char **env = argv ? command_env(s, plan->env, err) : NULL;
    if (!env || command_user(s, plan->user, &user, err) < 0)
        return -EINVAL;
    struct guest_exec_plan gp = { .argv = (const char *const *)argv,
                                  .env = (const char *const *)env,
                                  .cwd = dir,
                                  .user = user,
                                  .flags = GUEST_EXEC_LOG | GUEST_EXEC_MERGE | (plan->has_stdin ? GUEST_EXEC_STDIN : 0),
                                  .timeout_ms = plan->timeout_ms > 0 ? (uint32_t)plan->timeout_ms : 0,
                                  .tag = json_get_str(st->rec, "id", "") };
    return guest_exec_start(s->link, &gp, &start_events, st, &st->exec, err);
}

int background_start(struct background *b, struct sandbox *s, const struct background_plan *plan, background_fn *fn,
                     void *arg, struct err *err)
{
    const char *dir = NULL;
    char made[IDENT_MAX];
    ident_new(plan->prefix, made);
    const char *id = plan->id ? plan->id : made;
    int r = sandbox_need_running(s, err);
    if (r == 0)
        r = check_id(b, id, err);
    if (r == 0)
        r = command_cwd(s, plan->cwd, &dir, err);
    if (r == 0)
        r = make_room(b, s, err);
    if (r < 0)
        return r;
    struct starting *st = xzalloc(sizeof(*st));
    *st = (struct starting){ .b = b, .fn = fn, .arg = arg };
    st->rec = json_pack("{s:s, s:s, s:o, s:b, s:I, s:b, s:i, s:b}", "id", id, "sandboxId", s->id, "command",
                        command_text(plan->command), "running", 1, "startedAt", (json_int_t)clock_wall_ms(), "stdin",
                        plan->has_stdin, "logBytes", 0, "truncated", 0);
    r = launch(st, s, plan, dir, err);
    if (r < 0) {
        json_decref(st->rec);
        free(st);
    }
    return r;
}
