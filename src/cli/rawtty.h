/* This terminal while it stands for one in a sandbox: raw mode, its size, and typing a command into the shell there so
 * that neither prompt nor echo of it are seen. May include: base/. */
#pragma once
#include <stdbool.h>
#include <termios.h>

#include "base/buf.h"
#include "base/uuid.h"

enum { RAWTTY_HIDDEN_MAX = 65536, RAWTTY_LINE_MAX = 4000 /* a terminal cuts lines at 4096 */ };

struct rawtty {
    struct termios before;
    bool is_raw;
    char mark[UUID_MAX + 1]; /* output up to this, prompt and echo of the typed command, is not shown; "": all is */
    struct buf hidden;
};
#define RAWTTY_INIT                           \
    {                                         \
        .hidden = BUF_INIT(RAWTTY_HIDDEN_MAX) \
    }
int rawtty_enter(struct rawtty *t);
void rawtty_leave(struct rawtty *t); /* also when it is not raw */
void rawtty_done(struct rawtty *t);  /* leaves and frees */
void rawtty_size(int *ret_cols, int *ret_rows);
/* Writes output to the terminal, from the mark on. */
void rawtty_show(struct rawtty *t, const char *data, size_t len);
/* The full path of a shell that terminals may run: "bash" → "/bin/bash". NULL: it is none. */
const char *rawtty_shell(const char *word);
/* The line that says the mark and then lets the command take the shell's place. -E2BIG: too long for a terminal. */
int rawtty_line(struct rawtty *t, char *const *argv, int n, struct buf *ret_line);
