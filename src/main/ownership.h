/* Makes the data folder one that a server which is not root can use and cannot misuse. May include: base/. */
#pragma once
#include <sys/types.h>

#include "base/err.h"

/* As root, each start, with the folder's lock held. uid 0: gives everything back to root. */
int ownership_run(const char *data_dir, uid_t uid, gid_t gid, struct err *err);
