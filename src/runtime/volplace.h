/* Errors about the mount point of a volume, with the same text for every driver. May include: base/. */
#pragma once
#include "base/err.h"

/* r: what mount_walk() returned (os/mount.h). */
int volplace_failed(int r, const char *target, struct err *err);
