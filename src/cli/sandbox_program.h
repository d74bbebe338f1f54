/* The commands of the binary when it is called `iii-sandbox`: hand-written ones, those shared with `iii`, and one for
 * every operation of the server's table. May include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

#define SANDBOX_PROGRAM_NAME "iii-sandbox"

struct sandbox_program;

struct sandbox_program *sandbox_program_new(void);
const struct verbs_program *sandbox_program_get(const struct sandbox_program *b); /* lives as long as b */
struct sandbox_program *sandbox_program_free(struct sandbox_program *b);

extern const struct verbs_verb sandbox_verbs_rows[]; /* the hand-written ones, in sandbox_verbs.c */
