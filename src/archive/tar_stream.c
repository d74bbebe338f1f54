/* Two readers in series: the outer one decompresses ("raw" format) and feeds the inner one, which knows tar only.
 * Between them the bytes are counted and hashed, which libarchive alone does not offer. */
#include "archive/tar_stream.h"

#include <errno.h>
#include <locale.h>
#include <string.h>

#include "archive/archive_library_core.h"
#include "base/alloc.h"

#define CHUNK (256 * 1024)

struct tar_stream {
    struct archive *outer, *inner;
    struct archive_entry *entry; /* of the current member */
    struct digest digest;
    struct tar_stream_limits limits;
    const struct tar_stream_source *source;
    int64_t unpacked;
    locale_t old_locale, utf8_locale;
    bool is_ended, has_failed;
    struct err cause; /* why reading stopped: libarchive would only repeat "read error" */
    char chunk[CHUNK];
    char packed[CHUNK]; /* bytes of the last source->read */
};

static int check_size(struct tar_stream *t)
{
    const struct tar_stream_limits *l = &t->limits;
    int64_t packed = tar_stream_packed_bytes(t);

    if (t->unpacked > l->bytes)
        return err_set(&t->cause, ERR_TOO_LARGE, 0, "archive unpacks to over %lld bytes (III_IMAGE_MAX_BYTES)",
                       (long long)l->bytes);
    if (t->unpacked > l->ratio_floor && packed > 0 && t->unpacked / packed >= l->ratio)
        return err_set(&t->cause, ERR_TOO_LARGE, 0,
                       "archive unpacks to over %lld times its packed size (III_IMAGE_MAX_RATIO): refused as a bomb",
                       (long long)l->ratio);
    return 0;
}

static la_ssize_t inner_read(struct archive *a, void *arg, const void **ret)
{
    struct tar_stream *t = arg;
    if (t->is_ended)
        return 0;
    la_ssize_t n = libarchive.read_data(t->outer, t->chunk, sizeof(t->chunk));
    if (n < 0) {
        const char *why = libarchive.error_string(t->outer);
        (void)err_set(&t->cause, ERR_INVALID, 0, "archive cannot be unpacked: %s", why ? why : "damaged");
    } else if (n == 0) {
        t->is_ended = true;
    } else {
        digest_add(&t->digest, t->chunk, (size_t)n);
        t->unpacked += n;
    }
    if (n < 0 || check_size(t) < 0) {
        t->has_failed = true;
        libarchive.set_error(a, EIO, "%s", t->cause.msg);
        return -1;
    }
    *ret = t->chunk;
    return n;
}

static int stream_error(struct tar_stream *t, struct err *err)
{
    if (t->has_failed) {
        if (err)
            *err = t->cause;
        return t->cause.code == ERR_TOO_LARGE ? -E2BIG : -EINVAL;
    }
    const char *why = libarchive.error_string(t->inner);
    return err_set(err, ERR_INVALID, 0, "not a readable tar archive: %s", why ? why : "damaged");
}

static la_ssize_t pull(struct archive *a, void *arg, const void **ret)
{
    struct tar_stream *t = arg;
    ssize_t n = t->source->read(t->source->arg, t->packed, sizeof(t->packed));
    *ret = t->packed;
    if (n < 0)
        libarchive.set_error(a, EIO, "its bytes stopped coming");
    return n < 0 ? -1 : n;
}

static int open_outer(struct tar_stream *t, struct err *err)
{
    struct archive_entry *whole;
    t->outer = libarchive.read_new();
    if (!t->outer)
        return err_set(err, ERR_INTERNAL, ENOMEM, "archive");
    (void)libarchive.read_support_filter_gzip(t->outer); /* both warn when built without: reading then reports it */
    (void)libarchive.read_support_filter_zstd(t->outer);
    (void)libarchive.read_support_format_raw(t->outer);
    int rc = t->source->read ? libarchive.read_open(t->outer, t, NULL, pull, NULL)
                             : libarchive.read_open_fd(t->outer, t->source->fd, CHUNK);
    if (rc != ARCHIVE_OK || libarchive.read_next_header(t->outer, &whole) != ARCHIVE_OK)
        return err_set(err, ERR_INVALID, 0, "not a tar archive (plain, gzip or zstd): it is empty or cannot be read");
    return 0;
}

