/* QMP, QEMU's control protocol: JSON lines over a Unix socket. One command at a time; more are queued.
 * Untrusted: all that is received (lines are bounded, JSON is parsed strictly). May include: base/, loop/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

struct qmp;
typedef void qmp_fn(void *arg, json_t *value, const struct err *err); /* once; value is borrowed */
typedef void qmp_event_fn(void *arg, const char *name, json_t *data);

struct qmp_options {
    struct loop *loop;
    const char *path;       /* of the socket */
    qmp_event_fn *on_event; /* or NULL */
    loop_fn *on_lost;       /* the connection ended or sent invalid data; all commands under way have failed before */
    void *arg;
};
/* Connects and negotiates capabilities; commands may be queued at once. */
int qmp_open(const struct qmp_options *opt, struct qmp **ret, struct err *err);
struct qmp *qmp_close(struct qmp *q); /* commands under way are not answered */
struct qmp_then {
    qmp_fn *fn; /* or NULL */
    void *arg;
    bool is_owned; /* arg is freed when fn is never called; else fn frees it */
};
/* args: stolen, or NULL. fd: passed along (borrowed), or NO_FD. */
void qmp_run(struct qmp *q, const char *command, json_t *args, int fd, struct qmp_then then);
