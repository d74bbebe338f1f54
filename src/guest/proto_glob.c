#include "guest/proto_glob.h"

#include <stddef.h>
#include <string.h>

/* Where to continue after a mismatch: the last star and what it has taken so far. */
struct star {
    const char *pattern, *text;
};

static bool glob_matches(const char *p, const char *s)
{
    struct star one = { NULL, NULL }, two = { NULL, NULL };
    while (*s || *p) {
        if (p[0] == '*' && p[1] == '*') {
            two = (struct star){ p += 2, s };
            one.pattern = NULL;
        } else if (*p == '*') {
            one = (struct star){ ++p, s };
        } else if (*s && (*p == *s || (*p == '?' && *s != '/'))) {
            p++;
            s++;
        } else if (one.pattern && *one.text && *one.text != '/') {
            s = ++one.text;
            p = one.pattern;
        } else if (two.pattern && *two.text) {
            s = ++two.text;
            p = two.pattern;
            one.pattern = NULL;
        } else {
            return false;
        }
    }
    return true;
}

bool proto_glob_match(const char *pattern, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!strchr(pattern, '/'))
        return glob_matches(pattern, slash && strcmp(pattern, "**") != 0 ? slash + 1 : path);
    return glob_matches(pattern, path) || (strncmp(pattern, "**/", 3) == 0 && glob_matches(pattern + 3, path));
}
