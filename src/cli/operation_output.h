/* Answers of operations as people read them: tables, pairs or plain text, after the answer's schema. Untrusted: the
 * answer; control characters in it do not reach a terminal, except in what a command or file holds. May include: base/,
 * spec/, cli/. */
#pragma once
#include <stdio.h>

#include "base/json.h"
#include "spec/spec.h"

/* Prints an answer of this schema. Returns the exit code: a command's own, 1 for code that failed, else 0. */
int operation_output_reply(const char *schema, const json_t *reply, FILE *to);
/* Rows of one schema (its name; NULL: what the first row has) as a table with a header. */
void operation_output_table(const char *schema, const json_t *rows, FILE *to);
/* One event of a stream on a line. */
void operation_output_event(const json_t *event, FILE *to);
/* Milliseconds since the epoch in local time: "2026-11-15 22:19:38". */
const char *operation_output_time(int64_t ms, char ret[32]);
/* Writes a string's bytes as they are. */
void operation_output_raw(const json_t *text, FILE *to);
/* The colour of a state: running, paused, failed … */
const char *operation_output_colour(const char *state, FILE *to);
