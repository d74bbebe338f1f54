/* What context.c (lives) and context_run.c (snippets) share. Private to them. May include: base/, loop/, sandbox/. */
#pragma once
#include "base/buf.h"
#include "loop/loop.h"
#include "sandbox/exec/context.h"
#include "sandbox/exec/kernel.h"

enum context_state { CONTEXT_STARTING, CONTEXT_IDLE, CONTEXT_BUSY, CONTEXT_DEAD, CONTEXT_LOST };

/* A driver process and the contexts it serves. */
struct context_host {
    struct context_set *set;
    struct context_host *next;
    struct sandbox *s; /* referenced */
    struct kernel *kernel;
    const char *language;     /* static */
    struct context *contexts; /* those it serves */
    uint32_t last_number;
    char complaint[160]; /* last line outside of frames: why it could not start */
};

struct context_run; /* context_run.c */

struct context {
    struct context_set *set;
    char id[IDENT_MAX], sandbox_id[IDENT_MAX];
    const char *language; /* static */
    char *cwd;
    json_t *env; /* {str:str} or NULL */
    int64_t created_at, count;
    bool is_new; /* has never been ready: no client has its id */
    bool is_default;
    struct context_turn *turns; /* of a default context: who waits for it */
    enum context_state state;
    char why[200];             /* of dead and lost */
    struct context_host *host; /* NULL: no process */
    struct context *next;      /* at its host */
    uint32_t number;           /* at its host */
    context_fn *on_ready;      /* waits for the process */
    void *ready_arg;
    struct timer *timer; /* of the start, or of the snippet */
    timer_fn *timer_is;
    struct context_run *run;
};

const char *context_state_name(enum context_state st);
void context_kill(struct context *c); /* kills the process; its end answers pending requests */

void context_end_host(struct context *c); /* its driver does not respond: ends the host */
struct manager *context_manager(const struct context *c);
void context_set_timer(struct context *c, int64_t delay_ms, timer_fn *fn); /* the one timer of a context */

/* context_turn.c: after a change of the state; and when nobody can have the context any more. */
void context_turn_next(struct context *c);
void context_turn_fail(struct context *c, const struct err *err);

/* A frame of the snippet that runs; those of none are dropped. */
void context_run_frame(struct context *c, char letter, const char *data, size_t len);
void context_run_ended(struct context *c, const char *why);      /* with its process: the result says so */
void context_run_fail(struct context *c, const struct err *err); /* taken away: on_done gets err */
