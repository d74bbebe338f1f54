/* The commands of one name of the binary: those written by hand, and one for every operation of the server's table. May
 * include: base/, spec/, cli/. */
#pragma once
#include "cli/verbs.h"

#define VERB_PROGRAM_NAME "iii"
#define VERB_PROGRAM_CONTRACT                                                               \
    "iii-sandbox" /* the same commands; where its contract spells one differently, that one \
                   */

struct verb_program;

struct verb_program *verb_program_new(bool is_contract);
const struct verbs_program *verb_program_get(const struct verb_program *b); /* lives as long as b */
struct verb_program *verb_program_free(struct verb_program *b);
