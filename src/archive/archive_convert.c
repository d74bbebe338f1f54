/* Theory of operation. Compressing and decompressing treat the tar archive as bytes. A zip archive becomes tar entry by
 * entry; its directory is at its end, so it is copied into a file first, within a bound and down to a reserve of free
 * space. A tar archive becomes a zip archive as it arrives. Names pass as they are: who unpacks them judges them. */
#include "archive/archive_convert.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "archive/archive_library_core.h"
#include "os/write_all.h"
#include "tar/tar_header.h"

#define ZIP_BYTES_MAX (16ll << 30)  /* a zip archive that is to be unpacked */
#define RESERVE_BYTES (256ll << 20) /* free space that its copy leaves */
#define RESERVE_STEP  (16ll << 20)

__attribute__((format(printf, 2, 3))) static int fail(struct archive_convert *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(c->why, sizeof(c->why), fmt, ap);
    va_end(ap);
    return -EBADMSG;
}

static const char *why(struct archive *a)
{
    const char *text = libarchive.error_string(a);
    return text ? text : "damaged";
}

static la_ssize_t give_input(struct archive *a, void *arg, const void **ret)
{
    struct archive_convert *c = arg;
    const uint8_t *data = NULL;
    (void)a;
    size_t n = c->take(c->arg, &data);
    *ret = data;
    return (la_ssize_t)n;
}

static la_ssize_t take_output(struct archive *a, void *arg, const void *data, size_t len)
{
    struct archive_convert *c = arg;
    (void)a;
    c->put(c->arg, data, len);
    return (la_ssize_t)len;
}

/* --- bytes, compressed --- */

static int compress_to(struct archive_convert *c, struct archive *a, struct archive_entry *entry)
{
    const uint8_t *data;
    /* Less than OK would mean that libarchive runs a program. */
    int r = c->format == ARCHIVE_GZIP ? libarchive.write_add_filter_gzip(a) : libarchive.write_add_filter_zstd(a);
    if (r != ARCHIVE_OK)
        return fail(c, "this host's libarchive cannot compress so");
    libarchive.entry_set_mode(entry, S_IFREG | 0600);
    libarchive.entry_set_pathname(entry, "tar");
    if (libarchive.write_set_format_raw(a) < ARCHIVE_WARN ||
        libarchive.write_set_bytes_in_last_block(a, 1) < ARCHIVE_WARN ||
        libarchive.write_open(a, c, NULL, take_output, NULL) < ARCHIVE_WARN ||
        libarchive.write_header(a, entry) < ARCHIVE_WARN)
        return fail(c, "compress: %s", why(a));
    for (size_t n; (n = c->take(c->arg, &data)) > 0;)
        if (libarchive.write_data(a, data, n) != (la_ssize_t)n)
            return fail(c, "compress: %s", why(a));
    return libarchive.write_close(a) < ARCHIVE_WARN ? fail(c, "compress: %s", why(a)) : 0;
}

static int compress_tar(struct archive_convert *c)
{
    struct archive *a = libarchive.write_new();
    struct archive_entry *entry = libarchive.entry_new();
    int r = a && entry ? compress_to(c, a, entry) : fail(c, "not enough memory");
    (void)libarchive.write_free(a);
    libarchive.entry_free(entry);
    return r;
}

static int decompress(struct archive_convert *c, struct archive *a)
{
    static uint8_t piece[ARCHIVE_CONVERT_PIECE];
    const char *name = c->format == ARCHIVE_GZIP ? "gzip" : "zstd";
    struct archive_entry *entry;
    la_ssize_t n;
    int r = c->format == ARCHIVE_GZIP ? libarchive.read_support_filter_gzip(a) : libarchive.read_support_filter_zstd(a);
    if (r != ARCHIVE_OK)
        return fail(c, "this host's libarchive cannot decompress %s", name);
    if (libarchive.read_support_format_raw(a) < ARCHIVE_WARN ||
        libarchive.read_open(a, c, NULL, give_input, NULL) < ARCHIVE_WARN ||
        libarchive.read_next_header(a, &entry) != ARCHIVE_OK)
        return fail(c, "not a %s archive: %s", name, why(a));
    if (libarchive.filter_count(a) < 2)
        return fail(c, "not compressed with %s", name);
    while ((n = libarchive.read_data(a, piece, sizeof(piece))) > 0)
        c->put(c->arg, piece, (size_t)n);
    return n < 0 ? fail(c, "not a whole %s archive: %s", name, why(a)) : 0;
}

