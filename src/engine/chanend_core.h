/* How channel ends are made. Private to engine/. */
#pragma once
#include "engine/chanend.h"
#include "engine/engine_core.h"

/* base_url NULL: a channel of this engine; else "ws://host:port" of an outside one. Errors as
 * engine_call_open_channel(). */
int chanend_open(struct engine *e, const char *base_url, const json_t *ref, const struct chanend_events *ev, void *arg,
                 struct chanend **ret, struct err *err);
/* Of whose call it is: it ends with the right to call. Left out: nobody's. */
void chanend_set_identity(struct chanend *c, const char *identity);
void chanend_end_of(struct engine *e,
                    const char *identity); /* each holder hears on_end; what waits for a reader goes */
void chanend_stop_all(struct engine *e);   /* each holder hears on_end */
