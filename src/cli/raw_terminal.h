/* This terminal while it is connected to one in a sandbox: raw mode, its size, and typing a command into the shell
 * there so that neither prompt nor echo are visible. May include: base/. */
#pragma once
#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"
#include "base/uuid.h"

enum { RAW_TERMINAL_HIDDEN_MAX = 65536, RAW_TERMINAL_LINE_MAX = 4000 /* a terminal truncates lines at 4096 */ };

struct raw_terminal {
    struct termios before;
    bool is_raw;
    char mark[UUID_MAX + 1]; /* output up to this (prompt and echo of the typed command) is hidden; "": nothing is */
    struct buf hidden;
};
#define RAW_TERMINAL_INIT                           \
    {                                               \
        .hidden = BUF_INIT(RAW_TERMINAL_HIDDEN_MAX) \
    }
int raw_terminal_enter(struct raw_terminal *t);
void raw_terminal_leave(struct raw_terminal *t); /* also when it is not raw */
void raw_terminal_done(struct raw_terminal *t);  /* leaves and frees */
void raw_terminal_size(int *ret_cols, int *ret_rows);
/* Writes output to the terminal, from the mark on. */
void raw_terminal_show(struct raw_terminal *t, const char *data, size_t len);
/* The full path of a shell that terminals may run: "bash" → "/bin/bash". NULL: not such a shell. */
const char *raw_terminal_shell(const char *word);
/* The line that prints the mark and then replaces the shell by the command. -E2BIG: too long for a terminal. */
int raw_terminal_line(struct raw_terminal *t, char *const *argv, int n, struct buf *ret_line);
