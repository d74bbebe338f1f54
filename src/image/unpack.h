/* Unpacks one layer into a folder. The archive is hostile: every name is resolved below the folder without following
 * symbolic links, device nodes are left out, whiteouts become overlayfs's. The first entry that breaks a rule stops the
 * unpacking, and is named. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "archive/tar_stream.h"
#include "base/digest.h"
#include "base/err.h"
#include "image/image_limits.h"

typedef void unpack_progress_fn(void *arg, int64_t packed_bytes);

struct unpack_job {
    int root_fd; /* an empty folder */
    const struct image_limits *limits;
    bool is_rootless;     /* ignore ownership; user.overlay.* instead of trusted.overlay.* */
    const int *lower_fds; /* layers below, lowest first: a hard link's file may be copied from them */
    size_t n_lower;
    unpack_progress_fn *on_progress; /* may be NULL */
    void *progress_arg;
    int64_t bytes, entries; /* increased; kept between the layers of one import, since the limits are for all */
    int64_t skipped;        /* device nodes, FIFOs and sockets left out */
    bool has_lower_links;   /* out: something was copied from below, so the layer is valid only above these */
};

/* source: the archive, plain or packed. ret_hex: digest of the unpacked stream ("diff id"). */
int unpack_layer(struct unpack_job *job, const struct tar_stream_source *source, char ret_hex[DIGEST_HEX],
                 struct err *err);

/* "a//./b/" becomes "a/b", "" for the top folder. Absolute names, "..", and names over a limit are rejected. ret has
 * IMAGE_LIMITS_PATH_BYTES + 1 bytes. */
int unpack_clean_name(const char *name, const struct image_limits *limits, char *ret, struct err *err);
