/* The agent of a fake box: speaks the guest protocol at the other end of the host's stream, keeps files in memory and
 * runs a handful of commands (echo, cat, sleep, exit, true, false). What it does not know it answers with ENOSYS.
 * May include: base/, loop/, guest/proto.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "loop/loop.h"

struct fakeagent;

#define FAKEAGENT_FILE_MAX (64u << 20)

/* files: path -> struct buf, borrowed, changed by what the host asks for. hostname: of size bytes, written by it.
 * ret_fd: the end for the host, the receiver's. */
int fakeagent_new(struct loop *l, struct map *files, char *hostname, size_t size, struct fakeagent **ret, int *ret_fd,
                  struct err *err);
struct fakeagent *fakeagent_free(struct fakeagent *a); /* the host sees the end of its stream */
void fakeagent_freeze(struct fakeagent *a, bool is_frozen);
size_t fakeagent_running(const struct fakeagent *a); /* commands */

/* A file in files; takes a copy of data. */
void fakeagent_put(struct map *files, const char *path, const char *data, size_t len);
struct map *fakeagent_files_free(struct map *files);
