#include "runtime/volplace.h"

#include <errno.h>

int volplace_failed(int r, const char *target, struct err *err)
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
