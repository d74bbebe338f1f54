/* A layer folder as a tar stream: the reverse of unpack.h. Whiteouts and opaque folders get their image-format names
 * back. Private to image/. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

/* Writes the folder to out_fd with sorted names, so that the same folder gives the same bytes. is_rootless: owners are
 * written as 0. */
int layer_pack_write(int root_fd, bool is_rootless, int out_fd, char ret_hex[DIGEST_HEX], int64_t *ret_bytes,
                     struct err *err);
