#include "sandbox/storage/image_allowlist.h"

#include <stdbool.h>
#include <string.h>

int image_allowlist_check(const char *list, const char *image, struct err *err)
{
    for (const char *p = list; *p;) {
        p += strspn(p, ", \t");
        size_t len = strcspn(p, ",");
        size_t trimmed = len;
        while (trimmed && (p[trimmed - 1] == ' ' || p[trimmed - 1] == '\t'))
            trimmed--;
        bool is_start = trimmed && p[trimmed - 1] == '*';
        if (is_start ? strncmp(p, image, trimmed - 1) == 0
                     : trimmed && trimmed == strlen(image) && memcmp(p, image, trimmed) == 0)
            return 0;
        p += len;
    }
    return err_set(err, ERR_FORBIDDEN, 0, "image not allowed: %s (III_ALLOWED_IMAGES is \"%.120s\")", image, list);
}
