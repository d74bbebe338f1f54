/* Theory of operation. A struct terminal is a shell on a pseudo terminal. It owns the guest's exec, the replay buffer,
 * the two channels made with it and any number of viewers; terminal_set owns the sessions. A session ends once: with
 * its shell, by terminal_close(), or with its sandbox.
 *
 * Output is added to the replay buffer and sent to every viewer. Its bytes are credited to the agent at once while no
 * queue is full, else when the last full one has drained. So the program in the terminal waits for its slowest viewer,
 * but at most STALL_MS: then that viewer is disconnected. Input that exceeds the agent's credit waits in `input`, and
 * reading from all who type is paused until it is sent. */
#include "sandbox/exec/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strlist.h"
#include "engine/channel.h"
#include "http/ws.h"
#include "http/ws_closing.h"
#include "sandbox/lifecycle/manager.h"

#define SCOPE      "terminal"
#define INPUT_MAX  (17 * 1024 * 1024) /* one message of a channel, and what was left of the one before */
#define VIEWER_MAX 65536              /* bytes of one message of a viewer */
#define FULL_BYTES (1024 * 1024)
#define STALL_MS   30000
#define SIZE_LIMIT 1000

struct viewer {
    struct viewer *next;
    struct terminal *terminal;
    struct ws *ws;
    bool is_full;
    char token_id[IDENT_MAX];
};

struct terminal {
    struct terminal_set *set;
    struct sandbox *sandbox; /* in the map: the session ends when it leaves */
    char id[IDENT_MAX];
    char token_id[IDENT_MAX]; /* of who opened it */
    struct guest_exec *exec;
    json_t *record;  /* TerminalSession; NULL until the shell runs */
    terminal_fn *fn; /* who opened it, until told */
    void *arg;
    struct terminal_plan plan; /* shell points into the allow-list */
    struct buf replay, input;
    struct channel *out, *in; /* NULL once left */
    bool is_out_full, is_held;
    struct viewer *viewers;
    struct timer *stall;
    size_t owed; /* output bytes not credited yet */
};

struct terminal_set {
    struct manager *m;
    struct map *sessions; /* id -> struct terminal */
    struct ws_closing *parting;
};

/* --- ending --- */

/* Ends the session. exec has exited or is dropped here. */
static void terminal_end(struct terminal *t, int code, const char *reason)
{
    (void)map_remove(t->set->sessions, t->id);
    if (t->exec)
        guest_exec_drop(t->exec);
    if (t->record) {
        CLEANUP(free_p) char *key = xasprintf("%s:%s", t->sandbox->id, t->id);
        (void)store_delete(t->set->m->store, SCOPE, key, NULL); /* all are cleared at the next start anyway */
        (void)event_log_emit(t->set->m->events, "terminal.closed", t->sandbox->id,
                             json_pack("{s:s}", "sessionId", t->id));
    }
    for (struct viewer *next, *v = t->viewers; v; v = next) {
        next = v->next;
        ws_closing_add(t->set->parting, v->ws, code, reason);
        free(v);
    }
    t->viewers = NULL;
    if (t->out)
        channel_close(t->out, code, reason);
    if (t->in)
        channel_close(t->in, code, reason);
    timer_free(t->stall);
    buf_done(&t->replay);
    buf_done(&t->input);
    json_decref(t->record);
    free(t);
}

/* --- output --- */

static void keep(struct terminal *t, const char *data, size_t len)
{
    if (len >= TERMINAL_REPLAY) {
        buf_clear(&t->replay);
        data += len - TERMINAL_REPLAY;
        len = TERMINAL_REPLAY;
    }
    if (t->replay.len + len > t->replay.max) /* twice what is shown: so bytes move seldom */
        buf_consume(&t->replay, t->replay.len - TERMINAL_REPLAY);
    (void)buf_add(&t->replay, data, len); /* out of memory: only the replay is incomplete */
}

static bool has_full(const struct terminal *t)
{
    bool is_full = t->out && t->is_out_full;
    for (const struct viewer *v = t->viewers; v; v = v->next)
        is_full |= v->is_full;
    return is_full;
}

/* Credits owed bytes once no queue is full. */
static void credit_output(struct terminal *t)
{
    bool is_full = has_full(t);
    if (is_full)
        return;
    timer_set(t->stall, -1, 0);
    if (t->exec && t->owed)
        guest_exec_credit(t->exec, t->owed);
    t->owed = 0;
}

