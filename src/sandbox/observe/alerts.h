/* Alerts on resource use: checked on the cron of III_METRICS_INTERVAL, recorded, and acted upon (notify, pause, kill).
 * An alert and its history are removed with their sandbox. May include: base/, loop/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"

#define ALERTS_HISTORY_MAX 1000 /* fired alerts kept for one sandbox; the oldest go */

struct alerts;

/* Reads the records and starts the checks. -EINVAL when III_METRICS_INTERVAL is not a cron expression. */
int alerts_new(struct manager *m, struct alerts **ret, struct err *err);
struct alerts *alerts_free(struct alerts *a);

/* Sets one. Borrowed; NULL with ERR_INVALID for a threshold out of the metric's range, ERR_CAPACITY at III_MAX_ALERTS.
 */
json_t *alerts_set(struct alerts *a, struct sandbox *s, const char *metric, double threshold, const char *action,
                   struct err *err);
json_t *alerts_list(const struct alerts *a, const char *sandbox_id); /* array of ResourceAlert; caller owns */
/* "": no owner; NULL: no such alert. ret_sandbox: the one it watches. */
const char *alerts_owner(const struct alerts *a, const char *id, const char **ret_sandbox);
int alerts_delete(struct alerts *a, const char *id, struct err *err); /* ERR_NOT_FOUND */
void alerts_drop(struct alerts *a, const char *sandbox_id);           /* all of one sandbox, history too */
/* {events, total}, newest first; caller owns. */
json_t *alerts_history(const struct alerts *a, const char *sandbox_id, int64_t limit);

int64_t alerts_fired(const struct alerts *a); /* since the server started */
