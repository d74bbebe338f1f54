/* The store's folders on disk: opening, locking, temporary folders, small JSON files. May include: base/, image/.
 *
 * Invariants:
 * 1. Everything in images/ or layers/ is complete: it got there by rename.
 * 2. images/, layers/ and pins/ change only under the store's lock.
 * 3. A folder in tmp/ whose lock is free belongs to a dead process.
 * 4. partial/<digest> is the beginning of a blob; whoever locks it may resume it. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/json.h"
#include "image/image_limits.h"

#define LAYOUT_MAGIC      0x494d4753u
#define LAYOUT_EXPORT_PIN "export_" /* also the name of the export's folder in tmp/: both are removed together */

#define LAYOUT_PART   ".part-" /* prefix of a file that an attached store has not completed */
#define LAYOUT_SHARED ".same-" /* … and a digest of layers: the file that pins of the same layers share; not a pin */

struct layout_layer {
    char hex[DIGEST_HEX];
    int64_t size_bytes;
};

struct image_store {
    unsigned magic;
    char *dir;
    int dir_fd, images_fd, layers_fd, tmp_fd, pins_fd, partial_fd;
    bool is_rootless;
    struct image_limits limits;
    void (*on_progress)(void *arg, int64_t done_bytes, int64_t total_bytes);
    void *progress_arg;
    pthread_mutex_t host_mutex;     /* guards the next three: an import may run on a worker beside the loop */
    struct layout_layer host_layer; /* the host view's layer, while host_print matches */
    char *host_print;
    json_t *host_versions;             /* what host_view_probe() wrote, or NULL */
    bool is_host_barred;               /* image_store_allow_host() */
    const struct image_policy *policy; /* image_store_use_policy() */
    json_t *tenant_bytes;              /* image_tenant_bytes() of each, while tenant_bytes_at matches */
    struct timespec tenant_bytes_at;   /* when images/ had changed */
    struct image_remote *remote;       /* does what needs privilege; NULL: we do it ourselves */
};

int layout_open(const char *dir, struct image_store **ret, struct err *err);
/* A store that another process owns, for reading and for pins: nothing is created or cleaned up; tmp_fd and partial_fd
 * stay closed. */
int layout_attach(const char *dir, struct image_store **ret, struct err *err);
struct image_store *layout_close(struct image_store *s);

/* op: LOCK_SH or LOCK_EX. The lock lasts until the returned descriptor is closed. Each call takes its own lock, so
 * threads exclude each other too. */
int layout_lock(struct image_store *s, int op, struct err *err);

struct layout_tmp {
    struct image_store *store;
    char name[33];
    int fd;
};
int layout_tmp_new(struct image_store *s, struct layout_tmp *ret, struct err *err);
void layout_tmp_done(struct layout_tmp *t); /* removes the folder and its content; for CLEANUP() too */

/* Removes unlocked leftovers of interrupted downloads from partial/: all, or those older than a week. */
void layout_sweep_partial(struct image_store *s, bool is_all);

/* Replaces a file atomically. Call it under the lock. is_durable: on disk before this returns. */
int layout_write_json(struct image_store *s, int dir_fd, const char *name, const json_t *doc, bool is_durable,
                      struct err *err);
int layout_read_json(int dir_fd, const char *name, json_t **ret, struct err *err); /* ERR_NOT_FOUND when absent */

bool layout_has_layer(struct image_store *s, const char *hex);
/* Under LOCK_EX: moves a finished folder in; when the layer exists already, the folder stays where it is. */
int layout_adopt_layer(struct image_store *s, int from_fd, const char *from_name, const char *hex, struct err *err);
char *layout_layer_path(struct image_store *s, const char *hex);
/* Under LOCK_EX: moves layers no image, pin or host view names into trash, to be removed after the lock is released. */
int layout_collect(struct image_store *s, struct layout_tmp *trash, struct err *err);
int layout_collect_now(struct image_store *s, struct err *err); /* takes the lock and does both */
