#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>

const char *runtime_lack(const struct runtime *rt, const char *cap)
{
    for (const struct runtime_lack *l = rt->ops->lacks; l && l->name; l++)
        if (strcmp(l->name, cap) == 0)
            return l->reason;
    return NULL;
}

int runtime_cannot(const struct runtime *rt, const char *cap, const char *what, struct err *err)
{
    const char *reason = runtime_lack(rt, cap);
    return err_set(err, ERR_UNSUPPORTED, 0, "the %s backend cannot %s%s%s", rt->ops->name, what, reason ? ": " : "",
                   reason ? reason : "");
}

int runtime_place_error(int r, const char *target, struct err *err)
{
    if (r == -ELOOP)
        return err_set(err, ERR_INVALID, 0, "mountPath %.200s contains a symbolic link: name the folder itself",
                       target);
    if (r == -EXDEV)
        return err_set(err, ERR_CONFLICT, 0, "a mount already exists at or above mountPath %.200s", target);
    if (r == -ENOTDIR)
        return err_set(err, ERR_INVALID, 0, "mountPath %.200s is not a folder", target);
    return err_sys(err, r, "open mountPath %.200s", target);
}
