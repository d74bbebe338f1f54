/* The host's /usr on a read-only drive, so that presets run in VMs as they do on the native backend. There /usr is
 * mounted; a VM gets a copy, and a key says when that copy is stale. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/strlist.h"

#define VM_HOST_USR             "/usr"
#define VM_HOST_USR_PRIVATE_MAX 4096

/* A digest of what is installed: changes when the package database changes, or when an entry is added to, removed
 * from or replaced in a folder of usr, or in a folder of usr/local up to three levels below. An edit of a file in place
 * does not change it. About a hundred stat calls. usr: VM_HOST_USR, or another folder in a test. */
void vm_host_usr_key(const char *usr, char ret[DIGEST_HEX]);
/* Looks at everything below usr. ret_private gets the paths of what not every user of the host can read, and of device
 * nodes: what a copy must leave out, whoever makes it. One folder stands for all in it. Paths start with the last part
 * of usr. ret_bytes: the size of the rest. Takes seconds. */
int vm_host_usr_scan(const char *usr, char ***ret_private, uint64_t *ret_bytes, struct err *err);
