/* `iii-sandbox top`: sandboxes, or the processes of one, redrawn until the user leaves. May include: base/, spec/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn cmd_top_run;
verbs_fn cmd_top_stats; /* only sandboxes, of which the operands choose */
