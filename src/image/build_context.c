#include "image/build_context.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

#define PATTERN_MAX 1024

struct build_context_ignore {
    struct rule {
        regex_t regex;
        bool is_exception;
    } * rules;
    size_t n;
    bool has_exceptions;
};

struct build_context_ignore *build_context_ignore_free(struct build_context_ignore *i)
{
    for (size_t k = 0; i && k < i->n; k++)
        regfree(&i->rules[k].regex);
    if (i)
        free(i->rules);
    free(i);
    return NULL;
}

/* One pattern, "a/b" without slashes at its ends, as a regular expression that also matches all below. */
static int add_rule(struct build_context_ignore *i, const char *p, bool is_exception, unsigned line, struct err *err)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(16 * PATTERN_MAX); /* a character becomes at most 7 */
    int r = buf_add_str(&out, "^");
    while (*p && r == 0) {
        size_t set = 0;
        if (*p == '[') { /* up to its end; a ] at the beginning is one of the set */
            set = 1 + (p[1] == '^' || p[1] == '!');
            set += p[set] == ']';
            set += strcspn(p + set, "]");
            if (!p[set])
                return err_set(err, ERR_INVALID, 0, ".dockerignore line %u: a [ without its ]", line);
        }
        if (strncmp(p, "**", 2) == 0) {
            p += 2;
            r = buf_add_str(&out, *p == '/' ? "(.*/)?" : ".*");
            p += *p == '/';
        } else if (*p == '*' || *p == '?') {
            r = buf_add_str(&out, *p++ == '*' ? "[^/]*" : "[^/]");
        } else if (set) {
            r = buf_add(&out, p, 1);
            r = r < 0 ? r : buf_add(&out, p[1] == '!' ? "^" : p + 1, 1);
            r = r < 0 ? r : buf_add(&out, p + 2, set - 1);
            p += set + 1;
        } else {
            p += *p == '\\' && p[1];
            bool is_special = strchr(".^$+(){}|[]*?\\", *p) != NULL;
            r = is_special ? buf_add_str(&out, "\\") : 0;
            r = r < 0 ? r : buf_add(&out, p++, 1);
        }
    }
    r = r < 0 ? r : buf_add_str(&out, "(/.*)?$");
    if (r < 0)
        return err_set(err, ERR_TOO_LARGE, 0, ".dockerignore line %u: a pattern has at most %d bytes", line,
                       PATTERN_MAX);
    i->rules = xrealloc(i->rules, (i->n + 1) * sizeof(*i->rules));
    if (regcomp(&i->rules[i->n].regex, buf_text(&out), REG_EXTENDED | REG_NOSUB) != 0)
        return err_set(err, ERR_INVALID, 0, ".dockerignore line %u: not a pattern", line);
    i->rules[i->n++].is_exception = is_exception;
    i->has_exceptions |= is_exception;
    return 0;
}

int build_context_ignore_new(const char *text, struct build_context_ignore **ret, struct err *err)
{
    CLEANUP(build_context_ignore_free_p) struct build_context_ignore *i = xzalloc(sizeof(*i));
    unsigned number = 0;
    for (const char *at = text; *at;) {
        size_t len = strcspn(at, "\n");
        CLEANUP(free_p) char *own = xstrndup(at, len);
        char *line = own;
        at += len + (at[len] == '\n');
        number++;
        if (number == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
            line += 3; /* a byte-order mark */
        if (*line == '#')
            continue;
        line += strspn(line, " \t\r");
        bool is_exception = *line == '!';
        line += is_exception;
        line += strspn(line, " \t/");
        while (strncmp(line, "./", 2) == 0)
            line += 2 + strspn(line + 2, "/");
        for (len = strlen(line); len && strchr(" \t\r/", line[len - 1]); len--)
            line[len - 1] = '\0';
        if (len > PATTERN_MAX)
            return err_set(err, ERR_TOO_LARGE, 0, ".dockerignore line %u: a pattern has at most %d bytes", number,
                           PATTERN_MAX);
        int r = *line && strcmp(line, ".") != 0 ? add_rule(i, line, is_exception, number, err) : 0;
        if (r < 0)
            return r;
    }
    *ret = STEAL(i);
    return 0;
}

bool build_context_is_ignored(const struct build_context_ignore *i, const char *path)
{
    for (size_t k = i ? i->n : 0; k-- > 0;)
        if (regexec(&i->rules[k].regex, path, 0, NULL, 0) == 0)
            return !i->rules[k].is_exception;
    return false;
}

bool build_context_has_exceptions(const struct build_context_ignore *i)
{
    return i && i->has_exceptions;
}

void build_context_done(struct build_context *c)
{
    layer_view_done(&c->view);
    c->ignore = build_context_ignore_free(c->ignore);
}

int build_context_open(const char *dir, struct build_context *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(BUILD_CONTEXT_IGNORE_MAX);
    CLEANUP(build_context_done) struct build_context c = { 0 };
    CLEANUP(free_p) char *real = realpath(dir, NULL); /* the context itself may be a link */
    int r = real ? layer_view_open(&real, 1, &c.view) : -errno;
    if (r < 0)
        return err_set(err, err_from_errno(-r), -r, "context %s", dir);
    CLEANUP(close_fd_p) int fd = openat(c.view.fds[0], ".dockerignore", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char piece[4096];
    ssize_t n = fd < 0 && errno != ENOENT ? -1 : 0;
    while (fd >= 0 && (n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(&text, piece, (size_t)n) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, ".dockerignore has more than %d bytes", BUILD_CONTEXT_IGNORE_MAX);
    if (n < 0)
        return err_set(err, ERR_INTERNAL, errno, "read .dockerignore");
    r = build_context_ignore_new(buf_text(&text), &c.ignore, err);
    if (r < 0)
        return r;
    *ret = c;
    c = (struct build_context){ 0 };
    return 0;
}
