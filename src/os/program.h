/* Programs of the system that do a job for us (mkfs, dpkg-deb, apt-get): an argument vector, no shell, no environment,
 * no descriptors but ours, a process group of its own that is killed at a deadline. Blocks: never call it on the loop.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define PROGRAM_PATH_MAX 64
#define PROGRAM_FD       3 /* where the program finds the descriptor it was given */

struct program_call {
    const char *const *argv; /* NULL-ended; argv[0] is a bare name, looked up by program_find() */
    const char *package;     /* what to install when it is missing */
    int cwd;                 /* folder it runs in; NO_FD: / */
    int fd;                  /* becomes descriptor 3; NO_FD: none */
    int64_t limit_ms;        /* longest time */
    struct buf *out;         /* what it prints, up to the buffer's maximum; NULL: dropped */
    const char *input;       /* what it reads from standard input (at most 4096 bytes); NULL: nothing */
    const char *const *kept; /* names of variables that it sees as we do, NULL-ended; NULL: none */
    /* Last step in the child before the program starts, or NULL. On failure it writes a sentence to standard error and
     * returns below 0. */
    int (*prepare)(void *arg);
    void *arg;
};

/* The path of a program in the system's own folders; never that of the caller's PATH. */
bool program_find(const char *name, char ret[PROGRAM_PATH_MAX]);
/* 0 when it ended with 0. Else err has its name and the end of what it wrote to standard error; ERR_UNSUPPORTED names
 * the package when it is missing, ERR_TIMEOUT when it was killed. */
int program_run(const struct program_call *call, struct err *err);
