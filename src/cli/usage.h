/* Help texts generated from the table. May include: cli/. */
#pragma once
#include <stdio.h>

#include "cli/verbs.h"

/* One command, or a group with its commands. */
void usage_print(const struct verbs_program *p, const struct verbs_verb *v, FILE *to);
void usage_print_all(const struct verbs_program *p, FILE *to); /* `iii help` */
void usage_print_steps(FILE *to);                              /* `iii` alone: how to begin */
/* All commands of a program as a table in Markdown, with the options that are not general ones; of `iii-sandbox` those
 * that `iii` does not have. */
void usage_reference(const struct verbs_program *p, FILE *to);
void usage_print_options(const struct verbs_verb *v, FILE *to);
/* Text about commands: the word iii that begins one becomes the program's name. */
void usage_text(const struct verbs_program *p, const char *text, FILE *to);
/* "-e, --env K=V" as help and manual pages show it. */
void usage_flag(const struct verbs_option *o, char *ret, size_t size);
