/* What a person sees: colours and progress on a terminal, plain text elsewhere; and text from outside made harmless.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum display_colour { DISPLAY_PLAIN, DISPLAY_BOLD, DISPLAY_FAINT, DISPLAY_GOOD, DISPLAY_BAD };

bool display_is_terminal(FILE *to);                           /* and NO_COLOR and TERM=dumb do not forbid colours */
const char *display_on(FILE *to, enum display_colour colour); /* the sequence that starts it, or "" */
const char *display_off(FILE *to);

/* text without control and bidirectional characters (line ends and tabs become blanks); caller frees. */
char *display_clean(const char *text);
const char *display_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */

/* A bar on stderr that is drawn anew; nothing at all when stderr is no terminal. */
struct display_bar {
    const char *label;
    int64_t total, last_us; /* total < 0: unknown */
    bool is_shown, is_drawn;
};
void display_bar_start(struct display_bar *b, const char *label, int64_t total);
void display_bar_move(struct display_bar *b, int64_t done);
void display_bar_end(struct display_bar *b); /* wipes it */

/* Pretty JSON as `iii trigger` prints it: two blanks, keys sorted, one line end. */
void display_json(const json_t *value, FILE *to);
