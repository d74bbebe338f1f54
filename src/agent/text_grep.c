#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/lines.h"
#include "agent/text_core.h"

#define LOOK_BYTES 8192 /* a NUL in here: not a text file */

static bool is_binary(int fd)
{
    char head[LOOK_BYTES];
    ssize_t n = pread(fd, head, sizeof(head), 0);

    return n < 0 || memchr(head, '\0', (size_t)n);
}

static void match_report(struct agent_text *t, const char *path, uint64_t number, const struct agent_line *line)
{
    static const char more[] = "\xe2\x80\xa6";
    char text[PROTO_ROW_TEXT_MAX + 1];
    size_t room = PROTO_ROW_TEXT_MAX - sizeof(more), len = line->len;
    bool is_cut = line->is_cut;

    if (t->max_line && t->max_line < room)
        room = t->max_line;
    if (len > room) {
        len = room;
        while (len > 0 && ((unsigned char)line->text[len] & 0xc0) == 0x80)
            len--; /* not inside a character */
        is_cut = true;
    }
    memcpy(text, line->text, len);
    memcpy(text + len, more, is_cut ? sizeof(more) : 0);
    text[is_cut ? len + sizeof(more) - 1 : len] = '\0';
    t->n_matches++;
    struct proto_row row = { .path = path, .number = number, .is_set = is_cut, .text = text };
    if (!agent_rows_add(&t->rows, &row) || (t->max_matches && t->n_matches >= t->max_matches))
        t->is_full = true;
}

static void grep_file(struct agent_text *t, int fd, const char *path)
{
    struct agent_lines lines;
    struct agent_line line;
    struct proto_regex_span span;

    if (is_binary(fd))
        return;
    agent_lines_init(&lines, fd);
    for (uint64_t number = 1; !t->is_full && agent_lines_next(&lines, &line) > 0; number++) {
        if (line.len > 0 && line.text[line.len - 1] == '\r')
            line.len--; /* part of the terminator */
        if (line.is_cut || memchr(line.text, '\0', line.len) || !agent_lines_is_utf8(line.text, line.len))
            continue;
        if (proto_regex_find(t->regex, line.text, line.len, 0, &span, 1))
            match_report(t, path, number, &line);
    }
    agent_lines_done(&lines);
}

void agent_text_grep(struct agent_text *t)
{
    int r = agent_text_walk(t, t->paths[0], grep_file);

    if (r < 0) {
        agent_rows_fail(&t->rows, -r, "search", t->paths[0]);
        return;
    }
    if (t->is_full)
        (void)agent_rows_add(&t->rows, &(struct proto_row){ .path = "", .is_set = true });
    agent_rows_end(&t->rows);
}
