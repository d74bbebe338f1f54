/* Inside fn*.c: one call of a sandbox:: function, its errors, and what the functions know about each sandbox. */
#pragma once
#include "api/fn.h"
#include "api/fn_policy.h"
#include "api/keyring.h"
#include "base/json.h"
#include "base/uuid.h"

struct fn_call;

/* What went wrong, as the contract's envelope. */
struct fn_fault {
    const char *code;   /* "S001"; NULL: nothing is wrong */
    char message[4800]; /* the last words of a machine are the longest */
    json_t *fix;        /* owned; NULL: null */
    const char *note;   /* NULL: the code's own */
    json_t *extra;      /* owned: members to add to the envelope; or NULL */
    bool has_no_note;   /* even where the code has one */
};

typedef void fn_handler(struct fn_call *c);
/* The end of a call that is a step of another. result is borrowed, NULL with fault. */
typedef void fn_done_fn(void *arg, json_t *result, const struct fn_fault *fault);

struct fn_row {
    const char *id;
    fn_handler *fn;
    bool is_write; /* changes something: not for read-only tokens */
    const char *help;
    const char *fields; /* for the schema: "image:string! cpus:integer"; see fn_schema.h */
    const char *answer;
};

struct fn_set {
    struct engine *engine;
    struct manager *manager;
    struct api *api;
    struct audit *audit;         /* borrowed; NULL: off */
    struct fn_policy *policy;    /* for calls that begin now; what one began with is in the call */
    unsigned n_made, n_creating; /* sandboxes of the functions: alive, and on their way */
    struct fn_entry *entries;    /* one for each row */
};

struct fn_call {
    struct fn_set *set;
    const struct fn_row *row;
    struct engine_call *engine_call; /* NULL: a step */
    struct caller *who;              /* referenced; NULL: nobody who had to show a token */
    struct fn_policy *policy;        /* referenced */
    json_t *in;                      /* the payload, an object of our own */
    fn_done_fn *done;                /* of a step */
    void *arg;
    int64_t begun_us;
    char sandbox_id[UUID_MAX]; /* "" until known */
    struct fn_fault fault;     /* filled by the readers of fn_args.h */
};

extern const struct fn_row fn_rows[]; /* ended by id NULL */

/* --- ending a call, exactly once --- */
void fn_ok(struct fn_call *c, json_t *result); /* takes result */
void fn_fail(struct fn_call *c, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4);
void fn_fail_fault(struct fn_call *c);                                                         /* with c->fault */
int fn_set_fault(struct fn_call *c, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4); /* -EINVAL */
/* A failure of a file call. s may be gone by now. */
void fn_fail_file(struct fn_call *c, const struct sandbox *s, const struct err *err, const char *path);
void fn_fail_start(struct fn_call *c, const struct sandbox *s, int r, const char *path); /* a call that did not begin */
json_t *fn_fault_json(const struct fn_fault *f);                                         /* the envelope; caller owns */

/* Runs a function as a step of another, for the same caller: done comes, perhaps before this returns. in is taken. */
void fn_step(struct fn_call *of, const char *id, json_t *in, fn_done_fn *done, void *arg);

/* --- sandboxes --- */
/* By the payload's sandbox_id, read before: S002, S004. Counts as activity. NULL: c->fault says why. */
struct sandbox *fn_find(struct fn_call *c);
/* fn_args_id() and fn_find(); the call has failed when this is NULL. */
struct sandbox *fn_take_sandbox(struct fn_call *c);
