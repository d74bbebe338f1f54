/* Copies of the host's /usr, so that presets run in VMs and container engines as they do on the native backend, which
 * mounts it: when a copy is stale, and what it must not have. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strlist.h"

#define HOST_USR             "/usr"
#define HOST_USR_PRIVATE_MAX 4096

/* A digest of what is installed: changes when the package database changes, or when an entry is added to, removed
 * from or replaced in a folder of usr, in a folder of usr/local up to three levels below, or among the modules of
 * Python and Node.js in usr/lib. An edit of a file in place does not change it. About a hundred stat calls. usr:
 * HOST_USR, or another folder in a test. */
void host_usr_key(const char *usr, char ret[DIGEST_HEX]);
/* Looks at everything below usr. ret_private gets the paths of what not every user of the host can read, and of device
 * nodes: what a copy must leave out, whoever makes it. One folder stands for all in it. Paths start with the last part
 * of usr. ret_bytes: the size of the rest. Takes seconds. */
int host_usr_scan(const char *usr, char ***ret_private, uint64_t *ret_bytes, struct err *err);
