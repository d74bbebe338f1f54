#include "archive/inflate.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "os/write_all.h"

#define CHUNK (256u << 10)

static struct archive *reader_free(struct archive *a)
{
    (void)archive_read_free(a); /* it only reads memory */
    return NULL;
}
DEFINE_CLEANUP(struct archive *, reader_free)

static int add_filters(struct archive *a)
{
    int (*const add[])(struct archive *) = { archive_read_support_filter_gzip, archive_read_support_filter_xz,
                                             archive_read_support_filter_lzma, archive_read_support_filter_zstd,
                                             archive_read_support_filter_lz4 };
    /* Less than OK means that libarchive would run a program: such a format is refused. */
    for (size_t i = 0; i < sizeof(add) / sizeof(*add); i++)
        if (add[i](a) != ARCHIVE_OK)
            return -ENOSYS;
    return archive_read_support_format_raw(a) == ARCHIVE_OK ? 0 : -ENOMEM;
}

static int copy_out(struct archive *a, int out, size_t max, const char *what, struct err *err)
{
    static __thread uint8_t chunk[CHUNK];
    size_t total = 0;
    la_ssize_t n;
    while ((n = archive_read_data(a, chunk, sizeof(chunk))) > 0) {
        total += (size_t)n;
        if (total > max)
            return err_set(err, ERR_TOO_LARGE, 0, "%s unpacks to more than %zu MiB", what, max >> 20);
        int r = write_all_write(out, chunk, (size_t)n);
        if (r < 0)
            return err_sys(err, r, "write what %s unpacks to", what);
    }
    const char *why = archive_error_string(a);
    if (n < 0)
        return err_set(err, ERR_INVALID, 0, "%s cannot be unpacked: %s", what, why ? why : "damaged");
    return total > 0 ? 0 : err_set(err, ERR_INVALID, 0, "%s is empty", what);
}

int inflate_stream(const void *data, size_t len, int out, size_t max, const char *what, struct err *err)
{
    struct archive_entry *entry = NULL;
    CLEANUP(reader_free_p) struct archive *a = archive_read_new();
    if (!a || add_filters(a) < 0)
        return err_set(err, ERR_UNSUPPORTED, 0, "this libarchive lacks one of gzip, xz, zstd, lz4");
    if (archive_read_open_memory(a, data, len) != ARCHIVE_OK || archive_read_next_header(a, &entry) != ARCHIVE_OK) {
        const char *why = archive_error_string(a);
        return err_set(err, ERR_INVALID, 0, "%s cannot be unpacked: %s", what, why ? why : "damaged");
    }
    if (archive_filter_count(a) < 2) /* only the reader itself: not a compression that we know */
        return err_set(err, ERR_INVALID, 0, "%s: unknown compression; gzip, xz, zstd and lz4 are supported", what);
    return copy_out(a, out, max, what, err);
}
