/* `iii sandbox exec -it`: connects this terminal to one in the sandbox. May include: base/, cli/. */
#pragma once
#include "cli/sandbox_exec.h"

/* Returns the shell's exit code. */
int sandbox_terminal_run(struct wire *w, const struct sandbox_exec_plan *plan);