/* --- from zip --- */

/* The whole input into the file, which is then at its start. */
static int copy_input(struct archive_convert *c)
{
    const uint8_t *data;
    long long total = 0, checked = -RESERVE_STEP;
    struct statvfs fs;
    for (size_t n; (n = c->take(c->arg, &data)) > 0; total += (long long)n) {
        if (total + (long long)n > ZIP_BYTES_MAX)
            return fail(c, "a zip archive of more than %lld GiB: send a tar archive", ZIP_BYTES_MAX >> 30);
        if (total - checked >= RESERVE_STEP && fstatvfs(c->file, &fs) == 0) {
            checked = total;
            if ((long long)fs.f_bavail * (long long)fs.f_frsize < RESERVE_BYTES)
                return fail(c, "not enough space on the host for the copy of a zip archive: send a tar archive");
        }
        if (write_all_write(c->file, data, n) < 0)
            return fail(c, "copy of the zip archive: %s", strerror(errno));
    }
    return lseek(c->file, 0, SEEK_SET) < 0 ? fail(c, "copy of the zip archive: %s", strerror(errno)) : 0;
}

/* Exactly size bytes, whatever the archive holds. */
static int put_content(struct archive_convert *c, struct archive *a, uint64_t size, const char *path)
{
    static uint8_t piece[ARCHIVE_CONVERT_PIECE];
    static const uint8_t zeroes[TAR_BLOCK];
    uint64_t done = 0;
    la_ssize_t n;
    while ((n = libarchive.read_data(a, piece, sizeof(piece))) > 0) {
        if ((uint64_t)n > size - done)
            return fail(c, "zip: more bytes than announced: %.200s", path);
        c->put(c->arg, piece, (size_t)n);
        done += (uint64_t)n;
    }
    if (n < 0 || done != size)
        return fail(c, "zip: %.200s: %s", path, n < 0 ? why(a) : "fewer bytes than announced");
    c->put(c->arg, zeroes, tar_padding(size));
    return 0;
}

static int put_entry(struct archive_convert *c, struct archive *a, struct archive_entry *entry)
{
    static uint8_t head[TAR_HEAD_MAX];
    const char *path = libarchive.entry_pathname(entry);
    unsigned mode = libarchive.entry_mode(entry), kind = mode & S_IFMT;
    if (!path)
        return fail(c, "zip: a name is not text");
    if (kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK)
        return fail(c, "zip: neither a file, a folder nor a symbolic link: %.200s", path);
    struct tar_entry e = { .type = kind == S_IFREG   ? TAR_FILE
                                   : kind == S_IFDIR ? TAR_FOLDER
                                                     : TAR_SYMLINK,
                           .mode = mode & 07777,
                           .mtime = { libarchive.entry_mtime(entry), libarchive.entry_mtime_nsec(entry) },
                           .size = kind == S_IFREG ? (uint64_t)libarchive.entry_size(entry) : 0,
                           .path = path,
                           .link = kind == S_IFLNK ? libarchive.entry_symlink(entry) : NULL };
    if (kind == S_IFLNK && !e.link)
        return fail(c, "zip: a link without a target: %.200s", path);
    size_t len = tar_header_write(&e, head);
    if (!len)
        return fail(c, "zip: a name is too long: %.200s", path);
    c->put(c->arg, head, len);
    return kind == S_IFREG ? put_content(c, a, e.size, path) : 0;
}

