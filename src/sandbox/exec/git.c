#include "sandbox/exec/git.h"

#include <stdbool.h>
#include <string.h>

#include "base/limits.h"

#define FILES_MAX LIMIT_MAX(FILES) /* entries of one answer */

/* A piece of the output that ends with `end` or with the output itself. */
struct piece {
    const char *text;
    size_t len;
};

static bool next_piece(const char **at, const char *stop, char end, struct piece *ret)
{
    if (*at >= stop)
        return false;
    const char *found = memchr(*at, end, (size_t)(stop - *at));
    ret->text = *at;
    ret->len = (size_t)((found ? found : stop) - *at);
    *at = found ? found + 1 : stop;
    return true;
}

static bool skip_prefix(struct piece *p, const char *prefix)
{
    size_t len = strlen(prefix);
    if (p->len < len || memcmp(p->text, prefix, len) != 0)
        return false;
    p->text += len;
    p->len -= len;
    return true;
}

static json_t *piece_json(struct piece p)
{
    return json_text(p.text, p.len);
}

/* "main...origin/main [ahead 1]", "No commits yet on main", "HEAD (no branch)" */
static json_t *branch_json(struct piece p)
{
    if (skip_prefix(&p, "HEAD (no branch)"))
        return json_string("HEAD");
    (void)(skip_prefix(&p, "No commits yet on ") || skip_prefix(&p, "Initial commit on "));
    const char *dots = memmem(p.text, p.len, "...", 3); /* no branch name holds two dots in a row */
    if (dots)
        p.len = (size_t)(dots - p.text);
    return p.len ? piece_json(p) : json_string("HEAD");
}

json_t *git_status_json(const char *out, size_t len)
{
    const char *at = out, *stop = out + len;
    struct piece p, source;
    json_t *branch = NULL, *files = json_array();
    while (next_piece(&at, stop, '\0', &p) && json_array_size(files) < FILES_MAX) {
        if (!branch && skip_prefix(&p, "## ")) {
            branch = branch_json(p);
            continue;
        }
        if (p.len < 4)
            continue;
        struct piece status = { p.text, 2 }, path = { p.text + 3, p.len - 3 };
        if (status.text[1] == ' ')
            status.len = 1;
        if (status.text[0] == ' ')
            status = (struct piece){ status.text + 1, 1 };
        (void)json_array_append_new(files,
                                    json_pack("{s:o, s:o}", "status", piece_json(status), "path", piece_json(path)));
        if (p.text[0] == 'R' || p.text[0] == 'C' || p.text[1] == 'R' || p.text[1] == 'C')
            (void)next_piece(&at, stop, '\0', &source); /* where it came from */
    }
    return json_pack("{s:o, s:b, s:o}", "branch", branch ? branch : json_string("HEAD"), "clean",
                     json_array_size(files) == 0, "files", files);
}

json_t *git_log_json(const char *out, size_t len)
{
    const char *at = out, *stop = out + len;
    struct piece p[4];
    json_t *entries = json_array();
    while (next_piece(&at, stop, '\0', &p[0]) && next_piece(&at, stop, '\0', &p[1]) &&
           next_piece(&at, stop, '\0', &p[2]) && next_piece(&at, stop, '\0', &p[3]))
        (void)json_array_append_new(entries,
                                    json_pack("{s:o, s:o, s:o, s:o}", "hash", piece_json(p[0]), "message",
                                              piece_json(p[1]), "author", piece_json(p[2]), "date", piece_json(p[3])));
    return json_pack("{s:o}", "entries", entries);
}

json_t *git_refs_json(const char *out, size_t len)
{
    const char *at = out, *stop = out + len;
    struct piece line, name, symref;
    json_t *names = json_array();
    while (next_piece(&at, stop, '\n', &line) && json_array_size(names) < FILES_MAX) {
        const char *in = line.text, *end = line.text + line.len;
        if (!next_piece(&in, end, '\t', &name) || name.len == 0 || next_piece(&in, end, '\t', &symref))
            continue;
        (void)(skip_prefix(&name, "refs/heads/") || skip_prefix(&name, "refs/"));
        (void)json_array_append_new(names, piece_json(name));
    }
    return names;
}

int git_check_word(const char *field, const char *word, struct err *err)
{
    if (!word || word[0] != '-')
        return 0;
    return err_set(err, ERR_INVALID, 0, "%s: \"%.100s\" begins with \"-\": git would treat it as an option", field,
                   word);
}

int git_check_url(const char *url, struct err *err)
{
    if (strchr(url, '`') || strstr(url, "$("))
        return err_set(err, ERR_INVALID, 0, "url: \"%.100s\" has a backtick or \"$(\"", url);
    return git_check_word("url", url, err);
}
