#include "cli/raw_terminal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "os/write_all.h"

enum { COLS = 80, ROWS = 24 };

void raw_terminal_size(int *ret_cols, int *ret_rows)
{
    struct winsize size;
    bool is_known = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    *ret_cols = is_known ? size.ws_col : COLS;
    *ret_rows = is_known ? size.ws_row : ROWS;
}

int raw_terminal_enter(struct raw_terminal *t)
{
    struct termios raw;
    if (tcgetattr(STDIN_FILENO, &t->before) < 0)
        return -errno;
    raw = t->before;
    cfmakeraw(&raw);
    if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) < 0)
        return -errno;
    t->is_raw = true;
    return 0;
}

void raw_terminal_leave(struct raw_terminal *t)
{
    if (t->is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
    t->is_raw = false;
}

void raw_terminal_done(struct raw_terminal *t)
{
    raw_terminal_leave(t);
    buf_done(&t->hidden);
}

static void write_output(const char *data, size_t len)
{
    (void)write_all_write(STDOUT_FILENO, data, len); /* our own terminal is gone: SIGHUP follows */
}

/* Output before the mark is dropped; if a shell never prints it, the output is shown after all. */
void raw_terminal_show(struct raw_terminal *t, const char *data, size_t len)
{
    if (!*t->mark) {
        write_output(data, len);
        return;
    }
    bool is_full = buf_add(&t->hidden, data, len) < 0;
    const char *at = memmem(buf_text(&t->hidden), t->hidden.len, t->mark, strlen(t->mark));
    if (!at && !is_full)
        return;
    size_t skip = at ? (size_t)(at - t->hidden.data) + strlen(t->mark) : 0;
    t->mark[0] = '\0';
    write_output(buf_text(&t->hidden) + skip, t->hidden.len - skip);
    if (is_full)
        write_output(data, len);
}

const char *raw_terminal_shell(const char *word)
{
    static const char *const shells[] = { "/bin/sh", "/bin/bash", "/bin/zsh", "/bin/ash" };
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(word, shells[i]) == 0 || strcmp(word, shells[i] + 5) == 0)
            return shells[i];
    return NULL;
}

/* The typed form of the mark differs from what printf makes of it, so that the terminal's echo is not mistaken for
 * it. */
int raw_terminal_line(struct raw_terminal *t, char *const *argv, int n, struct buf *ret_line)
{
    char id[UUID_MAX];
    uuid_new(id);
    int r = buf_addf(ret_line, " printf '\\001%%s' %s; exec", id);
    for (int i = 0; r == 0 && i < n; i++) {
        r = buf_add_str(ret_line, " '");
        for (const char *p = argv[i]; r == 0 && *p; p++)
            r = *p == '\'' ? buf_add_str(ret_line, "'\\''") : buf_add_char(ret_line, *p);
        r = r < 0 ? r : buf_add_char(ret_line, '\'');
    }
    r = r < 0 ? r : buf_add_char(ret_line, '\n');
    if (r == 0)
        (void)snprintf(t->mark, sizeof(t->mark), "\001%s", id);
    return r;
}
