/* A file's lines, one after the other, in bounded memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define AG_LINES_MAX (16u * 1024 * 1024) /* longest line kept whole */

struct ag_lines {
    int fd;
    char *buf;
    size_t cap, len, at; /* bytes at..len wait */
    bool is_over;
};

struct ag_line {
    const char *text; /* without its terminator */
    size_t len;
    bool has_newline;
    bool is_cut; /* longer than AG_LINES_MAX: the rest was passed over */
};

void ag_lines_init(struct ag_lines *l, int fd); /* fd stays the caller's */
void ag_lines_done(struct ag_lines *l);
int ag_lines_next(struct ag_lines *l,
                  struct ag_line *ret); /* 1: a line, valid until the next call; 0: the end; -errno */
bool ag_lines_is_utf8(const char *s, size_t len);
