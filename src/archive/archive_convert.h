/* One archive from or to tar. Blocks. Untrusted: the input. May include: base/, os/, tar/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCHIVE_CONVERT_PIECE 65536u
#define ARCHIVE_CONVERT_WHY   300

enum archive_format { ARCHIVE_GZIP = 1, ARCHIVE_ZSTD, ARCHIVE_ZIP };

struct archive_convert {
    enum archive_format format;
    bool is_packing;                                /* from tar; else to tar */
    size_t (*take)(void *arg, const uint8_t **ret); /* the next bytes of the input; 0 at its end */
    void (*put)(void *arg, const void *data, size_t len);
    void *arg;
    int file;                      /* for a zip archive that becomes tar: an empty file, to copy it to */
    char why[ARCHIVE_CONVERT_WHY]; /* on failure */
};

/* archive_library_load() comes before. 0, or -EBADMSG with why. */
int archive_convert(struct archive_convert *c);