static void on_stall(void *arg)
{
    struct terminal *t = arg;
    for (struct viewer **at = &t->viewers; *at;) {
        struct viewer *v = *at;
        if (!v->is_full) {
            at = &v->next;
            continue;
        }
        *at = v->next;
        ws_drop(v->ws); /* it does not read: a close frame would not arrive either */
        free(v);
    }
    if (t->out && t->is_out_full)
        channel_close(STEAL(t->out), 1008, "too slow");
    credit_output(t);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct terminal *t = arg;
    bool was_full = has_full(t);
    (void)fd;
    keep(t, data, len);
    t->owed += len;
    if (t->out)
        t->is_out_full |= channel_write(t->out, false, data, len) > FULL_BYTES;
    for (struct viewer *v = t->viewers; v; v = v->next)
        v->is_full |= ws_send(v->ws, false, data, len) > FULL_BYTES;
    if (!was_full && has_full(t))
        timer_set(t->stall, STALL_MS, 0);
    credit_output(t);
}

/* --- input --- */

static void hold_all(struct terminal *t, bool is_held)
{
    t->is_held = is_held;
    if (t->in)
        channel_hold(t->in, is_held);
    for (struct viewer *v = t->viewers; v; v = v->next)
        ws_hold(v->ws, is_held);
}

static void on_writable(void *arg)
{
    struct terminal *t = arg;
    buf_consume(&t->input, guest_exec_write(t->exec, buf_text(&t->input), t->input.len));
    if (t->input.len == 0 && t->is_held)
        hold_all(t, false);
}

static void type(struct terminal *t, const char *data, size_t len)
{
    if (!t->exec)
        return;
    size_t sent = t->input.len ? 0 : guest_exec_write(t->exec, data, len);
    if (sent < len && buf_add(&t->input, data + sent, len - sent) < 0)
        log_event(LOG_WARN, "terminal.input", "id", t->id, "error", "no memory, input is lost", NULL);
    if (t->input.len && !t->is_held)
        hold_all(t, true);
}

void terminal_resize(struct terminal *t, uint16_t cols, uint16_t rows)
{
    t->plan.cols = cols;
    t->plan.rows = rows;
    (void)json_object_set_new(t->record, "cols", json_integer(cols));
    (void)json_object_set_new(t->record, "rows", json_integer(rows));
    if (t->exec)
        guest_exec_resize(t->exec, cols, rows);
}

/* A text frame is a control message if it is a known one; else it is input, since web terminals send keys as text. */
static bool obey(struct terminal *t, const char *data, size_t len)
{
    JSON_OWNED j = NULL;
    if (len == 0 || data[0] != '{' || json_read(data, len, &j, NULL) < 0 ||
        strcmp(json_get_str(j, "type", ""), "resize") != 0)
        return false;
    int64_t cols = json_get_int(j, "cols", 0), rows = json_get_int(j, "rows", 0);
    if (cols >= 1 && cols <= SIZE_LIMIT && rows >= 1 && rows <= SIZE_LIMIT)
        terminal_resize(t, (uint16_t)cols, (uint16_t)rows);
    return true;
}

/* --- viewers --- */

static void on_message(void *arg, struct ws *w, bool is_text, const char *data, size_t len)
{
    struct viewer *v = arg;
    (void)w;
    if (!(is_text && obey(v->terminal, data, len)))
        type(v->terminal, data, len);
}

static void on_close(void *arg, struct ws *w, int code, const char *reason)
{
    struct viewer *v = arg;
    (void)w, (void)code, (void)reason;
    struct terminal *t = v->terminal;
    struct viewer **at = &t->viewers;
    while (*at != v)
        at = &(*at)->next;
    *at = v->next;
    free(v);
    credit_output(t);
}

static void on_drain(void *arg, struct ws *w)
{
    struct viewer *v = arg;
    (void)w;
    v->is_full = false;
    credit_output(v->terminal);
}

static void show_replay(const struct terminal *t, struct ws *w, struct channel *c)
{
    size_t len = t->replay.len < TERMINAL_REPLAY ? t->replay.len : TERMINAL_REPLAY;
    const char *data = buf_text(&t->replay) + t->replay.len - len;
    if (len && w)
        (void)ws_send(w, false, data, len);
    if (len && c)
        (void)channel_write(c, false, data, len);
}

int terminal_attach(struct terminal *t, struct http_req *r, const char *token_id)
{
    static const struct ws_events events = { .on_message = on_message, .on_close = on_close, .on_drain = on_drain };
    int n = 0;
    for (const struct viewer *v = t->viewers; v; v = v->next)
        n++;
    if (n >= TERMINAL_VIEWERS) {
        static const char full[] = "{\"error\":\"limit of 8 viewers of this terminal reached\"}";
        http_req_reply(r, 429, "application/json", full, sizeof(full) - 1);
        return 429;
    }
    struct viewer *v = xzalloc(sizeof(*v));
    v->terminal = t;
    (void)snprintf(v->token_id, sizeof(v->token_id), "%s", token_id);
    if (ws_accept(t->set->m->loop, r, VIEWER_MAX, &events, v, &v->ws) < 0) {
        free(v);
        return 400;
    }
    v->next = t->viewers;
    t->viewers = v;
    if (t->is_held)
        ws_hold(v->ws, true);
    show_replay(t, v->ws, NULL);
    return 101;
}

