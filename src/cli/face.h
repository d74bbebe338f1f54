/* What a person sees: colours and progress on a terminal, plain text elsewhere; and text from outside made harmless.
 * May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum face_colour { FACE_PLAIN, FACE_BOLD, FACE_FAINT, FACE_GOOD, FACE_BAD };

bool face_is_terminal(FILE *to);                        /* and NO_COLOR and TERM=dumb do not forbid colours */
const char *face_on(FILE *to, enum face_colour colour); /* the sequence that starts it, or "" */
const char *face_off(FILE *to);

/* text without control and bidirectional characters (line ends and tabs become blanks); caller frees. */
char *face_clean(const char *text);
const char *face_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */

/* A bar on stderr that is drawn anew; nothing at all when stderr is no terminal. */
struct face_bar {
    const char *label;
    int64_t total, last_us; /* total < 0: unknown */
    bool is_shown, is_drawn;
};
void face_bar_start(struct face_bar *b, const char *label, int64_t total);
void face_bar_move(struct face_bar *b, int64_t done);
void face_bar_end(struct face_bar *b); /* wipes it */

/* Pretty JSON as `iii trigger` prints it: two blanks, keys sorted, one line end. */
void face_json(const json_t *value, FILE *to);
