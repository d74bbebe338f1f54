#include "runtime/runtime.h"

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
