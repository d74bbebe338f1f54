/* Which paths the file API takes: for the contract's routes below the workspace or the sandbox's own workdir, without
 * ".."; for contents any, since the agent opens them with the rights of the sandbox's user. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/limits.h"
#include "sandbox/lifecycle/sandbox.h"

#define WORK_PATH_MAX LIMIT_MAX(PATH_BYTES)

/* Relative paths are taken below the workspace. *ret is absolute, without doubled or trailing slashes; caller frees. */
int work_path_resolve(const struct sandbox *s, const char *path, char **ret, struct err *err);
/* Any path; relative ones below the workspace. Doubled and trailing slashes are kept. Caller frees *ret. */
int work_path_any(const struct sandbox *s, const char *path, char **ret, struct err *err);
