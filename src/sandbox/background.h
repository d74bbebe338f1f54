/* Commands that outlive their request: started in the agent under their id, their output kept there, their record kept
 * current here and in the store. May include: base/, guest/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/manager.h"

struct background;

struct background *background_new(struct manager *m);
struct background *background_free(struct background *b);
void background_load(struct background *b); /* records from the store, before sandboxes are adopted */
/* Starts one. fn gets the record (borrowed). */
typedef void background_fn(void *arg, json_t *record, const struct err *err);
int background_start(struct background *b, struct sandbox *s, const json_t *command, const char *cwd, background_fn *fn,
                     void *arg, struct err *err);
json_t *background_find(struct background *b, const char *id, struct err *err); /* borrowed; ERR_NOT_FOUND */
void background_drop(struct background *b, const char *sandbox_id); /* all of one sandbox, rows too */
