/* `iii completion SHELL`: scripts for bash, zsh and fish, generated from the table. May include: base/, cli/. */
#pragma once
#include "cli/verbs.h"

int completion_run(const struct verbs_args *a);
