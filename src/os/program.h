/* Runs system programs (mkfs, dpkg-deb, apt-get): an argument vector, no shell, no environment, no descriptors but
 * ours, its own process group that is killed at a deadline. Blocks: never call it on the loop. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define PROGRAM_PATH_MAX 64
#define PROGRAM_FD       3 /* number of the descriptor that the program gets */

struct program_call {
    const char *const *argv; /* NULL-terminated; argv[0] is a bare name, resolved by program_find() */
    const char *package;     /* what to install when it is missing */
    int cwd;                 /* folder it runs in; NO_FD: / */
    int fd;                  /* becomes descriptor 3; NO_FD: none */
    int64_t limit_ms;        /* deadline */
    struct buf *out;         /* its output, up to the buffer's limit; NULL: dropped */
    const char *input;       /* its standard input (at most 4096 bytes); NULL: empty */
    const char *const *kept; /* names of environment variables to pass on, NULL-terminated; NULL: none */
    /* Last step in the child before the exec, or NULL. On failure it writes a message to standard error and returns
     * below 0. */
    int (*prepare)(void *arg);
    void *arg;
};

/* The path of a program in the system's own folders, never by the caller's PATH. */
bool program_find(const char *name, char ret[PROGRAM_PATH_MAX]);
/* 0 when it exited with 0. Else err has its name and the end of its standard error; ERR_UNSUPPORTED names the
 * package when it is missing, ERR_TIMEOUT when it was killed. */
int program_run(const struct program_call *call, struct err *err);
