/* Entries of a tar archive as blocks of 512 bytes. Writing: ustar, with pax records for what it cannot hold. Reading:
 * those, and GNU's long names and numbers. Untrusted: what is read. May include: nothing. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define TAR_BLOCK    512u
#define TAR_EXTRA    (64u * 1024) /* most bytes of the pax records or the long name before an entry */
#define TAR_HEAD_MAX (TAR_EXTRA + 4 * TAR_BLOCK)

enum tar_type { TAR_FILE = '0', TAR_HARDLINK = '1', TAR_SYMLINK = '2', TAR_FOLDER = '5', TAR_FIFO = '6' };

struct tar_entry {
    enum tar_type type;
    uint32_t mode; /* permissions */
    uint64_t uid, gid, size;
    struct timespec mtime;
    const char *path, *link; /* link: target of a link, else NULL */
};

/* Bytes up to the next block. */
static inline size_t tar_padding(uint64_t size)
{
    return (size_t)(-size % TAR_BLOCK);
}

/* Writes all blocks of an entry's head; returns their length, or 0 when the names are too long. */
size_t tar_header_write(const struct tar_entry *e, uint8_t out[TAR_HEAD_MAX]);

/* What one block of a head is. */
enum tar_block {
    TAR_BLOCK_ENTRY,   /* the entry is complete */
    TAR_BLOCK_RECORDS, /* pax records: `extra` bytes follow, for tar_header_records() */
    TAR_BLOCK_NAME,    /* a long name: `extra` bytes follow, for tar_header_long() */
    TAR_BLOCK_LINK,    /* a long link name, likewise */
    TAR_BLOCK_SKIP,    /* `extra` bytes follow that mean nothing here */
    TAR_BLOCK_END,     /* zeroes */
    TAR_BLOCK_BAD,     /* not a block of tar */
    TAR_BLOCK_ALIEN,   /* an entry of a type that is not supported: `alien` */
};

/* An entry while its head is read. Zeroed memory is a valid start; cleared again after each entry. */
struct tar_head {
    struct tar_entry entry; /* valid after TAR_BLOCK_ENTRY; its texts are in here */
    uint64_t extra;
    char alien;
    bool has_path, has_link, has_size, has_mtime; /* of records, which override the block */
    bool is_sparse;                               /* the records make it a sparse file */
    char path[PATH_MAX + 1], link[PATH_MAX + 1];
};

enum tar_block tar_header_read(struct tar_head *h, const uint8_t block[TAR_BLOCK]);
/* The bytes that a block announced. False: malformed or too long. */
bool tar_header_records(struct tar_head *h, const char *data, size_t len);
bool tar_header_long(struct tar_head *h, enum tar_block which, const char *data, size_t len);
