/* Sets owners and modes of the data folder so that a server that is not root can use it and cannot misuse it. May
 * include: base/. */
#pragma once
#include <sys/types.h>

#include "base/err.h"

/* Runs as root at each start, with the folder's lock held. uid 0: gives everything back to root. */
int ownership_run(const char *data_dir, uid_t uid, gid_t gid, struct err *err);
