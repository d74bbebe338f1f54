/* Output of a command while it runs: sandbox::exec with `stream`, the write end of a channel. Binary frames, one byte 1
 * (stdout) or 2 (stderr) and then output; closed after the last. Private to fn*.c. */
#pragma once
#include "api/fn.h"

struct fn_stream;

/* Opens the channel the payload names; *ret NULL when it names none. S001 in call_fn(c)->fault when it cannot be
 * opened. on_room: more may be sent after fn_stream_send() said no. on_gone: the reader has left; what is sent from now
 * on is dropped. */
int fn_stream_open(struct call *c, loop_fn *on_room, loop_fn *on_gone, void *arg, struct fn_stream **ret);
bool fn_stream_send(struct fn_stream *st, int fd, const char *data, size_t len); /* false: wait for on_room */
struct fn_stream *fn_stream_finish(struct fn_stream *st);                        /* NULL is fine */