/* --- the two channels --- */

static void on_out_claimed(void *arg, struct channel *c)
{
    show_replay(arg, NULL, c);
}

static void on_out_drain(void *arg, struct channel *c)
{
    struct terminal *t = arg;
    (void)c;
    t->is_out_full = false;
    credit_output(t);
}

static void on_out_closed(void *arg, struct channel *c)
{
    struct terminal *t = arg;
    (void)c;
    t->out = NULL;
    credit_output(t);
}

static void on_in_data(void *arg, struct channel *c, bool is_text, const char *data, size_t len)
{
    (void)c;
    if (!(is_text && obey(arg, data, len)))
        type(arg, data, len);
}

static void on_in_claimed(void *arg, struct channel *c)
{
    struct terminal *t = arg;
    if (t->is_held)
        channel_hold(c, true);
}

static void on_in_closed(void *arg, struct channel *c)
{
    struct terminal *t = arg;
    (void)c;
    t->in = NULL; /* the shell continues: others may type, and output still has readers */
}

/* --- beginning --- */

static void on_started(void *arg, int pid)
{
    static const struct channel_events out_events = { .on_claimed = on_out_claimed,
                                                      .on_drain = on_out_drain,
                                                      .on_closed = on_out_closed };
    static const struct channel_events in_events = { .on_claimed = on_in_claimed,
                                                     .on_data = on_in_data,
                                                     .on_closed = on_in_closed };
    struct terminal *t = arg;
    struct manager *m = t->set->m;
    struct err err = ERR_INIT;
    char exec_id[16];
    (void)snprintf(exec_id, sizeof(exec_id), "%d", pid);
    t->out = channel_new(m->channels, CHANNEL_WRITER, &out_events, t);
    t->in = channel_new(m->channels, CHANNEL_READER, &in_events, t);
    t->record =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:I}", "sessionId", t->id, "sandboxId", t->sandbox->id,
                  "execId", exec_id, "cols", t->plan.cols, "rows", t->plan.rows, "shell", t->plan.shell, "status",
                  "running", "backend", t->sandbox->runtime->ops->name, "createdAt", (json_int_t)clock_wall_ms());
    CLEANUP(free_p) char *key = xasprintf("%s:%s", t->sandbox->id, t->id);
    if (store_put(m->store, SCOPE, key, t->record, &err) < 0)
        log_event(LOG_ERROR, "terminal.save", "id", t->id, "error", err.msg, NULL);
    (void)json_object_set_new(t->record, "channel", /* not stored: of no use after a restart */
                              json_pack("{s:o, s:o}", "writer", channel_ref_json(t->in, CHANNEL_WRITER), "reader",
                                        channel_ref_json(t->out, CHANNEL_READER)));
    (void)event_log_emit(m->events, "terminal.opened", t->sandbox->id, json_pack("{s:s}", "sessionId", t->id));
    terminal_fn *fn = STEAL(t->fn);
    fn(t->arg, t->record, NULL); /* may close it: the last use of t */
}

static void on_shell_exit(void *arg, const struct guest_exit *ex)
{
    struct terminal *t = arg;
    char reason[32];
    t->exec = NULL;
    (void)snprintf(reason, sizeof(reason), "exit %d", ex->code);
    terminal_end(t, 1000, reason);
}

static void tell_failed(struct terminal *t, const struct err *err)
{
    terminal_fn *fn = STEAL(t->fn);
    if (fn)
        fn(t->arg, NULL, err);
}

static void on_failed(void *arg, const struct err *err)
{
    struct terminal *t = arg;
    struct err why = *err;
    t->exec = NULL;
    (void)err_wrap(&why, 0, "terminal with %s", t->plan.shell);
    tell_failed(t, &why);
    terminal_end(t, 1011, "the sandbox's agent has exited");
}

static const char *allowed_shell(const char *shell, struct err *err)
{
    static const char *const shells[] = { "/bin/sh", "/bin/bash", "/bin/zsh", "/bin/ash" };
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(shell, shells[i]) == 0)
            return shells[i];
    (void)err_set(err, ERR_FORBIDDEN, 0,
                  "shell not allowed: \"%.64s\" is not one of /bin/sh, /bin/bash, /bin/zsh, /bin/ash", shell);
    return NULL;
}

