/* Keeps running sandboxes from filling the host's disk. Those without a disk of their own share the data folder's file
 * system; when its free space falls below the reserve, the one that takes most of it is ended. May include: base/,
 * loop/, image/, runtime/. */
#pragma once
#include "sandbox/manager.h"

struct diskwatch;

struct diskwatch *diskwatch_new(struct manager *m); /* NULL: there is no reserve to keep */
struct diskwatch *diskwatch_free(struct diskwatch *w);
