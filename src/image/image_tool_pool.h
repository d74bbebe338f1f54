/* The children of the image tool: forked and confined before their call arrives, since a snapshot waits for it. Each
 * call of the server is a socket that arrives on the tool's control socket with one byte, IMAGE_TOOL_POOL_*. May
 * include: base/, os/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

/* A call that parses untrusted bytes, for a child that has done nothing before; and one that moves, counts or hashes
 * folders. */
#define IMAGE_TOOL_POOL_UNTRUSTED 'c'
#define IMAGE_TOOL_POOL_PLAIN     'p'

/* In a child: serves a call until it ends. confined and why: result of confining the child. False: it has parsed
 * untrusted bytes, so it must exit. */
typedef bool image_tool_pool_fn(void *arg, int call, int confined, const struct err *why);

/* Serves calls until the control socket closes. */
void image_tool_pool_run(const char *data_dir, int control, image_tool_pool_fn *fn, void *arg);
