#include "image/build_attrs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "image/layer_view.h"

#define FILE_BYTES_MAX (1 << 20)
#define MODE_MAX       07777

/* A number, or the third field of the name's line in file. ret_group: a user's group, or the same number; may be
 * NULL. */
static int find_id(const struct image *base, const char *file, const char *name, unsigned *ret, unsigned *ret_group,
                   struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(FILE_BYTES_MAX);
    char *end = NULL;
    unsigned long long number = isdigit((unsigned char)*name) ? strtoull(name, &end, 10) : 0;
    if (end && !*end && number < UINT32_MAX) {
        *ret = (unsigned)number;
        if (ret_group)
            *ret_group = (unsigned)number;
        return 0;
    }
    CLEANUP(layer_view_done) struct layer_view all = { 0 };
    int r = *name && !strpbrk(name, ":\n") ? layer_view_open(base->layers, base->n_layers, &all) : -ENOENT;
    r = r < 0 ? r : layer_view_read(&all, file, &text);
    size_t len = strlen(name);
    for (const char *at = buf_text(&text); r == 0 && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (strncmp(at, name, len) != 0 || at[len] != ':')
            continue;
        const char *id = at + len + 1 + strcspn(at + len + 1, ":\n");
        number = *id == ':' && isdigit((unsigned char)id[1]) ? strtoull(id + 1, &end, 10) : UINT32_MAX;
        bool has_group = number < UINT32_MAX && *end == ':' && isdigit((unsigned char)end[1]);
        unsigned long long group = has_group ? strtoull(end + 1, NULL, 10) : UINT32_MAX;
        if (number >= UINT32_MAX || (ret_group && group >= UINT32_MAX))
            continue;
        *ret = (unsigned)number;
        if (ret_group)
            *ret_group = (unsigned)group;
        return 0;
    }
    return err_set(err, ERR_INVALID, 0, "--chown: %s of the image has no \"%.60s\": use a number", file, name);
}

int build_attrs_read(const struct image *base, const char *owner, const char *mode, struct build_attrs *ret,
                     struct err *err)
{
    *ret = (struct build_attrs){ 0 };
    if (owner) {
        const char *colon = strchr(owner, ':');
        CLEANUP(free_p) char *user = xstrndup(owner, colon ? (size_t)(colon - owner) : strlen(owner));
        int r = *user || !colon ? find_id(base, "/etc/passwd", user, &ret->uid, &ret->gid, err) : 0;
        if (r == 0 && colon)
            r = find_id(base, "/etc/group", colon + 1, &ret->gid, NULL, err);
        if (r < 0)
            return r;
        ret->has_owner = true;
    }
    if (mode) {
        char *end = NULL;
        unsigned long value = strtoul(mode, &end, 8);
        if (!*mode || mode[strspn(mode, "01234567")] || value > MODE_MAX)
            return err_set(err, ERR_INVALID, 0, "--chmod=%.60s is not an octal mode like 755 or 0644", mode);
        ret->has_mode = true;
        ret->mode = (mode_t)value;
    }
    return 0;
}
