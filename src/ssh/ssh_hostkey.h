/* The host key: the operator's file, or one in the data folder that is made at the first start. May include: base/,
 * ssh/. */
#pragma once
#include "base/err.h"
#include "ssh/ssh_library.h"

#define SSH_HOSTKEY_FOLDER "ssh"
#define SSH_HOSTKEY_FILE   "ssh_host_ed25519_key"

/* path "": that of the data folder. The key is the caller's. Must be readable by its owner only. */
int ssh_hostkey_load(const char *data_dir, const char *path, ssh_key *ret, struct err *err);
