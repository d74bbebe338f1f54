/* Reads a file line by line in bounded memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define AGENT_LINES_MAX (16u * 1024 * 1024) /* longest line kept complete */

struct agent_lines {
    int fd;
    char *buf;
    size_t cap, len, at; /* bytes at..len are buffered */
    bool is_over;
};

struct agent_line {
    const char *text; /* without its terminator */
    size_t len;
    bool has_newline;
    bool is_cut; /* longer than AGENT_LINES_MAX: the rest was skipped */
};

void agent_lines_init(struct agent_lines *l, int fd); /* the caller closes fd */
void agent_lines_done(struct agent_lines *l);
int agent_lines_next(struct agent_lines *l,
                     struct agent_line *ret); /* 1: a line, valid until the next call; 0: the end; -errno */
bool agent_lines_is_utf8(const char *s, size_t len);