static int zip_to_tar(struct archive_convert *c, struct archive *a)
{
    static const uint8_t end[2 * TAR_BLOCK];
    struct archive_entry *entry;
    int found, r = copy_input(c);
    if (r < 0)
        return r;
    /* By the directory alone: what only the entries themselves say is not believed. */
    if (libarchive.read_support_format_zip_seekable(a) < ARCHIVE_WARN ||
        libarchive.read_open_fd(a, c->file, ARCHIVE_CONVERT_PIECE) < ARCHIVE_WARN)
        return fail(c, "not a zip archive: %s", why(a));
    while ((found = libarchive.read_next_header(a, &entry)) >= ARCHIVE_WARN && found != ARCHIVE_EOF)
        if ((r = put_entry(c, a, entry)) < 0)
            return r;
    if (found != ARCHIVE_EOF)
        return fail(c, "not a whole zip archive: %s", why(a));
    c->put(c->arg, end, sizeof(end));
    return 0;
}

static int unpack(struct archive_convert *c)
{
    struct archive *a = libarchive.read_new();
    int r = !a ? fail(c, "not enough memory") : c->format == ARCHIVE_ZIP ? zip_to_tar(c, a) : decompress(c, a);
    (void)libarchive.read_free(a);
    return r;
}

/* --- to zip --- */

/* What zip cannot hold is left out. */
static int copy_entries(struct archive_convert *c, struct archive *from, struct archive *to)
{
    static uint8_t piece[ARCHIVE_CONVERT_PIECE];
    struct archive_entry *entry;
    int found;
    while ((found = libarchive.read_next_header(from, &entry)) >= ARCHIVE_WARN && found != ARCHIVE_EOF) {
        const char *path = libarchive.entry_pathname(entry);
        unsigned kind = libarchive.entry_mode(entry) & S_IFMT;
        if (!path || strcmp(path, "./") == 0 || (kind != S_IFREG && kind != S_IFDIR && kind != S_IFLNK))
            continue;
        if (libarchive.write_header(to, entry) < ARCHIVE_WARN)
            return fail(c, "zip: %.200s: %s", path, why(to));
        la_ssize_t n;
        while (kind == S_IFREG && (n = libarchive.read_data(from, piece, sizeof(piece))) != 0)
            if (n < 0 || libarchive.write_data(to, piece, (size_t)n) < n)
                return fail(c, "zip: %.200s: %s", path, why(n < 0 ? from : to));
    }
    return found == ARCHIVE_EOF ? 0 : fail(c, "tar: %s", why(from));
}

static int tar_to_zip(struct archive_convert *c)
{
    struct archive *from = libarchive.read_new(), *to = libarchive.write_new();
    int r = from && to ? 0 : fail(c, "not enough memory");
    if (r == 0 && (libarchive.read_support_format_tar(from) < ARCHIVE_WARN ||
                   libarchive.read_open(from, c, NULL, give_input, NULL) < ARCHIVE_WARN))
        r = fail(c, "tar: %s", why(from));
    if (r == 0 && (libarchive.write_set_format_zip(to) < ARCHIVE_WARN ||
                   libarchive.write_set_bytes_in_last_block(to, 1) < ARCHIVE_WARN ||
                   libarchive.write_open(to, c, NULL, take_output, NULL) < ARCHIVE_WARN))
        r = fail(c, "zip: %s", why(to));
    if (r == 0)
        r = copy_entries(c, from, to);
    if (r == 0 && libarchive.write_close(to) < ARCHIVE_WARN)
        r = fail(c, "zip: %s", why(to));
    (void)libarchive.write_free(to);
    (void)libarchive.read_free(from);
    return r;
}

int archive_convert(struct archive_convert *c)
{
    const uint8_t *rest;
    int r = !c->is_packing ? unpack(c) : c->format == ARCHIVE_ZIP ? tar_to_zip(c) : compress_tar(c);
    while (r == 0 && c->take(c->arg, &rest) > 0) /* padding behind the end */
        continue;
    return r;
}
