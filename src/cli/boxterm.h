/* `iii sandbox exec -it`: this terminal is one in the sandbox. May include: base/, cli/. */
#pragma once
#include "cli/boxexec.h"

/* Returns the shell's exit code. */
int boxterm_run(struct wire *w, const struct boxexec_plan *plan);
