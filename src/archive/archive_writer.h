/* Writes an archive to a descriptor, member by member: tar for images, cpio for what a kernel boots from. Equal members
 * give equal bytes. May include: base/, os/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "archive/member.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/err.h"

struct archive_writer;

enum archive_writer_format {
    ARCHIVE_WRITER_TAR,  /* ustar, with pax headers for what it cannot hold */
    ARCHIVE_WRITER_CPIO, /* "newc", which the kernel unpacks as its initramfs */
};

/* fd stays the caller's. digest: gets every byte written, or NULL. */
int archive_writer_new(enum archive_writer_format format, int fd, struct digest *digest, struct archive_writer **ret,
                       struct err *err);
/* Adds an extended attribute to the next member. */
void archive_writer_xattr(struct archive_writer *w, const char *name, const void *value, size_t len);
/* Begins a member; a file's m->size bytes follow by archive_writer_data(). */
int archive_writer_member(struct archive_writer *w, const struct archive_member *m, struct err *err);
int archive_writer_data(struct archive_writer *w, const void *data, size_t len, struct err *err);
/* A whole file of root's with time 0. */
int archive_writer_file(struct archive_writer *w, const char *path, mode_t mode, const void *data, size_t len,
                        struct err *err);
int archive_writer_close(struct archive_writer *w, struct err *err); /* writes the end of the archive */
int64_t archive_writer_bytes(const struct archive_writer *w);        /* written so far */
/* Without archive_writer_close() the archive stays incomplete, and nothing more is written. */
struct archive_writer *archive_writer_free(struct archive_writer *w);
DEFINE_CLEANUP(struct archive_writer *, archive_writer_free)
