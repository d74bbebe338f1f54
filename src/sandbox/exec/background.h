/* Commands that outlive their request: started in the agent under their id, their output kept there, their record kept
 * current here and in the store. The background commands of the contract and the durable ones are the same thing.
 * May include: base/, guest/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

struct background;

struct background *background_new(struct manager *m);
struct background *background_free(struct background *b);
void background_load(struct background *b); /* records from the store, before sandboxes are adopted */
struct background_plan {
    const json_t *command; /* string or array of strings */
    const char *prefix;    /* of the id, when there is none */
    const char *id;        /* chosen by the caller, or NULL */
    const char *cwd;       /* NULL: the sandbox's workdir */
    const char *user;      /* as command_user() takes it */
    const json_t *env;     /* {str:str} over the sandbox's own, or NULL */
    int64_t timeout_ms;    /* <= 0: none */
    bool has_stdin;        /* open until background input closes it */
};
/* Starts one. fn gets the record (borrowed), never from inside this call. ERR_CONFLICT when the id is taken,
 * ERR_CAPACITY when III_MAX_BACKGROUND run in this sandbox; of those that have ended the oldest make room. */
typedef void background_fn(void *arg, json_t *record, const struct err *err);
int background_start(struct background *b, struct sandbox *s, const struct background_plan *plan, background_fn *fn,
                     void *arg, struct err *err);
/* The record after a look at the agent, which knows the size of the log. In a paused sandbox it is what was known last.
 */
int background_state(struct background *b, const char *id, background_fn *fn, void *arg, struct err *err);
/* Calls fn once when the log of that tag in s, which has a link, has bytes past offset, or its command has ended or is
 * gone; never from inside this call. However many watch a log, the agent is asked once. NULL with err. */
struct background_watch;
struct background_watch *background_watch(struct background *b, struct sandbox *s, const char *tag, uint64_t offset,
                                          loop_fn *fn, void *arg, struct err *err);
struct background_watch *background_unwatch(struct background_watch *w); /* before fn was called */
/* "": no owner; NULL: no such command. ret_sandbox: the one it runs in. */
const char *background_owner(const struct background *b, const char *id, const char **ret_sandbox);
json_t *background_find(struct background *b, const char *id, struct err *err); /* borrowed; ERR_NOT_FOUND */
json_t *background_list(const struct background *b,
                        const char *sandbox_id);                    /* array of records, oldest first; caller owns */
void background_drop(struct background *b, const char *sandbox_id); /* all of one sandbox, rows too */