int tar_stream_open(const struct tar_stream_source *source, struct tar_stream_limits limits, struct tar_stream **ret,
                    struct err *err)
{
    int r = archive_library_load(err);
    if (r < 0)
        return r;
    CLEANUP(tar_stream_close_p) struct tar_stream *t = xzalloc(sizeof(*t));
    t->limits = limits;
    t->source = source;
    digest_init(&t->digest);
    /* libarchive converts pax names to the locale's encoding; in "C" every name that is not ASCII would be lost. */
    t->utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    t->old_locale = t->utf8_locale ? uselocale(t->utf8_locale) : (locale_t)0;

    r = open_outer(t, err);
    if (r < 0)
        return r;
    t->inner = libarchive.read_new();
    if (!t->inner)
        return err_set(err, ERR_INTERNAL, ENOMEM, "archive");
    (void)libarchive.read_support_format_tar(t->inner);
    if (libarchive.read_open(t->inner, t, NULL, inner_read, NULL) != ARCHIVE_OK)
        return stream_error(t, err);
    *ret = STEAL(t);
    return 0;
}

struct tar_stream *tar_stream_close(struct tar_stream *t)
{
    if (!t)
        return NULL;
    (void)libarchive.read_free(t->inner); /* NULL is fine for both; the result does not matter */
    (void)libarchive.read_free(t->outer);
    digest_done(&t->digest);
    if (t->old_locale)
        (void)uselocale(t->old_locale);
    if (t->utf8_locale)
        freelocale(t->utf8_locale);
    free(t);
    return NULL;
}

int tar_stream_next(struct tar_stream *t, struct archive_member *ret, struct err *err)
{
    int rc = libarchive.read_next_header(t->inner, &t->entry);
    if (rc == ARCHIVE_EOF)
        return 0;
    if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
        return stream_error(t, err);
    struct archive_entry *e = t->entry;
    *ret = (struct archive_member){
        .path = libarchive.entry_pathname(e),
        .hardlink = libarchive.entry_hardlink(e),
        .symlink = libarchive.entry_symlink(e),
        .mode = libarchive.entry_mode(e),
        .uid = libarchive.entry_uid(e),
        .gid = libarchive.entry_gid(e),
        .size = libarchive.entry_size(e),
        .mtime = { .tv_sec = libarchive.entry_mtime(e), .tv_nsec = libarchive.entry_mtime_nsec(e) },
    };
    return 1;
}

int tar_stream_xattr_count(struct tar_stream *t)
{
    return libarchive.entry_xattr_reset(t->entry);
}

bool tar_stream_xattr_next(struct tar_stream *t, const char **ret_name, const void **ret_value, size_t *ret_len)
{
    return libarchive.entry_xattr_next(t->entry, ret_name, ret_value, ret_len) == ARCHIVE_OK;
}

int tar_stream_data(struct tar_stream *t, const void **ret, size_t *ret_len, int64_t *ret_offset, struct err *err)
{
    la_int64_t offset = 0;
    int rc = libarchive.read_data_block(t->inner, ret, ret_len, &offset);
    *ret_offset = offset;
    if (rc == ARCHIVE_EOF)
        return 0;
    return rc == ARCHIVE_OK ? 1 : stream_error(t, err);
}

int tar_stream_finish(struct tar_stream *t, char ret_hex[DIGEST_HEX], struct err *err)
{
    while (!t->is_ended) {
        const void *ignored;
        if (inner_read(t->inner, t, &ignored) < 0)
            return stream_error(t, err);
    }
    digest_hex(&t->digest, ret_hex);
    return 0;
}

int64_t tar_stream_packed_bytes(const struct tar_stream *t)
{
    return libarchive.filter_bytes(t->outer, -1);
}
