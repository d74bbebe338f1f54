/* Output for people: colours and progress on a terminal, plain text elsewhere; and cleaning of untrusted text. May
 * include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum display_colour { DISPLAY_PLAIN, DISPLAY_BOLD, DISPLAY_FAINT, DISPLAY_GOOD, DISPLAY_BAD };

bool display_is_terminal(FILE *to);                           /* and neither NO_COLOR nor TERM=dumb forbids colours */
const char *display_on(FILE *to, enum display_colour colour); /* the sequence that starts it, or "" */
const char *display_off(FILE *to);

/* text without control and bidirectional characters (newlines and tabs become spaces); caller frees. */
char *display_clean(const char *text);
const char *display_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */

/* "12 seconds", "3 minutes", "2 days" of a time in ms, with ending behind it; "now" when it is none. */
const char *display_span(int64_t ms, const char *ending, char ret[32]);

/* A progress bar on stderr, redrawn in place; nothing when stderr is not a terminal. */
struct display_bar {
    const char *label;
    int64_t total, last_us; /* total < 0: unknown */
    bool is_shown, is_drawn;
};
void display_bar_start(struct display_bar *b, const char *label, int64_t total);
void display_bar_move(struct display_bar *b, int64_t done);
void display_bar_end(struct display_bar *b); /* erases it */

void display_warnings(const json_t *warnings); /* of a reply, on stderr, a line for each; NULL: nothing */
/* Pretty JSON as `iii trigger` prints it: two spaces, keys sorted, one newline. */
void display_json(const json_t *value, FILE *to);
