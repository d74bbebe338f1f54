/* Decompresses one stream: gzip, xz, lzma, zstd or lz4, found out from its first bytes. The input is untrusted, and the
 * size of the output is bounded. May include: base/, os/. */
#pragma once
#include <stddef.h>

#include "base/err.h"

/* Into the file out at its current position, at most max bytes. what names the stream in errors. */
int inflate_stream(const void *data, size_t len, int out, size_t max, const char *what, struct err *err);
