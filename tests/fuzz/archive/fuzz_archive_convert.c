/* An archive of any format to tar and from it: the first byte chooses which. What comes out of an unpacked zip archive
 * is a tar archive. */
#include "../feed.h"

#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive_convert.h"
#include "archive/archive_library.h"
#include "tar/tar_header.h"

#define OUTPUT_MAX (8u << 20) /* bombs: the caller stops */

struct feeding {
    const uint8_t *data;
    size_t left, out;
};

static size_t take(void *arg, const uint8_t **ret)
{
    struct feeding *f = arg;
    size_t n = f->out > OUTPUT_MAX ? 0 : f->left < 1000 ? f->left : 1000;
    *ret = f->data;
    f->data += n;
    f->left -= n;
    return n;
}

static void put(void *arg, const void *data, size_t len)
{
    struct feeding *f = arg;
    (void)data;
    f->out += len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum archive_format formats[] = { ARCHIVE_GZIP, ARCHIVE_ZSTD, ARCHIVE_ZIP };
    struct err err = ERR_INIT;
    if (size == 0)
        return 0;
    MUST(archive_library_load(&err) == 0);
    struct feeding f = { data + 1, size - 1, 0 };
    struct archive_convert c = { .format = formats[data[0] % 3],
                                 .is_packing = data[0] >= 0x80,
                                 .take = take,
                                 .put = put,
                                 .arg = &f,
                                 .file = memfd_create("zip", MFD_CLOEXEC) };
    int r = archive_convert(&c);
    MUST(r == 0 || c.why[0]);
    if (r == 0 && !c.is_packing && c.format == ARCHIVE_ZIP)
        MUST(f.out % TAR_BLOCK == 0 && f.out >= 2 * TAR_BLOCK);
    (void)close(c.file);
    return 0;
}
