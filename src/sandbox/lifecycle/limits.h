/* What one sandbox may use: whether the driver can keep it, and whether the host has room for it.
 * May include: base/, runtime/. */
#pragma once
#include "base/json.h"
#include "base/settings.h"
#include "runtime/runtime.h"
#include "sandbox/lifecycle/sandbox_config.h"

/* ERR_UNSUPPORTED when the driver cannot keep one that config has. */
int limits_check(const struct sandbox_config *config, struct runtime *rt, struct err *err);
/* ERR_UNSUPPORTED, naming field (diskMb, sizeMb), when the driver cannot limit the size of a disk. */
int limits_check_disk(struct runtime *rt, const char *field, struct err *err);
/* Whether a box made ahead, with the defaults, will do. */
bool limits_are_default(const struct sandbox_config *config, const struct settings *set);
/* limit and use of each, into a metrics record. */
void limits_metrics(json_t *metrics, const struct sandbox_config *config, const struct box_stats *st);
/* The value of a setting that may be SETTINGS_BY_DISK, on a disk of this size. */
int64_t limits_by_disk(int64_t value, int64_t disk_mb);
size_t limits_relays(const struct settings *set);              /* connections of all sandboxes, each way */
uint32_t limits_net_kbps(const struct sandbox_config *config); /* kbit/s each way; 0: no limit */
/* ERR_NO_SPACE when free_mb (image_store_free_mb) is less than the reserve; what is not known (-1) shows when something
 * is written. */
int limits_check_reserve(int64_t free_mb, const struct settings *set, struct err *err);
/* The same for what is written into a sandbox from outside: one with a disk of its own has that as its limit. */
int limits_check_write(int64_t free_mb, const struct sandbox_config *config, const struct settings *set,
                       struct err *err);
