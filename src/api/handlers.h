/* What handlers share: finding the sandbox a call names, and finishing calls from guest callbacks. Private to api/.
 * May include: api/, sandbox/, guest/. */
#pragma once
#include "api/call.h"
#include "sandbox/manager.h"

/* The sandbox of the path's :id. NULL: the call was answered with 404. */
struct sandbox *handlers_sandbox(struct call *c);
/* The same, and it must run: 409 otherwise. */
struct sandbox *handlers_running(struct call *c);
/* guest_done_fn that answers {"success":true} or the error; arg is the call. */
void handlers_success(void *arg, const struct err *err);
/* For calls into guest/ that return a negative number at once: answers and returns true. */
bool handlers_failed(struct call *c, int r, const char *what);
