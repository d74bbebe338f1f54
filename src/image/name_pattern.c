#include "image/name_pattern.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/preset.h"
#include "image/reference.h"

#define ANY "x" /* stands for what a wildcard matches: any byte that a name may have */

/* The canonical form of all names that begin with len bytes of prefix: "docker.io/library/python:" for "python:". */
static void canonical_prefix(const char *prefix, size_t len, char ret[REFERENCE_MAX])
{
    struct reference host;
    CLEANUP(free_p) char *whole = xasprintf("%.*s" ANY, (int)len, prefix);
    CLEANUP(free_p) char *below = xasprintf("%.*s" ANY "/" ANY, (int)len, prefix);
    /* "docker.io/" is a host: what follows it need not be in its folder "library". */
    bool is_host = len && memchr(prefix, '/', len) == prefix + len - 1 && reference_parse(below, &host, NULL) == 0 &&
                   strncmp(host.host, prefix, len - 1) == 0;
    reference_canonical(is_host ? below : whole, ret);
    static const char tail[] = ":latest"; /* added to a prefix that ends before the tag */
    size_t n = strlen(ret), cut = strlen(tail);
    if (n > cut && strcmp(ret + n - cut, tail) == 0)
        ret[n -= cut] = '\0';
    ret[n - strlen(is_host ? ANY "/" ANY : ANY)] = '\0';
}

/* A preset is its own image, or nothing that a registry knows. */
static void canonical_name(const char *name, char ret[REFERENCE_MAX])
{
    const struct preset *p = preset_find(name);
    if (p && !p->reference)
        (void)snprintf(ret, REFERENCE_MAX, "%s", name);
    else
        reference_canonical(p ? p->reference : name, ret);
}

bool name_pattern_matches(const char *entry, const char *image)
{
    char canonical[REFERENCE_MAX];
    size_t len = strlen(entry);
    char form[REFERENCE_MAX];
    if (!len || strcmp(entry, "*") == 0)
        return len;
    canonical_name(image, canonical);
    if (entry[len - 1] != '*') {
        canonical_name(entry, form);
        return strcmp(form, canonical) == 0;
    }
    if (preset_find(image) && strncmp(entry, image, len - 1) == 0)
        return true;
    canonical_prefix(entry, len - 1, form);
    size_t n = strlen(form);
    bool is_any_tag = n && form[n - 1] == ':'; /* a digest is as good as a tag */
    return strncmp(form, canonical, n) == 0 ||
           (is_any_tag && strncmp(form, canonical, n - 1) == 0 && canonical[n - 1] == '@');
}

bool name_pattern_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *at = NULL; /* the last "*" and where its match ends for now */
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            at = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++at;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

bool name_pattern_host(const char *pattern, const char *host)
{
    size_t n = strlen(pattern), len = strlen(host);
    if (strcmp(pattern, "*") == 0)
        return true;
    if (strncmp(pattern, "*.", 2) != 0)
        return strcasecmp(pattern, host) == 0;
    return len > n - 1 && strcasecmp(pattern + 1, host + len - (n - 1)) == 0;
}
