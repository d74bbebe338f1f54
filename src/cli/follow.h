/* Live output of a server: `logs`, `events`, `metrics`. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn follow_logs;
verbs_fn follow_events;
verbs_fn follow_metrics;
