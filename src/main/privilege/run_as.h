/* Picks the user that the server becomes. May include: base/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct run_as {
    uid_t uid;
    gid_t gid;
};

/* text: "", "USER", "UID", "USER:GROUP", "UID:GID". Empty: the user iii-sandbox if it exists, otherwise an unused id. A
 * server not started by root keeps its user, and may name only that one. */
int run_as_pick(const char *text, struct run_as *ret, struct err *err);
/* Whether that user can pass every folder above dir. Runs as root. */
bool run_as_can_enter(const char *dir, const struct run_as *who);
