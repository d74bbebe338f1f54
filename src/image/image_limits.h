/* Every limit on what an archive may contain. Each has an environment override, so that an operator can change it
 * without a new build. May include: base/, archive/. */
#pragma once
#include <stdint.h>

#include "archive/tar_stream.h"
#include "base/err.h"

#define IMAGE_LIMITS_JSON_BYTES  (4 << 20) /* a manifest, index or config */
#define IMAGE_LIMITS_MORE_BYTES  (1 << 20) /* labels, history and what else no sandbox needs */
#define IMAGE_LIMITS_ENV         1024      /* Env entries of a config */
#define IMAGE_LIMITS_ARGS        1024      /* Entrypoint or Cmd words */
#define IMAGE_LIMITS_WORD_BYTES  32768     /* one of those */
#define IMAGE_LIMITS_XATTRS      64        /* per entry */
#define IMAGE_LIMITS_XATTR_BYTES 65536     /* one value */
#define IMAGE_LIMITS_PATH_BYTES  4095      /* a whole name or link target */
#define IMAGE_LIMITS_BLOBS       4096      /* files in a docker-save or OCI archive */

struct image_limits {
    int64_t bytes;       /* III_IMAGE_MAX_BYTES: unpacked content of one import */
    int64_t entries;     /* III_IMAGE_MAX_ENTRIES: files, folders, links of one import */
    int64_t depth;       /* III_IMAGE_MAX_DEPTH: folders above a file */
    int64_t name_bytes;  /* III_IMAGE_MAX_NAME: one component of a path */
    int64_t ratio;       /* III_IMAGE_MAX_RATIO: unpacked to packed, past ratio_floor */
    int64_t reserve_mb;  /* III_DISK_RESERVE_MB: free space below which nothing is imported; 0: none */
    int64_t ratio_floor; /* III_IMAGE_RATIO_FLOOR: bytes below which the ratio is not checked */
};

/* -EINVAL naming the variable and its range when a value is not a number in range. */
int image_limits_load(struct image_limits *ret, struct err *err);

/* The limits that reading an archive enforces itself. */
static inline struct tar_stream_limits image_limits_of_stream(const struct image_limits *l)
{
    return (struct tar_stream_limits){ .bytes = l->bytes, .ratio = l->ratio, .ratio_floor = l->ratio_floor };
}
