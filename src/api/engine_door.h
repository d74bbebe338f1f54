/* The engine as a door to the operations of the table: each row is callable under its function id, with the same checks
 * and handlers as over REST. May include: api/, engine/, spec/. */
#pragma once
#include "api/api.h"
#include "engine/engine.h"

/* One function for each row that takes and gives JSON. A row that streams answers {"channel": reader reference}; each
 * event is one text message on it, and a reader that leaves ends the work. Functions added later under the same id win.
 * Routes that workers bind are served by the REST listener behind its token, except below /prefix/, which is the
 * table's. */
struct engine_door;
struct engine_door *engine_door_new(struct engine *e, struct api *a, const char *prefix);
struct engine_door *engine_door_free(struct engine_door *d); /* when no call can come any more */
/* engine_options.auth; arg is the keyring. */
enum engine_verdict engine_door_auth(void *arg, const char *token, char ret_id[ENGINE_ID_MAX]);
