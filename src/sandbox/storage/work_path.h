/* Which paths the file API takes: below the workspace or the sandbox's own workdir, without "..". May include: base/.
 */
#pragma once
#include "base/err.h"
#include "base/limits.h"
#include "sandbox/lifecycle/sandbox.h"

#define WORK_PATH_MAX LIMIT_MAX(PATH_BYTES)

/* Relative paths are taken below the workspace. *ret is absolute, without doubled or trailing slashes; caller frees. */
int work_path_resolve(const struct sandbox *s, const char *path, char **ret, struct err *err);
