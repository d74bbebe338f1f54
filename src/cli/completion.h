/* Shell completion: scripts that ask this program, and its answers. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn completion_run;   /* `iii completion bash|zsh|fish` */
verbs_fn completion_words; /* `iii __complete -- WORD...`: candidates for the last word, each with a tab and its help */
