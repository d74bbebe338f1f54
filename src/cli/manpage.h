/* `iii man [DIR]`: manual pages generated from the table. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

int manpage_run(const struct verbs_args *a);
