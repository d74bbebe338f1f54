/* Snapshots: the files of a sandbox at one moment, with its configuration and environment. They outlive the sandbox and
 * the server. Each holds the layers it stands on by a pin under its own id, and a checksum over the captured ones, so
 * that a damaged snapshot is refused instead of started. May include: base/, loop/, image/, store/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

struct snapshots;

struct snapshots *snapshots_new(struct manager *m);
struct snapshots *snapshots_free(struct snapshots *sn);
/* Reads the records, renews their pins, resumes checksums that were not finished. Before pins_sweep(). */
void snapshots_load(struct snapshots *sn);

/* snapshot: the contract's Snapshot, borrowed; NULL with err. */
typedef void snapshots_fn(void *arg, const json_t *snapshot, const struct err *err);
struct snapshots_plan {
    const char *name;           /* or NULL */
    const struct tenant_by *by; /* whose quota counts; borrowed */
};
void snapshots_create(struct snapshots *sn, struct sandbox *s, const struct snapshots_plan *plan, snapshots_fn *fn,
                      void *arg);
/* "": no owner; NULL: no such snapshot. ret_sandbox: the one it was taken of; or NULL. */
const char *snapshots_owner(const struct snapshots *sn, const char *id, const char **ret_sandbox);
bool snapshots_has(const struct snapshots *sn, const char *id);          /* one that is being taken, too */
size_t snapshots_count(const struct snapshots *sn, const char *tenant);  /* those being taken, too */
int64_t snapshots_bytes(const struct snapshots *sn, const char *tenant); /* of what was captured, without images */
json_t *snapshots_list(const struct snapshots *sn, const struct tenant_by *by,
                       const char *sandbox_id); /* array; caller owns. sandbox_id NULL: of all */
/* Sandboxes made from it keep running: they hold its layers themselves. ERR_NOT_FOUND. */
int snapshots_delete(struct snapshots *sn, const char *id, struct err *err);

/* A snapshot whose files were found to be what they were. All borrowed during the call. */
struct snapshots_opened {
    const json_t *record;
    const struct image *image; /* pinned while the callback runs */
};
typedef void snapshots_open_fn(void *arg, const struct snapshots_opened *snap, const struct err *err);
/* ERR_NOT_FOUND; ERR_CONFLICT when a layer is missing or was changed. */
void snapshots_open(struct snapshots *sn, const char *id, snapshots_open_fn *fn, void *arg);

/* A new sandbox from a snapshot. */
void snapshots_clone(struct snapshots *sn, const char *id, const struct snapshots_plan *plan, manager_sandbox_fn *fn,
                     void *arg);
/* Restores a sandbox to a snapshot: a new box is made first and then replaces the old one under the same id. When
 * anything fails, the old one continues unchanged. */
void snapshots_restore(struct snapshots *sn, struct sandbox *s, const char *id, manager_sandbox_fn *fn, void *arg);
