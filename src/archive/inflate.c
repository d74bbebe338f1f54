#include "archive/inflate.h"

#include <errno.h>
#include <stdint.h>

#include "archive/archive_library_core.h"
#include "base/cleanup.h"
#include "os/write_all.h"

#define CHUNK (256u << 10)

static struct archive *reader_free(struct archive *a)
{
    (void)libarchive.read_free(a); /* it only reads memory */
    return NULL;
}
DEFINE_CLEANUP(struct archive *, reader_free)

static int add_filters(struct archive *a)
{
    int (*const add[])(struct archive *) = { libarchive.read_support_filter_gzip, libarchive.read_support_filter_xz,
                                             libarchive.read_support_filter_lzma, libarchive.read_support_filter_zstd,
                                             libarchive.read_support_filter_lz4 };
    /* Less than OK means that libarchive would run a program: such a format is refused. */
    for (size_t i = 0; i < sizeof(add) / sizeof(*add); i++)
        if (add[i](a) != ARCHIVE_OK)
            return -ENOSYS;
    return libarchive.read_support_format_raw(a) == ARCHIVE_OK ? 0 : -ENOMEM;
}

static int copy_out(struct archive *a, int out, size_t max, const char *what, struct err *err)
{
    static __thread uint8_t chunk[CHUNK];
    size_t total = 0;
    la_ssize_t n;
    while ((n = libarchive.read_data(a, chunk, sizeof(chunk))) > 0) {
        total += (size_t)n;
        if (total > max)
            return err_set(err, ERR_TOO_LARGE, 0, "%s unpacks to more than %zu MiB", what, max >> 20);
        int r = write_all_write(out, chunk, (size_t)n);
        if (r < 0)
            return err_sys(err, r, "write what %s unpacks to", what);
    }
    const char *why = libarchive.error_string(a);
    if (n < 0)
        return err_set(err, ERR_INVALID, 0, "%s cannot be unpacked: %s", what, why ? why : "damaged");
    return total > 0 ? 0 : err_set(err, ERR_INVALID, 0, "%s is empty", what);
}

int inflate_stream(const void *data, size_t len, int out, size_t max, const char *what, struct err *err)
{
    struct archive_entry *entry = NULL;
    int r = archive_library_load(err);
    if (r < 0)
        return r;
    CLEANUP(reader_free_p) struct archive *a = libarchive.read_new();
    if (!a || add_filters(a) < 0)
        return err_set(err, ERR_UNSUPPORTED, 0, "this libarchive lacks one of gzip, xz, zstd, lz4");
    if (libarchive.read_open_memory(a, data, len) != ARCHIVE_OK ||
        libarchive.read_next_header(a, &entry) != ARCHIVE_OK) {
        const char *why = libarchive.error_string(a);
        return err_set(err, ERR_INVALID, 0, "%s cannot be unpacked: %s", what, why ? why : "damaged");
    }
    if (libarchive.filter_count(a) < 2) /* only the reader itself: not a compression that we know */
        return err_set(err, ERR_INVALID, 0, "%s: unknown compression; gzip, xz, zstd and lz4 are supported", what);
    return copy_out(a, out, max, what, err);
}
