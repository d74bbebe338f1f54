/* One blob on its way from a registry: a file that grows while one thread downloads and another already reads. The file
 * stays in the store's partial/ when the download is interrupted, and is continued next time. The digest is computed
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

/* total: counted up as bytes arrive (those of an earlier try too); shared by all blobs of a pull. */
struct blob_fetch *blob_fetch_new(struct image_store *s, struct registry *r, const struct manifest_blob *blob,
                                  atomic_llong *total);
struct blob_fetch *blob_fetch_free(struct blob_fetch *f); /* after the download has ended; the file stays */
DEFINE_CLEANUP(struct blob_fetch *, blob_fetch_free)

/* Blocks until all is there and its digest is right. Wakes the reader with the same failure. -EBADMSG: the digest is
 * wrong after bytes of an earlier try were used; the file is gone, another try may be right. */
int blob_fetch_run(struct blob_fetch *f, struct err *err);
void blob_fetch_fail(struct blob_fetch *f, const struct err *err); /* it will not be run: wakes the reader */
/* The next bytes, waiting for them; 0 at the end, -1 when the download failed (see blob_fetch_wait). */
ssize_t blob_fetch_read(void *f, void *data, size_t len);
/* Waits for the end of the download and gives its result. */
int blob_fetch_wait(struct blob_fetch *f, struct err *err);
void blob_fetch_discard(struct blob_fetch *f); /* the file is not needed any more */
