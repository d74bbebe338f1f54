/* Archives from one format to another: tar, which the agent packs and unpacks, to and from what users send and want. A
 * process of its own does it (archive/archive_tool.c): an archive is hostile, and compressing takes time. Untrusted:
 * what that process says. May include: base/, loop/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "loop/loop.h"
#include "os/keeper.h"

#define CONVERTERS_MAX 16 /* at the same time, a quarter of them for one tenant */

struct converters; /* of one server */
struct converter;  /* one conversion */

/* keeper NULL: every start fails. */
struct converters *converters_new(struct loop *l, struct keeper *keeper, unsigned job);
/* The running ones have to be dropped before. */
struct converters *converters_free(struct converters *all);

struct converter_events {
    void (*on_output)(void *arg, const char *data, size_t len);
    void (*on_room)(void *arg);                        /* after a send that was cut short: more is taken */
    void (*on_done)(void *arg, const struct err *err); /* all output was given, or it failed; frees the converter */
};

struct converter_plan {
    const char *tenant, *format; /* format: "tar.gz", "tar.zst" or "zip" */
    bool is_packing;             /* from tar, else to tar */
};

/* ERR_CAPACITY: too many at the same time. */
int converter_start(struct converters *all, const struct converter_plan *plan, const struct converter_events *ev,
                    void *arg, struct converter **ret, struct err *err);
size_t converter_send(struct converter *c, const char *data, size_t len); /* taken bytes */
void converter_end(struct converter *c);                                  /* no more input */
void converter_hold(struct converter *c, bool is_held);                   /* pauses its output */
void converter_drop(struct converter *c);                                 /* no more callbacks */
