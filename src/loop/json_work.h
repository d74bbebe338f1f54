/* JSON texts and documents of any size without holding up the loop: a long one is read or written by a pool thread.
 * Afterwards its memory is returned to the kernel. May include: base/, loop/. */
#pragma once
#include "base/json.h"
#include "loop/loop.h"

#define JSON_WORK_BYTES 65536 /* a text up to this size is cheaper to read or write at once */

/* doc is the function's, and NULL on failure; err is set then. */
typedef void json_work_read_fn(void *arg, json_t *doc, const struct err *err);
/* json_read_input() of a text that stays as it is until fn was called, perhaps before this returns. */
void json_work_read(struct loop *l, const char *text, size_t len, json_work_read_fn *fn, void *arg);

/* Returns what large documents left behind to the kernel, on a pool thread. */
void json_work_trim(struct loop *l);

/* text is the function's. */
typedef void json_work_write_fn(void *arg, char *text, size_t len);
/* Takes doc. A part that somebody else holds may change while it is written, so then it is written at once. */
void json_work_write(struct loop *l, json_t *doc, json_work_write_fn *fn, void *arg);
