/* Calls of Firecracker's API, one after the other: HTTP over the unix socket that it makes in the VM's folder.
 * Untrusted: all that is received; responses are bounded. May include: base/, loop/, http/, vm/. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "loop/loop.h"

#define FIRECRACKER_API_ANSWER_MAX 65536u
#define FIRECRACKER_API_FAULT_MAX  200 /* bytes of its fault_message in an error */

struct firecracker_api; /* a client of one API socket */

/* answer: NULL when the response has no body (204). Once for each call, in order, never from inside the call that
 * caused it. */
typedef void firecracker_api_fn(void *arg, json_t *answer, const struct err *err);

/* folder_fd is borrowed as long as the object lives. */
struct firecracker_api *firecracker_api_new(struct loop *l, int folder_fd, const char *name);
struct firecracker_api *
firecracker_api_free(struct firecracker_api *c); /* calls under way are not answered. NULL is fine */

/* Retries until the socket accepts connections, at most timeout_ms; fn's answer is NULL. The socket is then pinned:
 * all calls use it, whatever is under its name later. */
void firecracker_api_wait(struct firecracker_api *c, int64_t timeout_ms, firecracker_api_fn *fn, void *arg);

struct firecracker_api_request {
    const char *method, *path;
    json_t *body; /* stolen; NULL: none */
    int64_t timeout_ms;
};
/* GET must return 200 with an object, all other methods 204. Another status: ERR_UPSTREAM with its fault_message. */
void firecracker_api_run(struct firecracker_api *c, const struct firecracker_api_request *req, firecracker_api_fn *fn,
                         void *arg);

/* For tests and fuzzing: turns an error response into err. */
void firecracker_api_fault(const char *method, const char *path, int status, const char *body, size_t len,
                           struct err *err);
