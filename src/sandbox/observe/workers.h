/* The workers of this server's store: the entry of this server, renewed by a heartbeat, and entries of servers with
 * earlier names. May include: base/, loop/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

#define WORKERS_ALIVE_MS 30000 /* a heartbeat this old is a dead worker's */

struct workers;

struct workers *workers_new(struct manager *m);
struct workers *workers_free(struct workers *w);

/* Each returns a new value of the contract, or NULL with err. */
json_t *workers_heartbeat(struct workers *w, struct err *err); /* WorkerInfo, written first */
json_t *workers_list(struct workers *w, struct err *err);      /* {workers, alive, dead} */
json_t *workers_select(struct workers *w, struct err *err);    /* {workerId}; ERR_CAPACITY when all are full */
json_t *workers_reap(struct workers *w, struct err *err);      /* {reaped, reassigned, expired} */
json_t *workers_migrate(struct workers *w, struct err *err);   /* {migrated} */