static int check_room(const struct terminal_set *set, const struct sandbox *s, struct err *err)
{
    int64_t n = 0, max = set->m->settings->max_terminals;
    for (struct map_iter it = map_iter(set->sessions); map_next(&it);)
        n += ((struct terminal *)it.value)->sandbox == s;
    if (n < max)
        return 0;
    return err_set(err, ERR_RATE_LIMITED, 0,
                   "limit of %lld terminals of %s reached: close one, or raise III_MAX_TERMINALS", (long long)max,
                   s->id);
}

int terminal_open(struct terminal_set *set, struct sandbox *s, const struct terminal_plan *plan, terminal_fn *fn,
                  void *arg, struct err *err)
{
    static const struct guest_exec_events events = {
        .on_started = on_started, .on_output = on_output, .on_exit = on_shell_exit, .on_failed = on_failed
    };
    const char *shell = allowed_shell(plan->shell, err);
    int r = shell ? check_room(set, s, err) : -1;
    if (r < 0)
        return r;
    struct terminal *t = xzalloc(sizeof(*t));
    t->set = set;
    t->sandbox = s;
    (void)snprintf(t->token_id, sizeof(t->token_id), "%s", plan->token_id ? plan->token_id : "");
    t->plan = (struct terminal_plan){ .cols = plan->cols, .rows = plan->rows, .shell = shell };
    t->fn = fn;
    t->arg = arg;
    buf_init(&t->replay, 2 * TERMINAL_REPLAY);
    buf_init(&t->input, INPUT_MAX);
    ident_new("term", t->id);
    t->stall = timer_new(set->m->loop, -1, 0, on_stall, t);
    map_set(set->sessions, t->id, t);
    const char *argv[] = { shell, NULL };
    CLEANUP(strlist_free_p) char **env = strlist_copy((char *const *)(uintptr_t)sandbox_env(s));
    if (!strlist_env_get(env, "TERM"))
        strlist_env_set(&env, "TERM", "xterm-256color");
    struct guest_exec_plan how = { .argv = argv,
                                   .env = (const char *const *)env,
                                   .cwd = sandbox_workdir(s),
                                   .user = s->user,
                                   .flags = GUEST_EXEC_PTY | GUEST_EXEC_STDIN,
                                   .cols = plan->cols,
                                   .rows = plan->rows };
    r = guest_exec_start(s->link, &how, &events, t, &t->exec, err);
    if (r < 0)
        terminal_end(t, 1011, "");
    else
        guest_exec_on_writable(t->exec, on_writable, t);
    return r;
}

struct terminal *terminal_find(struct terminal_set *set, const struct sandbox *s, const char *session_id,
                               struct err *err)
{
    struct terminal *t = map_get(set->sessions, session_id);
    if (t && t->sandbox == s && t->record)
        return t;
    (void)err_set(err, ERR_NOT_FOUND, 0, "terminal not found: %.64s", session_id);
    return NULL;
}

void terminal_close(struct terminal *t)
{
    terminal_end(t, 1000, "closed");
}

void terminal_end_of(struct terminal_set *set, const char *token_id)
{
    for (struct map_iter it = map_iter(set->sessions); map_next(&it);) {
        struct terminal *t = it.value;
        if (strcmp(t->token_id, token_id) == 0 && t->record) { /* one that is being opened ends with its call */
            terminal_end(t, 1008, "the token was revoked");
            continue;
        }
        for (struct viewer **at = &t->viewers; *at;) {
            struct viewer *v = *at;
            if (strcmp(v->token_id, token_id) != 0) {
                at = &v->next;
                continue;
            }
            *at = v->next;
            ws_closing_add(t->set->parting, v->ws, 1008, "the token was revoked");
            free(v);
        }
        credit_output(t);
    }
}

/* --- all of them --- */

static void end_those_of(struct terminal_set *set, const struct sandbox *s, const char *why)
{
    for (struct map_iter it = map_iter(set->sessions); map_next(&it);) {
        struct terminal *t = it.value;
        struct err err = ERR_INIT;
        if (s && t->sandbox != s)
            continue;
        (void)err_set(&err, ERR_CONFLICT, 0, "terminal: %s", why);
        tell_failed(t, &err);
        terminal_end(t, 1001, why);
    }
}

static void on_leave(void *arg, struct sandbox *s)
{
    end_those_of(arg, s, "the sandbox has ended");
}

struct terminal_set *terminal_set_new(struct manager *m)
{
    struct terminal_set *set = xzalloc(sizeof(*set));
    set->m = m;
    set->sessions = map_new();
    set->parting = ws_closing_new();
    (void)store_clear(m->store, SCOPE); /* a shell does not outlive its server */
    manager_on_leave(m, on_leave, set);
    return set;
}

struct terminal_set *terminal_set_free(struct terminal_set *set)
{
    if (!set)
        return NULL;
    end_those_of(set, NULL, "the server stops");
    map_free(set->sessions);
    ws_closing_free(set->parting);
    free(set);
    return NULL;
}
