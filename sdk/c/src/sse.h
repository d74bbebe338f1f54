/* sse.h: server-sent events. Every "data:" line is one JSON value; the rest of the protocol is skipped. */
#pragma once
#include "http.h"

struct sse {
    struct text line; /* what has come of a line that is not complete yet */
    iii_data_fn *on_data;
    void *arg;
};

void iii_sse_init(struct sse *s, iii_data_fn *on_data, void *arg);
/* 0, or what on_data returned, or III_PROTOCOL for a line without end. */
int iii_sse_feed(struct sse *s, const char *data, size_t size, struct iii_error *err);
/* The connection ended: a last line may lack its newline. */
int iii_sse_end(struct sse *s, struct iii_error *err);
void iii_sse_done(struct sse *s);
