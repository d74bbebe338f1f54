/* What the binary can do when it is called `iii-sandbox`: commands written by hand, those of `iii` that belong here,
 * too, and one for every operation of the server's table. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

#define BOXPROGRAM_NAME "iii-sandbox"

struct boxprogram;

struct boxprogram *boxprogram_new(void);
const struct verbs_program *boxprogram_get(const struct boxprogram *b); /* lives as long as b */
struct boxprogram *boxprogram_free(struct boxprogram *b);

extern const struct verbs_verb boxverbs_rows[]; /* those by hand, in boxverbs.c */
