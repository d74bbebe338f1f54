/* libssh, loaded only by the SSH listener (os/library.h): libssh.new() is ssh_new(). Private to ssh/. May include:
 * base/, os/. */
#pragma once
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include "base/err.h"

struct libssh {
#define FUNCTION(name) __typeof__(ssh_##name) *name;
#include "ssh/ssh_library.def"
#undef FUNCTION
};
extern struct libssh libssh;

int ssh_library_load(struct err *err); /* as library_load() */
