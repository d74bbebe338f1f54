/* The list `workers` of the configuration file, of which the entry `iii-sandbox` is ours: limits of the sandbox::
 * functions. Fail-closed: an entry without an image_allowlist allows no image. May include: base/. */
#pragma once
#include <libfyaml.h>

#include "base/err.h"
#include "base/settings.h"

/* ERR_INVALID names file, line and column; unknown keys only cause a warning. */
int worker_settings_read(const char *path, struct fy_node *list, struct settings *s, struct err *err);
