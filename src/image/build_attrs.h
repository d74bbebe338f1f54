/* COPY --chown and --chmod: the owner and the mode that an instruction gives to its files. May include: base/, image/.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "image/image.h"

struct build_attrs {
    bool has_owner, has_mode;
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* owner: USER, USER:GROUP or :GROUP, each a name of base's /etc/passwd and /etc/group or a number. Without a group it
 * is that of the named user, or the same number, as in BuildKit. mode: octal. Either may be NULL. ERR_INVALID. */
int build_attrs_read(const struct image *base, const char *owner, const char *mode, struct build_attrs *ret,
                     struct err *err);
