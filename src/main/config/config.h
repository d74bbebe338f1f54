/* Settings of `iii serve`: flags over environment over configuration file over defaults. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/settings.h"

/* Where settings came from, so that they can be computed again from another text of the file. */
struct config {
    int argc;
    char **argv;      /* borrowed: the process's own */
    const char *path; /* path of the file, borrowed from argv; NULL: none */
    char *text;       /* content of the file; owned, with its length */
    size_t len;
    struct settings started; /* the resulting settings */
};

/* argv[0] is the verb. 0: *ret is filled, the caller frees it with settings_done(), and *from (may be NULL) with
 * config_done(). 1: the help text was printed, both untouched. Negative: err names the option, or the file with line
 * and column; both untouched. */
int config_load(int argc, char **argv, struct config *from, struct settings *ret, struct err *err);
/* The settings that a start with this text in the file would have, in the environment of this process. Bad values in
 * the environment are not reported again. */
int config_again(const struct config *from, const char *text, size_t len, struct settings *ret, struct err *err);
void config_done(struct config *from);
