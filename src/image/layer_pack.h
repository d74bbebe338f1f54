/* A layer folder as a tar stream: the reverse of unpack.h. Whiteouts and opaque folders get their image-format names
 * back. Private to image/. May include: base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

/* Writes the folder to out_fd with sorted names, so that the same folder gives the same bytes. is_rootless: owners are
 * written as 0. */
int layer_pack_write(int root_fd, bool is_rootless, int out_fd, char ret_hex[DIGEST_HEX], int64_t *ret_bytes,
                     struct err *err);

/* A layer and a folder of the host that belongs at "usr" in it, as one root file system. Of the host: no file that
 * other users may not read, no other file system, no set-user-ID bit, no extended attribute. done_bytes: written so
 * far, for other threads. */
struct layer_pack_host {
    int layer_fd, usr_fd;
    bool is_rootless;
    atomic_llong *done_bytes;
};
int layer_pack_write_host(const struct layer_pack_host *host, int out_fd, struct err *err);
