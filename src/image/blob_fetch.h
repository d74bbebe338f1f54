/* One blob being downloaded from a registry: a file that grows while one thread downloads and another already reads.
 * After an interruption the file stays in the store's partial/ and the next download resumes it. The digest is computed
 * while the bytes arrive. Private to image/. May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "image/layout.h"
#include "image/manifest.h"
#include "image/registry_client.h"

struct blob_fetch;

/* tenant: downloads what it gets for itself, also the rest of an earlier attempt of its own ("": the operator). total:
 * increased as bytes arrive, including those of an earlier attempt; shared by all blobs of a pull. */
struct blob_fetch *blob_fetch_new(struct image_store *s, struct registry *r, const struct manifest_blob *blob,
                                  const char *tenant, atomic_llong *total);
struct blob_fetch *blob_fetch_free(struct blob_fetch *f); /* call after the download has ended; the file stays */
DEFINE_CLEANUP(struct blob_fetch *, blob_fetch_free)

/* Blocks until the blob is complete and its digest is verified. On failure the reader gets the same error. -EBADMSG:
 * digest mismatch after a resumed download; the file is removed, and a second attempt may succeed. */
int blob_fetch_run(struct blob_fetch *f, struct err *err);
void blob_fetch_fail(struct blob_fetch *f, const struct err *err); /* the download will not run: wakes the reader */
/* Reads the next bytes and waits for them; 0 at the end, -1 when the download failed (see blob_fetch_wait). */
ssize_t blob_fetch_read(void *f, void *data, size_t len);
/* Waits for the download to end and returns its result. */
int blob_fetch_wait(struct blob_fetch *f, struct err *err);
void blob_fetch_discard(struct blob_fetch *f); /* the file is no longer needed */
