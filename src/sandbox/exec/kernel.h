/* A driver process inside a sandbox that runs code for contexts: the zygote of all Python contexts, or the node process
 * of one JavaScript context. Speaks frames over the process's own pipes (see drivers/python_driver.py). What comes back
 * is untrusted: lengths are checked, an unknown form ends the process. May include: base/, guest/, sandbox/. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "guest/link.h"
#include "sandbox/lifecycle/sandbox.h"

#define KERNEL_QUEUE_MAX (8u << 20) /* bytes waiting to be read by the driver */

struct kernel;

/* Kinds of frames. */
enum kernel_letter {
    KERNEL_NEW = 'n',
    KERNEL_CODE = 'x',
    KERNEL_INTERRUPT = 'i',
    KERNEL_KILL = 'k',
    KERNEL_READY = 'y',
    KERNEL_FAILED = 'f',
    KERNEL_NO_ROOM = 'b',
    KERNEL_STDOUT = 'o',
    KERNEL_STDERR = 'e',
    KERNEL_RESULT_PART = 'r',
    KERNEL_RESULT = 'R',
    KERNEL_DONE_PART = 'd',
    KERNEL_DONE = 'D',
    KERNEL_ENDED = 'z',
};

struct kernel_events {
    void (*on_frame)(void *arg, uint32_t number, char letter, const char *data, size_t len);
    /* Bytes outside of frames: what subprocesses wrote. */
    void (*on_raw)(void *arg, const char *data, size_t len);
    /* Once, the last call: ex when it ran, else err (ERR_UNSUPPORTED: the image has no such interpreter). */
    void (*on_end)(void *arg, const struct guest_exit *ex, const struct err *err);
};

/* language: "python" or "javascript". cwd is where it starts. On success on_end comes, unless kernel_stop() does. */
int kernel_start(struct sandbox *s, const char *language, const char *cwd, const struct kernel_events *ev, void *arg,
                 struct kernel **ret, struct err *err);
/* -ENOSPC when too much waits, -EPIPE when it has ended. */
int kernel_send(struct kernel *k, uint32_t number, enum kernel_letter letter, const char *data, size_t len);
void kernel_signal(struct kernel *k, int signo); /* to its process group */
/* Kills it with all it started; no more callbacks. Legal inside a callback. NULL is fine. */
struct kernel *kernel_stop(struct kernel *k);
