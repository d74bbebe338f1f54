/* Keeps running sandboxes from filling the host's disk. Those without a disk of their own share the data folder's file
 * system; when its free space falls below the reserve, the one that takes most of it is ended. May include: base/,
 * loop/, image/, runtime/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

struct disk_watch;

struct disk_watch *disk_watch_new(struct manager *m); /* NULL: there is no reserve to keep */
struct disk_watch *disk_watch_free(struct disk_watch *w);
