/* The children of the image tool: forked and confined before their call comes, since a snapshot waits for it. Each call
 * of the server is a socket that arrives on the tool's control socket with one byte, IMAGE_TOOL_POOL_*. May include:
 * base/, os/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

#define IMAGE_TOOL_POOL_UNTRUSTED                                                                                      \
    'c'                           /* a call that parses foreign bytes: never for a child that has done anything before \
                                   */
#define IMAGE_TOOL_POOL_PLAIN 'p' /* one that moves, counts or hashes folders */

/* In a child: serves a call until its end. confined and why: what came of confining the child. False: it has read
 * foreign bytes, so it must end. */
typedef bool image_tool_pool_fn(void *arg, int call, int confined, const struct err *why);

/* Takes calls until the control socket ends. */
void image_tool_pool_run(const char *data_dir, int control, image_tool_pool_fn *fn, void *arg);
