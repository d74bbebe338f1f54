/* An error with a kind, a cause and a sentence. Lives on the caller's stack, never allocates. Functions return 0 or a
 * positive number for success and -errno for failure; those that cross a room boundary fill a struct err too. May
 * include: base/. */
#pragma once
#include <stdarg.h>

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

enum err_code {
    ERR_NONE,
#define X(name, wire, status, sys) ERR_##name,
#include "base/errors.def"
#undef X
    ERR_COUNT
};

struct err {
    enum err_code code; /* what kind: picks the HTTP status */
    int sys;            /* errno behind it, 0 if none */
    char msg[400];      /* "create sbx_1: mount overlay: Permission denied" */
};

#define ERR_INIT         \
    {                    \
        .code = ERR_NONE \
    }

/* Fills err (NULL is fine) and returns -sys, or the kind's own errno when sys is 0.
 * With sys set, ": strerror" is appended. */
int err_set(struct err *e, enum err_code code, int sys, const char *fmt, ...) PRINTF_LIKE(4, 5);

/* Puts "context: " before the message already there; returns r. */
int err_wrap(struct err *e, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Same as err_set(ERR_INTERNAL, -r, ...) for a negative return value of a system wrapper. */
int err_sys(struct err *e, int r, const char *fmt, ...) PRINTF_LIKE(3, 4);

int err_status(enum err_code code);       /* HTTP status */
const char *err_name(enum err_code code); /* wire code, "not_found" */
enum err_code err_from_errno(int sys);    /* best kind for a bare errno */
