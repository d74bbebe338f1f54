/* The sixteen sandbox:: functions of the engine: their own payloads, answers and errors (S-codes), beside the
 * operations of the table. May include: base/, engine/, sandbox/ and what that hands out. */
#pragma once
#include "base/err.h"
#include "engine/engine.h"
#include "sandbox/lifecycle/manager.h"

struct fn_set;
struct api;

/* Registers all at e; those of the table with the same id are replaced.
 * ERR_INVALID: a setting of the functions is wrong. */
int fn_new(struct engine *e, struct manager *m, struct api *a, struct fn_set **ret, struct err *err);
/* Calls that begin from now on go by the rows functions.* of s, of which nothing is kept; sandboxes that are there stay
 * as they are. ERR_INVALID: a setting is wrong, and all stays as it was. */
int fn_reload(struct fn_set *f, const struct settings *s, struct err *err);
/* When no call can come any more, after the manager's last callback. */
struct fn_set *fn_free(struct fn_set *f);
