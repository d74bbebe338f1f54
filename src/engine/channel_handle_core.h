/* How channel ends are made. Private to engine/. */
#pragma once
#include "engine/channel_handle.h"
#include "engine/engine_core.h"

/* base_url NULL: a channel of this engine; else "ws://host:port" of an outside one. Errors as
 * engine_call_open_channel(). */
int channel_handle_open(struct engine *e, const char *base_url, const json_t *ref,
                        const struct channel_handle_events *ev, void *arg, struct channel_handle **ret,
                        struct err *err);
/* Of whose call it is: it ends with the right to call. Left out: nobody's. */
void channel_handle_set_identity(struct channel_handle *c, const char *identity);
void channel_handle_end_of(struct engine *e,
                           const char *identity); /* each holder hears on_end; what waits for a reader goes */
void channel_handle_stop_all(struct engine *e);   /* each holder hears on_end */
