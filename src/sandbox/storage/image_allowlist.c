#include "sandbox/storage/image_allowlist.h"

#include <stdbool.h>
#include <string.h>

static bool entry_matches(const char *entry, size_t len, const char *image)
{
    if (len && entry[len - 1] == '*')
        return strncmp(entry, image, len - 1) == 0;
    return len == strlen(image) && memcmp(entry, image, len) == 0;
}

int image_allowlist_check(const char *list, const char *image, struct err *err)
{
    for (const char *p = list; *p;) {
        p += strspn(p, ", \t");
        size_t len = strcspn(p, ",");
        size_t trimmed = len;
        while (trimmed && (p[trimmed - 1] == ' ' || p[trimmed - 1] == '\t'))
            trimmed--;
        if (trimmed && entry_matches(p, trimmed, image))
            return 0;
        p += len;
    }
    return err_set(err, ERR_FORBIDDEN, 0, "image not allowed: %s (III_ALLOWED_IMAGES is \"%.120s\")", image, list);
}
