/* The names a sandbox knows: a marked block of ours in its /etc/hosts, the rest of the file left as it is.
 * May include: base/, guest/, sandbox/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "sandbox/lifecycle/sandbox.h"

#define HOSTS_MAX (256u * 1024)

/* Writes the lines of the block into out; asked at the last moment, so that the newest state wins. */
typedef void hosts_lines_fn(void *arg, const struct sandbox *s, struct buf *out);
typedef void hosts_done_fn(void *arg, const struct err *err); /* err NULL: done */

struct hosts_plan {
    hosts_lines_fn *lines;
    void *lines_arg;
    hosts_done_fn *done; /* exactly once, never from inside the call */
    void *done_arg;
};
/* -errno when it did not begin (no callback then). */
int hosts_update(struct sandbox *s, const struct hosts_plan *plan);

/* text with its block replaced (an empty block is removed). -E2BIG when out is full. */
int hosts_merge(const char *text, size_t len, const char *block, struct buf *out);
/* Whether a name is valid in the file, and is not a name of the sandbox itself. */
bool hosts_is_name(const char *name);
