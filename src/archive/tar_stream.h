/* A tar archive read from a source, plain, gzip or zstd, one member at a time. Computes the digest of the unpacked
 * stream and enforces the size limits while reading. Only tar: none of libarchive's other formats is reachable. May
 * include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "archive/member.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

struct tar_stream;

/* The source of bytes: a descriptor, read from its current offset, or a function. The caller owns both. */
struct tar_stream_source {
    ssize_t (*read)(void *arg, void *data, size_t len); /* NULL: from fd. Blocks; 0 at the end, negative: failed */
    void *arg;
    int fd;
};

struct tar_stream_limits {
    int64_t bytes; /* of the unpacked stream (III_IMAGE_MAX_BYTES) */
    int64_t ratio; /* unpacked to packed (III_IMAGE_MAX_RATIO), above ratio_floor bytes */
    int64_t ratio_floor;
};

/* source must outlive the stream. */
int tar_stream_open(const struct tar_stream_source *source, struct tar_stream_limits limits, struct tar_stream **ret,
                    struct err *err);
struct tar_stream *tar_stream_close(struct tar_stream *t);
DEFINE_CLEANUP(struct tar_stream *, tar_stream_close)

/* 1: *ret is the next member, valid until the next call. 0: the end. */
int tar_stream_next(struct tar_stream *t, struct archive_member *ret, struct err *err);
/* Extended attributes of the member: their number, with the next one being the first; the next one, or false. *ret_name
 * may be NULL. */
int tar_stream_xattr_count(struct tar_stream *t);
bool tar_stream_xattr_next(struct tar_stream *t, const char **ret_name, const void **ret_value, size_t *ret_len);
/* 1: a piece of the member's content that belongs at *ret_offset. 0: no more. */
int tar_stream_data(struct tar_stream *t, const void **ret, size_t *ret_len, int64_t *ret_offset, struct err *err);
/* Reads what follows the last member and returns the digest of the whole stream. */
int tar_stream_finish(struct tar_stream *t, char ret_hex[DIGEST_HEX], struct err *err);
int64_t tar_stream_packed_bytes(const struct tar_stream *t); /* bytes read from the source so far */
