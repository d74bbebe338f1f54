/* Unpacks one layer into a folder. The archive is hostile: every name is resolved below the folder with no symbolic
 * link followed, device nodes are left out, whiteouts become overlayfs's. The first entry that breaks a rule stops it,
 * and is named. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "image/digest.h"
#include "image/image_limits.h"
#include "image/tar_stream.h"

typedef void unpack_progress_fn(void *arg, int64_t packed_bytes);

struct unpack_job {
    int root_fd; /* an empty folder */
    const struct image_limits *limits;
    bool is_rootless;     /* ignore ownership; user.overlay.* instead of trusted.overlay.* */
    const int *lower_fds; /* layers below, lowest first: where a hard link may find a file to copy */
    size_t n_lower;
    unpack_progress_fn *on_progress; /* may be NULL */
    void *progress_arg;
    int64_t bytes, entries; /* added to; kept between the layers of one import, since the limits are for all */
    int64_t skipped;        /* device nodes, FIFOs and sockets left out */
    bool has_lower_links;   /* out: something was taken from below, so the layer is only right above these */
};

/* source: the archive, plain or packed. ret_hex: digest of the unpacked stream ("diff id"). */
int unpack_layer(struct unpack_job *job, const struct tar_stream_source *source, char ret_hex[DIGEST_HEX],
                 struct err *err);

/* "a//./b/" becomes "a/b", "" for the top folder. Absolute names, "..", and what passes a limit are refused.
 * ret has IMAGE_LIMITS_PATH_BYTES + 1 bytes. */
int unpack_clean_name(const char *name, const struct image_limits *limits, char *ret, struct err *err);
