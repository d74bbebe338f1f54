/* Volumes: folders that outlive sandboxes, mounted into running ones. A volume is in one sandbox at a time.
 * May include: base/, store/, runtime/, sandbox/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "sandbox/lifecycle/sandbox.h"
#include "sandbox/lifecycle/tenant.h"

struct volumes;

int volumes_new(struct manager *m, struct volumes **ret, struct err *err);
struct volumes *volumes_free(struct volumes *v);

struct volumes_plan {
    const char *name;
    int64_t size_mb; /* 0: settings.volume_mb */
};
/* A SandboxVolume, borrowed; NULL with ERR_CAPACITY at settings.max_volumes, ERR_INVALID for a size past
 * settings.max_disk_mb, ERR_UNSUPPORTED for one that no backend here can keep. */
json_t *volumes_create(struct volumes *v, const struct tenant_by *by, const struct volumes_plan *plan, struct err *err);
const char *volumes_owner(const struct volumes *v, const char *id); /* "": no owner; NULL: no such volume */
size_t volumes_count(const struct volumes *v, const char *tenant);
json_t *volumes_list(struct volumes *v, const struct tenant_by *by); /* array; caller owns */

/* For the watch of the disk. */
void volumes_ids(const struct volumes *v, char ***list);                  /* adds those that have files */
struct runtime *volumes_runtime(const struct volumes *v, const char *id); /* that has its files; NULL: none */
void volumes_counted(struct volumes *v, const char *id, int64_t bytes);   /* what it uses of the host's disk */
/* Whether it is in s, and with is_unsized, whether it has no size. */
bool volumes_is_in(const struct volumes *v, const char *id, const struct sandbox *s, bool is_unsized);

typedef void volumes_done_fn(void *arg, const struct err *err); /* err NULL: done */
/* ERR_NOT_FOUND, ERR_CONFLICT (attached, or being changed), ERR_INVALID (path). done may come before the call returns.
 */
void volumes_attach(struct volumes *v, const char *id, struct sandbox *s, const struct box_volume *how,
                    volumes_done_fn *fn, void *arg);
void volumes_detach(struct volumes *v, const char *id, volumes_done_fn *fn, void *arg);
void volumes_delete(struct volumes *v, const char *id, volumes_done_fn *fn, void *arg);

/* Mounts the volumes that s has by its record once more, where they are not: a driver's helper died and may have left
 * one out. Nothing is told to anyone; see volumes_when_mounted(). */
void volumes_remount(struct volumes *v, const struct sandbox *s);

/* Calls fn, perhaps at once, when every volume of a sandbox that entered is in its place: after a restore, and at the
 * start. */
void volumes_when_mounted(struct volumes *v, loop_fn *fn, void *arg);

/* The form in which a place to mount is kept: no empty, "." or ".." parts, no slash at the end. -EINVAL with err for
 * what cannot be mounted on. */
int volumes_path(const char *given, char *ret, size_t size, struct err *err);
