/* The console: a web application at "/" whose files are in the binary. It calls the public API and nothing else. The
 * files are public, as those of /docs. May include: base/, http/, api/. */
#pragma once
#include "api/api.h"

void console_add(struct api *a); /* adds the paths, if this build has a console */
