/* A back end whose answers the test gives: operations wait in a list, oldest first. */
#pragma once
#include <assert.h>
#include <stdlib.h>

#include "mcp/mcp_backend.h"

#define FAKEBACK_MAX 128

struct fakeback_call {
    struct mcp_backend_sink sink;
    enum op_id op;
    json_t *params;
};
struct fakeback {
    struct mcp_backend back;
    struct fakeback_call *calls[FAKEBACK_MAX];
    size_t n, n_dropped;
};

static inline void fakeback_remove(struct fakeback *f, size_t at)
{
    json_decref(f->calls[at]->params);
    free(f->calls[at]);
    f->n--;
    for (size_t i = at; i < f->n; i++)
        f->calls[i] = f->calls[i + 1];
}

static inline void *fakeback_start(void *arg, enum op_id op, const json_t *params, const struct mcp_backend_sink *sink)
{
    struct fakeback *f = arg;
    assert(f->n < FAKEBACK_MAX);
    struct fakeback_call *c = malloc(sizeof(*c));
    assert(c);
    *c = (struct fakeback_call){ .sink = *sink, .op = op, .params = json_deep_copy(params) };
    return f->calls[f->n++] = c;
}

static inline void fakeback_drop(void *arg, void *handle)
{
    struct fakeback *f = arg;
    f->n_dropped++;
    for (size_t i = 0; i < f->n; i++)
        if (f->calls[i] == handle) {
            fakeback_remove(f, i);
            return;
        }
    assert(!"dropped twice, or after its end");
}

static inline void fakeback_init(struct fakeback *f)
{
    *f = (struct fakeback){ 0 };
    f->back = (struct mcp_backend){ .arg = f, .prefix = "sandbox", .start = fakeback_start, .drop = fakeback_drop };
}

static inline void fakeback_event(struct fakeback *f, json_t *event)
{
    f->calls[0]->sink.on_event(f->calls[0]->sink.arg, event);
}

/* Answers the oldest. */
static inline void fakeback_answer(struct fakeback *f, int status, json_t *body)
{
    struct mcp_backend_sink sink = f->calls[0]->sink;
    fakeback_remove(f, 0);
    sink.done(sink.arg, status, body);
}
