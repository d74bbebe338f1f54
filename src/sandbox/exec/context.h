/* Interpreter contexts: processes inside a sandbox that run snippet after snippet with the same variables. Python ones
 * are forked from one warm process of the sandbox, JavaScript ones are a process each. May include: base/, loop/,
 * store/, sandbox/. Invariants: (1) a context runs one snippet at a time; (2) a context without a process is dead (it
 * ended) or lost (the server was restarted: the processes end with its link) and stays listed until it is restarted or
 * deleted; (3) of each snippet at most CONTEXT_OUTPUT_MAX bytes of a stream and CONTEXT_RESULTS_MAX bytes of results
 * are kept or passed on. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

#define CONTEXT_OUTPUT_MAX  (4u << 20)
#define CONTEXT_RESULTS_MAX (8u << 20)
#define CONTEXT_GRACE_MS    2000 /* from the interrupt of a snippet to the kill of its process */

struct context;
struct context_set;

struct context_set *context_set_new(struct manager *m);
struct context_set *context_set_free(struct context_set *set);
void context_set_load(struct context_set *set);                         /* records of an earlier server: lost ones */
void context_set_drop(struct context_set *set, const char *sandbox_id); /* all of one sandbox, rows too */

/* c is borrowed; NULL with err. Never called from inside the call that asked. */
typedef void context_fn(void *arg, struct context *c, const struct err *err);
struct context_plan {
    const char *language;
    const char *cwd;   /* NULL: the sandbox's workdir */
    const json_t *env; /* over the sandbox's own, or NULL */
    bool is_default;   /* that of its language */
};
/* ERR_CAPACITY past III_MAX_CONTEXTS; ERR_UNSUPPORTED when the image has no interpreter for it. */
int context_create(struct context_set *set, struct sandbox *s, const struct context_plan *plan, context_fn *fn,
                   void *arg, struct err *err);
/* A new process for the same context, whatever state the old one is in. */
int context_restart(struct context *c, context_fn *fn, void *arg, struct err *err);
int context_delete(struct context *c, struct err *err);
/* id: its own, or a language (context_is_language()): the default context of it. */
struct context *context_find(struct context_set *set, const char *sandbox_id, const char *id, struct err *err);
bool context_is_language(const char *id);
json_t *context_json(const struct context *c);                               /* Context; caller owns */
json_t *context_list(const struct context_set *set, const char *sandbox_id); /* ContextList; caller owns */

struct context_events {
    /* Both NULL: kept for the result. type is "stdout" or "stderr"; whole letters only. */
    void (*on_output)(void *arg, const char *type, const char *data, size_t len);
    void (*on_result)(void *arg, json_t *result); /* borrowed */
    /* Once, the last call: a ContextResult (borrowed); NULL with err when the context or its sandbox was taken away. */
    void (*on_done)(void *arg, json_t *result, const struct err *err);
};
/* ERR_CONFLICT when it is not idle. timeout_ms <= 0: the server's maximum; longer ones are cut to it. */
int context_execute(struct context *c, const char *code, int64_t timeout_ms, const struct context_events *ev, void *arg,
                    struct err *err);
/* The default context of a language, made at its first use and restarted when it has no process. user->fn gets it idle,
 * when it is this caller's turn, and calls context_execute() at once; or NULL with err. Never called from inside this
 * call. A caller that does not wait any longer leaves. */
struct context_turn;
struct context_user {
    context_fn *fn;
    void *arg;
};
int context_default(struct context_set *set, struct sandbox *s, const char *language, const struct context_user *user,
                    struct context_turn **ret, struct err *err);
void context_leave(struct context_turn *turn);
void context_abandon(struct context *c); /* the one who asked has left: no more callbacks, the snippet is interrupted */
bool context_interrupt(struct context *c); /* false: nothing ran */
