/* How channel ends are made. Private to engine/. */
#pragma once
#include "engine/chanend.h"
#include "engine/engine_core.h"

/* base_url NULL: a channel of this engine; else "ws://host:port" of an outside one. Errors as
 * engine_call_open_channel(). */
int chanend_open(struct engine *e, const char *base_url, const json_t *ref, const struct chanend_events *ev, void *arg,
                 struct chanend **ret, struct err *err);
void chanend_stop_all(struct engine *e); /* each holder hears on_end */
