#include "cli/data_folder.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"

char *data_folder_of(const struct verbs_args *a)
{
    const char *given = verbs_value(a, "data-dir"), *home = getenv("HOME");
    if (!given || !*given)
        given = getenv("III_DATA_DIR");
    if (given && *given)
        return xstrdup(given);
    return geteuid() == 0 ? xstrdup("/var/lib/iii-sandbox")
                          : xasprintf("%s/.local/share/iii-sandbox", home ? home : "");
}
