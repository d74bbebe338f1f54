#include "image/image_limits.h"

#include <errno.h>
#include <stdlib.h>

int image_limits_load(struct image_limits *ret, struct err *err)
{
    struct image_limits l;
    const struct {
        const char *variable;
        int64_t fallback, min, max;
        int64_t *slot;
    } all[] = {
        { "III_IMAGE_MAX_BYTES", 32ll << 30, 1, 1ll << 50, &l.bytes },
        { "III_IMAGE_MAX_ENTRIES", 2000000, 1, 1ll << 31, &l.entries },
        { "III_IMAGE_MAX_DEPTH", 128, 1, 1000, &l.depth },
        { "III_IMAGE_MAX_NAME", 255, 1, 255, &l.name_bytes },
        { "III_IMAGE_MAX_RATIO", 250, 1, 1000000, &l.ratio },
        { "III_IMAGE_RATIO_FLOOR", 256 << 20, 1, 1ll << 50, &l.ratio_floor },
        { "III_DISK_RESERVE_MB", 64, 0, 1000000000, &l.reserve_mb },
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *text = getenv(all[i].variable);
        char *end = NULL;
        errno = 0;
        *all[i].slot = text && *text ? strtoll(text, &end, 10) : all[i].fallback;
        if (errno != 0 || (end && *end != '\0') || *all[i].slot < all[i].min || *all[i].slot > all[i].max)
            return err_set(err, ERR_INVALID, 0, "%s is \"%s\": it must be a number from %lld to %lld", all[i].variable,
                           text, (long long)all[i].min, (long long)all[i].max);
    }
    *ret = l;
    return 0;
}
