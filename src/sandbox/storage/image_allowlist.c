#include "sandbox/storage/image_allowlist.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/name_pattern.h"

int image_allowlist_check(const char *list, const char *image, struct err *err)
{
    CLEANUP(free_p) char *copy = xstrdup(list);
    char *rest = copy, *entry;
    while ((entry = strsep(&rest, ","))) {
        entry += strspn(entry, " \t");
        size_t len = strlen(entry);
        while (len && (entry[len - 1] == ' ' || entry[len - 1] == '\t'))
            entry[--len] = '\0';
        if (name_pattern_matches(entry, image))
            return 0;
    }
    return err_set(err, ERR_FORBIDDEN, 0, "image not allowed: %s (III_ALLOWED_IMAGES is \"%.120s\")", image, list);
}
