/* Captures a running box without copying: its writable folder becomes a read-only layer of the box itself, under a
 * new, empty one. Root only. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/box.h"

#define PROMOTE_FOLDER 64

/* The name, in boxes/NAME, of the folder that the box writes to: read from the kernel, which alone knows it after a
 * crash. */
int promote_upper(const struct native_box *c, char ret[32], struct err *err);
unsigned promote_generation(const char *upper); /* of such a name: 0 is the first folder */
/* True when a former writable folder is still in boxes/NAME: promoted, but not moved away. ret is below the data
 * folder. */
bool promote_leftover(const struct native_box *c, char ret[PROMOTE_FOLDER]);
/* The box must be frozen and without a leftover; q carries its layers, topmost first. 0: *ret_folder, below the data
 * folder, holds the capture and is a layer of the box: it may be moved on the same file system, never changed.
 * -EBUSY: a process has a file or folder of the root open; nothing was changed, capture it by a copy. */
int promote_run(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                char ret_folder[PROMOTE_FOLDER], struct err *err);
