#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lines.h"
#include "agent/text_core.h"

#define OUT_BYTES 65536u

/* The new text of one file, which is created when the first line changes. */
struct edit {
    struct agent_text *text;
    FILE *out;
    char real[PATH_MAX], beside[PATH_MAX];
    uint64_t n;   /* replacements */
    off_t copied; /* bytes of the old file before the first changed line */
};

static bool is_name(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Expands $1, $name, ${name} and $$ at s; returns the bytes consumed, 0: a plain dollar. */
static size_t put_group(struct edit *e, const char *s, size_t len, const char *line,
                        const struct proto_regex_span *spans)
{
    if (len > 1 && s[1] == '$') {
        (void)fputc('$', e->out);
        return 2;
    }
    bool has_braces = len > 1 && s[1] == '{';
    size_t start = has_braces ? 2 : 1, end = start;
    while (end < len && (has_braces ? s[end] != '}' : is_name(s[end])))
        end++;
    if (end == start || (has_braces && end == len))
        return 0;
    int group = proto_regex_group(e->text->regex, s + start, end - start);
    if (group >= 0 && spans[group].start != SIZE_MAX && spans[group].end != SIZE_MAX)
        (void)fwrite(line + spans[group].start, 1, spans[group].end - spans[group].start, e->out);
    return end + (has_braces ? 1 : 0);
}

static void put_replacement(struct edit *e, const char *line, const struct proto_regex_span *spans)
{
    const char *s = (const char *)e->text->replacement;
    size_t len = e->text->replacement_len;
    bool is_literal = e->text->flags & PROTO_TEXT_LITERAL;

    for (size_t at = 0; at < len;) {
        size_t n = !is_literal && s[at] == '$' ? put_group(e, s + at, len - at, line, spans) : 0;
        if (n == 0) {
            (void)fputc(s[at], e->out);
            n = 1;
        }
        at += n;
    }
}

static int copy_head(struct edit *e, int fd)
{
    char buf[OUT_BYTES];
    for (off_t at = 0; at < e->copied;) {
        size_t want = e->copied - at < (off_t)sizeof(buf) ? (size_t)(e->copied - at) : sizeof(buf);
        ssize_t n = pread(fd, buf, want, at);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        if (fwrite(buf, 1, (size_t)n, e->out) != (size_t)n)
            return -errno;
        at += n;
    }
    return 0;
}

static int open_new(struct edit *e, int fd)
{
    struct stat st;
    int n = snprintf(e->beside, sizeof(e->beside), "%s.iii-tmp-%d", e->real, (int)getpid());
    if (n >= (int)sizeof(e->beside) || fstat(fd, &st) < 0)
        return n >= (int)sizeof(e->beside) ? -ENAMETOOLONG : -errno;
    int out = open(e->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    e->out = out >= 0 ? fdopen(out, "w") : NULL;
    if (!e->out) {
        int r = -errno;
        if (out >= 0)
            (void)close(out);
        return r;
    }
    (void)!fchown(out, st.st_uid, st.st_gid); /* without the right to change the owner the file stays ours */
    if (fchmod(out, st.st_mode & 07777) < 0)
        return -errno;
    return copy_head(e, fd);
}

static int edit_line(struct edit *e, int fd, const struct agent_line *line)
{
    struct proto_regex_span spans[PROTO_REGEX_GROUPS];
    size_t at = 0, from = 0;
    size_t len = line->len;
    bool has_return = len > 0 && line->text[len - 1] == '\r' && line->has_newline;

    if (has_return)
        len--;
    while (from <= len && proto_regex_find(e->text->regex, line->text, len, from, spans, PROTO_REGEX_GROUPS)) {
        int r = e->out ? 0 : open_new(e, fd);
        if (r < 0)
            return r;
        (void)fwrite(line->text + at, 1, spans[0].start - at, e->out);
        put_replacement(e, line->text, spans);
        at = from = spans[0].end;
        e->n++;
        if (e->text->flags & PROTO_TEXT_FIRST_ONLY)
            break;
        if (spans[0].end == spans[0].start) { /* an empty match: continue behind the next character */
            from++;
            while (from < len && ((unsigned char)line->text[from] & 0xc0) == 0x80)
                from++;
        }
    }
    if (!e->out) {
        e->copied += (off_t)(line->len + (line->has_newline ? 1 : 0));
        return 0;
    }
    (void)fwrite(line->text + at, 1, line->len - at, e->out);
    if (line->has_newline)
        (void)fputc('\n', e->out);
    return ferror(e->out) ? -EIO : 0;
}

static int edit_lines(struct edit *e, int fd, const char **why)
{
    struct agent_lines lines;
    struct agent_line line;
    int r;

    agent_lines_init(&lines, fd);
    while ((r = agent_lines_next(&lines, &line)) > 0) {
        if (line.is_cut)
            *why = "a line is longer than 16 MiB";
        else if (!agent_lines_is_utf8(line.text, line.len))
            *why = "not UTF-8 text";
        r = *why ? -EINVAL : edit_line(e, fd, &line);
        if (r < 0)
            break;
    }
    agent_lines_done(&lines);
    return r;
}

static void file_report(struct agent_text *t, const char *path, uint64_t n, const char *why)
{
    struct proto_row row = { .path = path, .number = n, .is_set = !why, .text = why };

    if (!agent_rows_add(&t->rows, &row))
        t->is_full = true;
}

static void sed_file(struct agent_text *t, int fd, const char *path)
{
    struct edit e = { .text = t };
    const char *why = NULL;
    int r = realpath(path, e.real) ? 0 : -errno;

    if (r == 0)
        r = edit_lines(&e, fd, &why);
    if (e.out && fclose(e.out) != 0 && r == 0)
        r = -errno;
    if (r == 0 && e.out && rename(e.beside, e.real) < 0)
        r = -errno;
    if (r < 0 && e.out)
        (void)unlink(e.beside);
    file_report(t, path, r < 0 ? 0 : e.n, r < 0 ? (why ? why : strerror(-r)) : NULL);
}

void agent_text_sed(struct agent_text *t)
{
    bool is_root = t->flags & PROTO_TEXT_ROOT;

    for (const char **p = t->paths; *p && !t->is_full; p++) {
        int r = agent_text_walk(t, *p, sed_file);
        if (r < 0 && is_root) {
            agent_rows_fail(&t->rows, -r, "edit", *p);
            return;
        }
        if (r < 0)
            file_report(t, *p, 0, strerror(-r));
    }
    agent_rows_end(&t->rows);
}
