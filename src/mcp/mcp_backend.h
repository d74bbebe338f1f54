/* What carries out the operations that tools name: the server itself, or one that is reached over REST. May include:
 * base/, spec/. */
#pragma once
#include "base/json.h"
#include "spec/spec.h"

struct mcp_backend_sink {
    void (*on_event)(void *arg, json_t *event); /* of operations that stream; borrowed */
    /* Once, never from inside start(). status 0: the server could not be reached. body borrowed: {"error": text} from
     * 400 on and for 0, null at the end of a stream. */
    void (*done)(void *arg, int status, json_t *body);
    void *arg;
    const char *traceparent; /* trace context of the request, or NULL; borrowed during start() */
    json_t **warnings;       /* gets those of an answer that is not an object, before done(): warnings_add_all() */
};
struct mcp_backend {
    void *arg;
    const char *prefix; /* first segment of the paths that messages name */
    bool is_strict;     /* the server refuses what others warn of */
    /* params is borrowed and has passed spec_check(). The handle is good until done() or drop(). */
    void *(*start)(void *arg, enum op_id op, const json_t *params, const struct mcp_backend_sink *sink);
    void (*drop)(void *arg, void *handle); /* ends the work; done() is not called any more */
};
