/* An image being made: layers unpacked in tmp/ one above the other, then all of them and the record moved into place
 * under the store's lock. Private to image/. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "archive/tar_stream.h"
#include "base/err.h"
#include "base/json.h"
#include "image/image.h"
#include "image/layout.h"
#include "image/manifest.h"
#include "image/unpack.h"

struct staging {
    struct image_store *store;
    struct layout_tmp tmp;
    struct unpack_job job;
    struct manifest_config config; /* owned */
    struct layout_layer layers[IMAGE_LAYERS_MAX];
    char *blobs[IMAGE_LAYERS_MAX]; /* digest of each packed layer as a registry knows it, or NULL; owned */
    int layer_fds[IMAGE_LAYERS_MAX];
    bool is_staged[IMAGE_LAYERS_MAX];
    size_t n_layers;
};

int staging_init(struct staging *st, struct image_store *s, struct err *err);
void staging_done(struct staging *st); /* removes what was not committed; fine after a failed init */

/* The next layer, read from source. expected: the digest the image's config states for the unpacked stream, or NULL. */
int staging_add(struct staging *st, const struct tar_stream_source *source, const char *expected, struct err *err);
/* The next layer is the store's own layer hex, already verified: nothing is read. False when it does not exist (any
 * more). */
bool staging_add_known(struct staging *st, const char *hex);
/* The name of a layer that depends on those below (for example by a hard link into them) and is valid only above
 * exactly these. */
void staging_chain_hex(const struct layout_layer *below, size_t n_below, const char *top, char ret[DIGEST_HEX]);
/* -EAGAIN: a layer that existed at the start was removed meanwhile. source: as in record_new(); extra, borrowed, is
 * merged into the record (may be NULL). */
int staging_commit(struct staging *st, const char *name, const char *source, const json_t *extra, struct image **ret,
                   struct err *err);
