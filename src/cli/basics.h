/* The most used commands of `iii-sandbox`, with the output that the contract promises. May include: base/, spec/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

verbs_fn basics_create;
verbs_fn basics_exec;
verbs_fn basics_run;
verbs_fn basics_list;
verbs_fn basics_kill;
verbs_fn basics_renew;
