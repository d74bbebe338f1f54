/* Builds of images on behalf of callers. The image tool unpacks the context and works on the store, in a confined
 * process for each build; every RUN is a sandbox of the caller's tenant, made and removed here. A build ends with its
 * caller. May include: base/, loop/, image/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "image/image.h"
#include "sandbox/lifecycle/manager.h"

struct builds; /* of one server */
struct build;

struct builds *builds_new(struct manager *m);
struct builds *builds_free(struct builds *all); /* those that still end are cut off */

struct build_plan {
    const char *name;                /* of the image */
    const char *dockerfile, *target; /* or NULL */
    const json_t *args;              /* {str: str}, or NULL */
    bool has_cache, has_network;
    int64_t memory_mb;          /* of the sandbox of a RUN; 0: the default */
    const struct tenant_by *by; /* borrowed */
};
/* Callbacks; none of them from within a call to build_*(), but for on_room. */
struct build_events {
    void (*on_room)(void *arg); /* after a send that was cut short: more is taken */
    /* Progress, taken: {type: step, step, steps, line, text}, {type: cached}, {type: note, text}, {type: progress, …}
     * of a pull, {type: stdout or stderr, data}. Returns whether the reader can take more: else build_drained() is due.
     */
    bool (*on_event)(void *arg, json_t *event);
    void (*on_done)(void *arg, const struct image *image, const struct err *err); /* the last call; image borrowed */
};
/* ERR_CAPACITY: too many at the same time, of all or of this tenant. */
int build_start(struct builds *all, const struct build_plan *plan, const struct build_events *ev, void *arg,
                struct build **ret, struct err *err);
size_t build_send(struct build *b, const char *data, size_t len); /* of the context: taken bytes */
void build_send_end(struct build *b);                             /* that was all of it */
void build_drained(struct build *b);
void build_drop(struct build *b); /* its caller has left: no more callbacks */
