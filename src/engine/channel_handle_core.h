/* How channel handles are opened and ended. Private to engine/. */
#pragma once
#include "engine/channel_handle.h"
#include "engine/engine_core.h"

/* base_url NULL: a channel of this engine; else "ws://host:port" of an outside one. Errors as
 * engine_call_open_channel(). */
int channel_handle_open(struct engine *e, const char *base_url, const json_t *ref,
                        const struct channel_handle_events *ev, void *arg, struct channel_handle **ret,
                        struct err *err);
/* Identity of the caller; the channel ends when that identity loses its right to call. Not set: nobody's. */
void channel_handle_set_identity(struct channel_handle *c, const char *identity);
void channel_handle_end_of(struct engine *e,
                           const char *identity); /* each holder gets on_end; data that waits for a reader is dropped */
void channel_handle_stop_all(struct engine *e);   /* each holder gets on_end */
