/* Confines a process that accepts connections of untrusted clients, once it has read its key: another user (as root),
 * no capabilities, no new privileges, no core dumps, and only the system calls that it names. May include: base/, os/.
 */
#pragma once
#include "base/err.h"

/* name: "TLS listener", for errors. calls: as syscall_allowlist_enter() takes them. */
int confine_listener_enter(const char *name, const char *const *calls, struct err *err);
