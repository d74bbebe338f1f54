/* The engine as an entry point to the operations of the table: each row is callable under its function id, with the
 * same checks and handlers as over REST. May include: api/, engine/, spec/. */
#pragma once
#include "api/api.h"
#include "engine/engine.h"

/* One function for each row that takes and gives JSON. A row that streams answers {"channel": reader reference}; each
 * event is one text message on it, and a reader that leaves ends the work.
 * Routes that workers bind are served by the REST listener behind its token, except below /prefix/, which is the
 * table's. */
struct engine_entry;
struct engine_entry *engine_entry_new(struct engine *e, struct api *a, const char *prefix);
struct engine_entry *engine_entry_free(struct engine_entry *d); /* when no call can come any more */
/* engine_options.auth, on_refused and on_head; arg is the struct api. What is refused is in the audit log. */
engine_auth_fn engine_entry_auth;
engine_refused_fn engine_entry_refused;
engine_head_fn engine_entry_head;
