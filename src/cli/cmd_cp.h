/* `iii cp`: files and folders into a sandbox and out of it, in constant memory. Untrusted: what the sandbox sends. May
 * include: base/, os/, spec/, tar/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_cp_run;
