/* Where a volume is to be mounted in a box: what is wrong with a place, in the same words for every driver.
 * May include: base/. */
#pragma once
#include "base/err.h"

/* r: what mount_walk() said (os/mount.h). */
int volplace_failed(int r, const char *target, struct err *err);
