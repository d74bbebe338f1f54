/* Replies of operations as people read them: tables, pairs or plain text, according to the reply's schema. Untrusted:
 * the reply; control characters in it do not reach a terminal, except in the content of a command or file. May include:
 * base/, spec/, cli/. */
#pragma once
#include <stdio.h>

#include "base/json.h"
#include "spec/spec.h"

/* Prints a reply of this schema. Returns the exit code: a command's own, 1 for code that failed, otherwise 0. */
int operation_output_reply(const char *schema, const json_t *reply, FILE *to);
/* Rows of one schema (its name; NULL: the members of the first row) as a table with a header. */
void operation_output_table(const char *schema, const json_t *rows, FILE *to);
/* One event of a stream on a line. */
void operation_output_event(const json_t *event, FILE *to);
/* Milliseconds since the epoch in local time: "2026-11-15 22:19:38". */
const char *operation_output_time(int64_t ms, char ret[32]);
/* Writes a string's bytes as they are. */
void operation_output_raw(const json_t *text, FILE *to);
/* The colour of a state: running, paused, failed … */
const char *operation_output_colour(const char *state, FILE *to);
