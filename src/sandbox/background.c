#include "sandbox/background.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "sandbox/command.h"

#define SCOPE "background"

struct background {
    struct manager *m;
    struct map *records; /* id -> json_t */
};

static void save(struct background *b, json_t *rec)
{
    struct err err = ERR_INIT;
    if (store_put(b->m->store, SCOPE, json_get_str(rec, "id", ""), rec, &err) < 0)
        log_event(LOG_ERROR, "background.save", "id", json_get_str(rec, "id", ""), "error", err.msg, NULL);
}

static void mark_ended(struct background *b, json_t *rec, int code)
{
    (void)json_object_set_new(rec, "running", json_false());
    (void)json_object_set_new(rec, "exitCode", json_integer(code));
    (void)json_object_set_new(rec, "finishedAt", json_integer(clock_wall_ms()));
    save(b, rec);
}

static void on_job_exit(void *arg, const char *tag, const struct guest_exit *ex)
{
    struct background *b = arg;
    json_t *rec = map_get(b->records, tag);
    if (rec && json_get_bool(rec, "running", false))
        mark_ended(b, rec, ex->code);
}

struct asking {
    struct background *b;
    char id[IDENT_MAX];
};

static void on_state(void *arg, const struct guest_job *job, const struct err *err)
{
    struct asking *a = arg;
    json_t *rec = map_get(a->b->records, a->id);
    if (rec && json_get_bool(rec, "running", false)) {
        if (err && err->code == ERR_NOT_FOUND)
            mark_ended(a->b, rec, -1);
        else if (!err && !job->is_running)
            mark_ended(a->b, rec, job->exit.code);
    }
    free(a);
}

static void on_enter(void *arg, struct sandbox *s)
{
    struct background *b = arg;
    guest_on_job_exit(s->link, on_job_exit, b);
    for (struct map_iter it = map_iter(b->records); map_next(&it);) {
        json_t *rec = it.value;
        if (strcmp(json_get_str(rec, "sandboxId", ""), s->id) != 0 || !json_get_bool(rec, "running", false))
            continue;
        struct asking *a = xzalloc(sizeof(*a)); /* it may have ended while no server was there */
        a->b = b;
        memcpy(a->id, it.key, strnlen(it.key, sizeof(a->id) - 1));
        if (guest_job_state(s->link, it.key, on_state, a) < 0)
            free(a);
    }
}

static void on_leave(void *arg, struct sandbox *s)
{
    background_drop(arg, s->id);
}

struct background *background_new(struct manager *m)
{
    struct background *b = xzalloc(sizeof(*b));
    b->m = m;
    b->records = map_new();
    manager_on_enter(m, on_enter, b);
    manager_on_leave(m, on_leave, b);
    return b;
}

struct background *background_free(struct background *b)
{
    if (!b)
        return NULL;
    for (struct map_iter it = map_iter(b->records); map_next(&it);)
        json_decref(it.value);
    map_free(b->records);
    free(b);
    return NULL;
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct background *b = arg;
    map_set(b->records, key, json_incref(doc));
    return true;
}

void background_load(struct background *b)
{
    struct err err = ERR_INIT;
    if (store_each(b->m->store, SCOPE, false, load_one, b, &err) < 0)
        log_event(LOG_ERROR, "background.load", "error", err.msg, NULL);
}

void background_drop(struct background *b, const char *sandbox_id)
{
    for (struct map_iter it = map_iter(b->records); map_next(&it);) {
        json_t *rec = it.value;
        if (strcmp(json_get_str(rec, "sandboxId", ""), sandbox_id) != 0)
            continue;
        (void)store_delete(b->m->store, SCOPE, it.key, NULL); /* an orphan row is dropped at the next start */
        (void)map_remove(b->records, it.key);
        json_decref(rec);
    }
}

json_t *background_find(struct background *b, const char *id, struct err *err)
{
    json_t *rec = map_get(b->records, id);
    if (!rec)
        (void)err_set(err, ERR_NOT_FOUND, 0, "background command not found: %.64s", id);
    return rec;
}

struct starting {
    struct background *b;
    struct guest_exec *exec;
    json_t *rec;
    background_fn *fn;
    void *arg;
};

static void on_started(void *arg, int pid)
{
    struct starting *st = arg;
    struct background *b = st->b;
    guest_exec_drop(st->exec); /* durable: the exit notice comes over the link */
    (void)json_object_set_new(st->rec, "pid", json_integer(pid));
    map_set(b->records, json_get_str(st->rec, "id", ""), json_incref(st->rec));
    save(b, st->rec);
    st->fn(st->arg, st->rec, NULL);
    json_decref(st->rec);
    free(st);
}

static void on_failed(void *arg, const struct err *err)
{
    struct starting *st = arg;
    st->fn(st->arg, NULL, err);
    json_decref(st->rec);
    free(st);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    (void)arg, (void)fd, (void)data, (void)len; /* durable commands write to their log, not to the link */
}

/* The exit of a command that ended before on_started was handled: never seen, on_started comes first by contract. */
static void on_exited(void *arg, const struct guest_exit *ex)
{
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_INTERNAL, 0, "the command ended with code %d before it was reported as started", ex->code);
    on_failed(arg, &err);
}

static const struct guest_exec_events start_events = {
    .on_started = on_started, .on_output = on_output, .on_exit = on_exited, .on_failed = on_failed
};

static json_t *new_record(const struct sandbox *s, const json_t *command)
{
    char id[IDENT_MAX];
    ident_new("bg", id);
    json_t *text = json_is_string(command) ? json_copy((json_t *)(uintptr_t)command) : NULL;
    if (!text) {
        char *joined = json_write(command, NULL);
        text = json_string(joined);
        free(joined);
    }
    return json_pack("{s:s, s:s, s:o, s:b, s:I}", "id", id, "sandboxId", s->id, "command", text, "running", 1,
                     "startedAt", (json_int_t)clock_wall_ms());
}

int background_start(struct background *b, struct sandbox *s, const json_t *command, const char *cwd, background_fn *fn,
                     void *arg, struct err *err)
{
    const char *dir = NULL;
    int r = sandbox_need_running(s, err);
    if (r == 0)
        r = command_cwd(s, cwd, &dir, err);
    if (r < 0)
        return r;
    CLEANUP(strlist_free_p) char **argv = command_argv(command, err);
    if (!argv)
        return -1;
    struct starting *st = xzalloc(sizeof(*st));
    *st = (struct starting){ .b = b, .rec = new_record(s, command), .fn = fn, .arg = arg };
    struct guest_exec_plan plan = { .argv = (const char *const *)argv,
                                    .env = sandbox_env(s),
                                    .cwd = dir,
                                    .user = s->user,
                                    .flags = GUEST_EXEC_LOG | GUEST_EXEC_MERGE,
                                    .tag = json_get_str(st->rec, "id", "") };
    r = guest_exec_start(s->link, &plan, &start_events, st, &st->exec, err);
    if (r < 0) {
        json_decref(st->rec);
        free(st);
    }
    return r;
}
