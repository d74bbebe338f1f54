/* Which user the server becomes. May include: base/. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct run_as {
    uid_t uid;
    gid_t gid;
};

/* text: "", "USER", "UID", "USER:GROUP", "UID:GID". Empty: the user iii-sandbox if there is one, else an id that nobody
 * has. Who is not root stays who they are, and may name only that. */
int run_as_pick(const char *text, struct run_as *ret, struct err *err);
/* May that user pass through every folder above dir? Asked as root. */
bool run_as_can_enter(const char *dir, const struct run_as *who);
