/* Replies of operations as people read them: tables, pairs or plain text, according to the reply's schema. Untrusted:
 * the reply; control characters in it do not reach a terminal, except in the content of a command or file. May include:
 * base/, spec/, cli/. */
#pragma once
#include <stdio.h>

#include "base/json.h"
#include "cli/verbs.h"
#include "spec/spec.h"

enum operation_output_form {
    OPERATION_OUTPUT_TABLE,
    OPERATION_OUTPUT_WIDE,
    OPERATION_OUTPUT_JSON,
    OPERATION_OUTPUT_NAME
};
struct operation_output_style {
    enum operation_output_form form;
    bool is_wide;  /* tables show columns with nested values, too */
    bool is_whole; /* columns are not cut to the width of the terminal */
};
/* What -o, --json, -q and --no-trunc say. 0, or an exit code after the error was printed. */
int operation_output_style(const struct verbs_args *a, struct operation_output_style *ret);

/* Prints a reply of this schema. Returns the exit code: a command's own, 1 for code that failed, otherwise 0. */
int operation_output_reply(const char *schema, const json_t *reply, const struct operation_output_style *style,
                           FILE *to);
/* Rows as a table with a header; the members of the first row are the columns. */
void operation_output_table(const json_t *rows, const struct operation_output_style *style, FILE *to);
/* The name of every row of a list, or of the one object: its first member. */
void operation_output_names(const char *schema, const json_t *reply, FILE *to);
/* One event of a stream on a line. */
void operation_output_event(const json_t *event, FILE *to);
/* Milliseconds since the epoch in local time: "2026-11-15 22:19:38". */
const char *operation_output_time(int64_t ms, char ret[32]);
/* Writes a string's bytes as they are. */
void operation_output_raw(const json_t *text, FILE *to);
/* The colour of a state: running, paused, failed … */
const char *operation_output_colour(const char *state, FILE *to);
