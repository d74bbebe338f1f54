/* Settings of `iii serve`: flags over environment over configuration file over defaults. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/settings.h"

/* argv[0] is the verb. 0: *ret is filled, the caller ends it with settings_done(). 1: the help text was printed, *ret
 * untouched. Negative: err names the option, or the file with line and column; *ret untouched. */
int config_load(int argc, char **argv, struct settings *ret, struct err *err);
