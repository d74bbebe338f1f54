#include "base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *wire;
    int status, sys;
} kinds[ERR_COUNT] = {
    [ERR_NONE] = { "ok", 200, 0 },
#define X(name, wire, status, sys) [ERR_##name] = { wire, status, sys },
#include "base/errors.def"
#undef X
};

static int err_fill(struct err *e, enum err_code code, int sys, const char *fmt, va_list ap)
{
    if (e) {
        e->code = code;
        /* A host that has run out of something, or denies it, is not an internal error: the caller may retry, and
         * learns what ran out. */
        if (code == ERR_INTERNAL && (sys == ENOSPC || sys == EDQUOT))
            e->code = ERR_NO_SPACE;
        else if (code == ERR_INTERNAL && (sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == EROFS))
            e->code = ERR_CAPACITY;
        e->sys = sys;
        int n = vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
        if (sys && n >= 0 && (size_t)n < sizeof(e->msg))
            (void)snprintf(e->msg + n, sizeof(e->msg) - (size_t)n, ": %s", strerror(sys));
    }
    return -(sys ? sys : kinds[code].sys);
}

int err_set(struct err *e, enum err_code code, int sys, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = err_fill(e, code, sys, fmt, ap);
    va_end(ap);
    return r;
}

int err_sys(struct err *e, int r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)err_fill(e, ERR_INTERNAL, -r, fmt, ap);
    va_end(ap);
    return r;
}

int err_wrap(struct err *e, int r, const char *fmt, ...)
{
    if (!e)
        return r;
    char old[sizeof(e->msg)];
    memcpy(old, e->msg, sizeof(old));
    old[sizeof(old) - 1] = '\0';
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(e->msg))
        (void)snprintf(e->msg + n, sizeof(e->msg) - (size_t)n, ": %s", old);
    return r;
}

int err_status(enum err_code code)
{
    return code < ERR_COUNT ? kinds[code].status : 500;
}

const char *err_name(enum err_code code)
{
    return code < ERR_COUNT ? kinds[code].wire : "internal";
}

enum err_code err_from_errno(int sys)
{
    switch (sys) {
    case 0:
        return ERR_NONE;
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
        return ERR_INVALID;
    case EACCES:
    case EPERM:
        return ERR_FORBIDDEN;
    case EEXIST:
    case ENOTEMPTY:
        return ERR_CONFLICT;
    case ENOSPC:
    case EDQUOT:
        return ERR_NO_SPACE;
    case EFBIG:
    case E2BIG:
        return ERR_TOO_LARGE;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    default:
        return ERR_INTERNAL;
    }
}
