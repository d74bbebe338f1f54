/* Which image layers are in use: a pin for each sandbox (and whatever else keeps layers), so that removing an image
 * never takes a live root away. Collecting what nobody pins runs off the loop. May include: base/, loop/, image/,
 * sandbox/. */
#pragma once
#include "base/err.h"
#include "image/image.h"
#include "sandbox/lifecycle/manager.h"

int pins_add(struct manager *m, const struct image *image, const char *owner, struct err *err);
void pins_drop(struct manager *m, const char *owner); /* and collect soon */
/* Drops the pins of sandboxes that are not there any more; those of other owners (snapshots) stay. */
void pins_sweep(struct manager *m);
