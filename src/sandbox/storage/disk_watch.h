/* The watch of the data folder's file system: counts what each sandbox and volume uses of it, ends a sandbox that is
 * past settings.shared_disk_mb, and below the reserve the one whose growth took the space. May include: base/, loop/,
 * image/, runtime/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

struct disk_watch *disk_watch_new(struct manager *m);
struct disk_watch *disk_watch_free(struct disk_watch *w);
/* Bytes of all sandboxes and volumes of a tenant, as last counted. */
json_t *disk_watch_tenants(const struct disk_watch *w); /* {tenant: bytes} of all that have any; caller owns */
int64_t disk_watch_used(const struct disk_watch *w, const char *tenant);
