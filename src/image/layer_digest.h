/* Checksum of a layer folder: SHA-256 over every path with its kind, mode, owner, size, link target and content, in an
 * order that does not depend on the file system. Times are left out. Both block: run them on a worker. May include:
 * base/, image/. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"

/* The checksum over several folders (NULL-terminated), in order. -ECANCELED soon after *stop (may be NULL) becomes
 * true. */
int layer_digest_of(char *const *folders, const atomic_bool *stop, char ret[DIGEST_HEX], struct err *err);
/* Bytes of all regular files; a file with several names counts once for each. */
int64_t layer_digest_bytes(char *const *folders, size_t n);
