/* Theory of operation. A request of grep or sed is read into a struct text on the stack and done in a forked helper
 * process (agent_reply_work in reply.h), so an expensive pattern holds up no other stream. text_walk() visits the files
 * of a tree that the globs let through, in order of names; grep_file() reports each matching line, sed_file() writes
 * the changed text beside the file and renames it over the old one. The counted chmod has its own walk, which
 * visits files of every kind.
 *
 * Answers are rows, in as many frames as needed (struct rows). An answer above ROWS_BYTES, or with as many matches as
 * were asked for, sets is_full, which ends the walk. A root that cannot be opened fails the request; a file that cannot
 * be read is skipped by grep, and reported in its row by sed. */
#include "agent/text.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/lines.h"
#include "agent/walk.h"
#include "guest/proto_glob.h"
#include "guest/proto_regex.h"

#define LOOK_BYTES 8192 /* a NUL in here: not a text file */
#define OUT_BYTES  65536u
#define ROWS_BYTES (48u * 1024 * 1024) /* limit of one answer */

struct rows {
    struct agent_reply *reply;
    struct proto_writer frame;
    uint8_t *mem;
    size_t sent;
};

struct text {
    struct rows rows;
    uint32_t flags;
    const char *pattern;
    const char **include, **exclude, **paths; /* NULL-terminated; include and exclude may be NULL */
    struct proto_regex *regex;
    uint64_t max_matches, n_matches;
    uint32_t max_line;
    const uint8_t *replacement;
    size_t replacement_len;
    bool is_full; /* no more rows are wanted */
};

/* One regular file: its descriptor, which the caller closes, and the path to report. */
typedef void file_fn(struct text *t, int fd, const char *path);

/* --- rows of an answer --- */
static int rows_init(struct rows *s, struct agent_reply *r)
{
    *s = (struct rows){ .reply = r, .mem = malloc(PROTO_FRAME_MAX) };
    if (!s->mem)
        return -ENOMEM;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
    return 0;
}

static void send_frame(struct rows *s, uint16_t flags)
{
    int len = proto_frame_end(&s->frame, s->reply->stream, PROTO_FS_ROWS, flags);

    assert(len > 0);
    agent_reply_frame(s->reply, s->mem, (size_t)len);
    s->sent += (size_t)len;
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
}

/* False: the answer is full. */
static bool rows_add(struct rows *s, const struct proto_row *row)
{
    if (s->sent >= ROWS_BYTES)
        return false;
    proto_put_row(&s->frame, row);
    if (!s->frame.is_full)
        return true;
    s->frame.is_full = false;
    send_frame(s, PROTO_MORE);
    proto_put_row(&s->frame, row);
    assert(!s->frame.is_full); /* a path and a text are below one payload */
    return true;
}

/* Sends the last frame and frees. */
static void rows_end(struct rows *s)
{
    send_frame(s, 0);
    free(s->mem);
}

/* Sends the error instead of rows. Frees. */
static void rows_fail(struct rows *s, int error, const char *verb, const char *path)
{
    agent_reply_error(s->reply, error, "%s %s", verb, path);
    free(s->mem);
}

/* --- walking --- */
struct walk {
    struct text *text;
    file_fn *fn;
    size_t root_len; /* path[root_len] starts the relative part */
    size_t len;
    char path[PATH_MAX];
};

static bool is_any(const char *const *globs, const char *path)
{
    for (; globs && *globs; globs++)
        if (proto_glob_match(*globs, path))
            return true;
    return false;
}

static bool is_wanted(const struct text *t, const char *relative)
{
    bool is_in = !t->include || !t->include[0] || is_any((const char *const *)t->include, relative);

    return is_in && !is_any((const char *const *)t->exclude, relative);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *d)
{
    return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

static void walk_dir(struct walk *w, int fd, int depth);

static void walk_visit(struct walk *w, int dir, const char *name, int depth)
{
    size_t before = w->len, n = strlen(name);
    struct stat st;

    if (before + n + 2 > sizeof(w->path) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (before > 0 && w->path[before - 1] != '/')
        w->path[w->len++] = '/';
    memcpy(w->path + w->len, name, n + 1);
    w->len += n;
    if (S_ISREG(st.st_mode) && is_wanted(w->text, w->path + w->root_len)) {
        int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            w->fn(w->text, fd, w->path);
        if (fd >= 0) /* else it cannot be read: skipped, as grep -r does */
            (void)close(fd);
    } else if (S_ISDIR(st.st_mode) && depth < AGENT_WALK_DEPTH) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0) {
            walk_dir(w, fd, depth + 1);
            (void)close(fd);
        }
    }
    w->len = before;
    w->path[before] = '\0';
}

static void walk_dir(struct walk *w, int fd, int depth)
{
    struct dirent **names = NULL;
    char self[32];

    (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
    int n = scandir(self, &names, is_entry, by_name);
    for (int i = 0; i < n; i++) {
        if (!w->text->is_full)
            walk_visit(w, fd, names[i]->d_name, depth);
        free(names[i]);
    }
    free(names);
}

/* Calls fn for each regular file below root (a file, a directory, or a link to either) that the globs match, in
 * order of names; links below root are skipped. -errno of the root: ENOENT …; -EISDIR for a directory when not
 * recursive. */
static int text_walk(struct text *t, const char *root, file_fn *fn)
{
    struct walk w = { .text = t, .fn = fn };
    struct stat st = { 0 };
    int fd = open(root, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

    if (r == 0 && strlen(root) + 2 > sizeof(w.path))
        r = -ENAMETOOLONG;
    if (r == 0) {
        w.len = strlen(root);
        memcpy(w.path, root, w.len + 1);
        while (w.len > 1 && w.path[w.len - 1] == '/')
            w.path[--w.len] = '\0';
        w.root_len = w.len == 1 ? 1 : w.len + 1;
        const char *slash = strrchr(w.path, '/'), *base = slash ? slash + 1 : w.path;
        if (S_ISDIR(st.st_mode) && !(t->flags & PROTO_TEXT_RECURSIVE))
            r = -EISDIR;
        else if (S_ISDIR(st.st_mode))
            walk_dir(&w, fd, 0);
        else if (!S_ISREG(st.st_mode))
            r = -EINVAL;
        else if (is_wanted(t, base))
            fn(t, fd, w.path);
    }
    if (fd >= 0)
        (void)close(fd);
    return r;
}

/* --- grep --- */
static void match_report(struct text *t, const char *path, uint64_t number, const struct agent_line *line)
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
    if (!rows_add(&t->rows, &row) || (t->max_matches && t->n_matches >= t->max_matches))
        t->is_full = true;
}

static void grep_file(struct text *t, int fd, const char *path)
{
    struct agent_lines lines;
    struct agent_line line;
    struct proto_regex_span span;
    char head[LOOK_BYTES];
    ssize_t n = pread(fd, head, sizeof(head), 0);

    if (n < 0 || memchr(head, '\0', (size_t)n))
        return; /* not a text file */
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

/* --- sed --- */

/* The new text of one file, which is created when the first line changes. */
struct edit {
    struct text *text;
    FILE *out;
    char real[PATH_MAX], beside[PATH_MAX];
    uint64_t n;   /* replacements */
    off_t copied; /* bytes of the old file before the first changed line */
};

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
    while (end < len && (has_braces ? s[end] != '}' : s[end] == '_' || isalnum((unsigned char)s[end])))
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

/* Starts the new file with what the old one has before the first change. */
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
    char buf[OUT_BYTES];
    for (off_t at = 0; at < e->copied;) {
        size_t want = e->copied - at < (off_t)sizeof(buf) ? (size_t)(e->copied - at) : sizeof(buf);
        ssize_t got = pread(fd, buf, want, at);
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        if (fwrite(buf, 1, (size_t)got, e->out) != (size_t)got)
            return -errno;
        at += got;
    }
    return 0;
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

static void file_report(struct text *t, const char *path, uint64_t n, const char *why)
{
    struct proto_row row = { .path = path, .number = n, .is_set = !why, .text = why };

    if (!rows_add(&t->rows, &row))
        t->is_full = true;
}

static void sed_file(struct text *t, int fd, const char *path)
{
    struct edit e = { .text = t };
    struct agent_lines lines;
    struct agent_line line;
    const char *why = NULL;
    int r = realpath(path, e.real) ? 0 : -errno;

    agent_lines_init(&lines, fd);
    while (r >= 0 && (r = agent_lines_next(&lines, &line)) > 0) {
        if (line.is_cut)
            why = "a line is longer than 16 MiB";
        else if (!agent_lines_is_utf8(line.text, line.len))
            why = "not UTF-8 text";
        r = why ? -EINVAL : edit_line(&e, fd, &line);
    }
    agent_lines_done(&lines);
    if (e.out && fclose(e.out) != 0 && r == 0)
        r = -errno;
    if (r == 0 && e.out && rename(e.beside, e.real) < 0)
        r = -errno;
    if (r < 0 && e.out)
        (void)unlink(e.beside);
    file_report(t, path, r < 0 ? 0 : e.n, r < 0 ? (why ? why : strerror(-r)) : NULL);
}

/* --- requests of grep and sed --- */

/* Reads a list of strings inside the payload. NULL: the list is empty, or out of memory (then *error is set). */
static const char **read_texts(struct proto_reader *in, uint32_t max, int *error)
{
    uint32_t n = proto_get_count(in, max);

    if (n == PROTO_NO_STRS || n == 0)
        return NULL;
    const char **list = calloc((size_t)n + 1, sizeof(*list));
    if (!list)
        *error = ENOMEM;
    for (uint32_t i = 0; list && i < n; i++)
        list[i] = proto_get_str(in, PROTO_REQUEST_MAX);
    return list;
}

static void run_text(struct agent_reply *r, void *arg)
{
    struct text *t = arg;
    const char *why = NULL;
    unsigned flags = (t->flags & PROTO_TEXT_ICASE ? PROTO_REGEX_ICASE : 0u) |
                     (t->flags & PROTO_TEXT_LITERAL ? PROTO_REGEX_LITERAL : 0u);

    t->regex = proto_regex_new(t->pattern, flags, &why);
    if (!t->regex || rows_init(&t->rows, r) < 0) {
        agent_reply_error(r, t->regex ? ENOMEM : EBADMSG, "pattern: %s", why ? why : "");
        t->regex = proto_regex_free(t->regex);
        return;
    }
    bool is_sed = t->replacement;
    const char *root = NULL;
    int failed = 0;
    for (const char **p = t->paths; *p && !t->is_full && !failed; p++) { /* grep has one */
        root = *p;
        int result = text_walk(t, root, is_sed ? sed_file : grep_file);
        if (result < 0 && is_sed && !(t->flags & PROTO_TEXT_ROOT))
            file_report(t, root, 0, strerror(-result));
        else
            failed = -result;
    }
    if (!is_sed && t->is_full && !failed)
        (void)rows_add(&t->rows, &(struct proto_row){ .path = "", .is_set = true });
    if (failed)
        rows_fail(&t->rows, failed, is_sed ? "edit" : "search", root);
    else
        rows_end(&t->rows);
    t->regex = proto_regex_free(t->regex);
}

void agent_text_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    const char *one[2] = { NULL, NULL };
    struct proto_reader in;
    int error = 0;

    proto_reader_init(&in, data, len);
    struct text t = { .flags = proto_get_u32(&in) };
    if (type == PROTO_FS_GREP) {
        t.max_matches = proto_get_u64(&in);
        t.max_line = proto_get_u32(&in);
        one[0] = proto_get_str(&in, PROTO_PATH_MAX);
    }
    t.pattern = proto_get_str(&in, PROTO_PATH_MAX);
    t.include = read_texts(&in, PROTO_ARGS_MAX, &error);
    t.exclude = error ? NULL : read_texts(&in, PROTO_ARGS_MAX, &error);
    if (type == PROTO_FS_SED) {
        t.paths = error ? NULL : read_texts(&in, PROTO_STAT_MAX, &error);
        t.replacement = error ? NULL : proto_get_rest(&in, &t.replacement_len);
    }
    const char **listed = t.paths;
    if (type == PROTO_FS_GREP)
        t.paths = one;
    if (error || !t.paths)
        agent_reply_error(r, error ? error : EINVAL, "read the request");
    else
        agent_reply_work(r, run_text, &t);
    free(t.include);
    free(t.exclude);
    free(listed);
}

/* --- chmod with a count --- */
struct change {
    const char *path;
    uint32_t mode, uid, gid;
    bool is_recursive;
    uint64_t n;
};

static int change_one(struct change *c, const char *path)
{
    if (c->mode != UINT32_MAX && chmod(path, c->mode & 07777) < 0)
        return -errno;
    if ((c->uid != UINT32_MAX || c->gid != UINT32_MAX) && chown(path, c->uid, c->gid) < 0)
        return -errno;
    /* chown clears the set-id bits */
    if (c->mode != UINT32_MAX && (c->mode & 06000) && (c->uid != UINT32_MAX || c->gid != UINT32_MAX))
        (void)chmod(path, c->mode & 07777);
    c->n++;
    return 0;
}

static int change_below(struct change *c, const char *dir, int depth);

static int change_entry(struct change *c, const char *path, int depth)
{
    struct stat st;
    int r = lstat(path, &st) < 0 ? -errno : change_one(c, path);

    if (r == -ENOENT && depth > 0)
        return 0; /* removed meanwhile, or a dangling link: nothing to change */
    if (r == 0 && c->is_recursive && depth > 0 && S_ISDIR(st.st_mode))
        r = change_below(c, path, depth);
    return r;
}

static int change_below(struct change *c, const char *dir, int depth)
{
    struct dirent **names = NULL;
    char path[PATH_MAX];
    int r = 0;

    if (depth >= AGENT_WALK_DEPTH)
        return -ELOOP;
    int n = scandir(dir, &names, is_entry, by_name);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        int len = snprintf(path, sizeof(path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, names[i]->d_name);
        if (r == 0)
            r = len < (int)sizeof(path) ? change_entry(c, path, depth + 1) : -ENAMETOOLONG;
        free(names[i]);
    }
    free(names);
    return r;
}

static void run_change(struct agent_reply *r, void *arg)
{
    struct change *c = arg;
    struct rows rows;
    struct stat st;

    if (rows_init(&rows, r) < 0) {
        agent_reply_error(r, ENOMEM, "change %s", c->path);
        return;
    }
    int result = change_entry(c, c->path, 0);
    if (result == 0 && c->is_recursive && lstat(c->path, &st) == 0 && S_ISDIR(st.st_mode))
        result = change_below(c, c->path, 0);
    if (result < 0) {
        rows_fail(&rows, -result, "change mode or owner of", c->path);
        return;
    }
    (void)rows_add(&rows, &(struct proto_row){ .path = c->path, .number = c->n, .is_set = true });
    rows_end(&rows);
}

void agent_text_change(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    struct change c = { .path = proto_get_str(&in, PROTO_PATH_MAX) };
    c.mode = proto_get_u32(&in);
    c.uid = proto_get_u32(&in);
    c.gid = proto_get_u32(&in);
    c.is_recursive = proto_get_u8(&in);
    if (c.is_recursive)
        agent_reply_work(r, run_change, &c);
    else
        run_change(r, &c);
}
