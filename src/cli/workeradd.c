#include "cli/workeradd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"

#define WORKER   "iii-sandbox"
#define FILE_MAX (1u << 20)

/* The defaults of the contract. Each line is indented by the list's own indent. */
static const char *const block[] = {
    ("- name: " WORKER),
    "  config:",
    "    auto_install: true",
    "    image_allowlist:",
    "      - python",
    "      - node",
    "    default_idle_timeout_secs: 300",
    "    max_concurrent_sandboxes: 32",
    "    default_cpus: 1",
    "    default_memory_mb: 512",
};

/* --- the text --- */

static size_t line_len(const char *line)
{
    size_t n = strcspn(line, "\n");
    return n + (line[n] == '\n');
}

static size_t indent_of(const char *line)
{
    return strspn(line, " ");
}

static bool is_blank(const char *line)
{
    const char *p = line + strspn(line, " \t\r");
    return *p == '\n' || *p == '#' || !*p;
}

static void add_block(struct buf *out, size_t indent)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        (void)buf_add_char(out, '\n');
    for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
        (void)buf_addf(out, "%*s%s\n", (int)indent, "", block[i]);
}

/* The line "workers:" or its older name; NULL: there is none. */
static const char *find_list(const char *text)
{
    for (const char *p = text; *p; p += line_len(p))
        if (strncmp(p, "workers:", 8) == 0 || strncmp(p, "modules:", 8) == 0)
            return p;
    return NULL;
}

/* What stands behind the colon, without comment: "" a block list follows, "[]" an empty one, else a flow list. */
static enum { LIST_BLOCK, LIST_EMPTY, LIST_FLOW } list_form(const char *line)
{
    const char *p = line + 8 + strspn(line + 8, " \t");
    if (is_blank(p))
        return LIST_BLOCK;
    size_t n = strcspn(p, " \t\r\n#");
    bool is_empty =
        (n == 2 && memcmp(p, "[]", 2) == 0) || (n == 1 && *p == '~') || (n == 4 && memcmp(p, "null", 4) == 0);
    return is_empty && is_blank(p + n) ? LIST_EMPTY : LIST_FLOW;
}

static bool is_ours(const char *line)
{
    const char *p = line + indent_of(line);
    if (strncmp(p, "- name:", 7) != 0)
        return false;
    p += 7 + strspn(p + 7, " \t\"'");
    size_t n = strcspn(p, " \t\r\n\"'#");
    return n == sizeof(WORKER) - 1 && memcmp(p, WORKER, n) == 0;
}

/* The first line after the entry that starts at line. */
static const char *entry_end(const char *line)
{
    size_t indent = indent_of(line);
    const char *p = line + line_len(line), *end = p;
    for (; *p; p += line_len(p)) {
        if (is_blank(p))
            continue;
        if (indent_of(p) <= indent)
            break;
        end = p + line_len(p);
    }
    return end;
}

struct spot {
    const char *ours;  /* our entry, or NULL */
    const char *after; /* where a new one goes */
    size_t indent;     /* of the list's entries */
};

/* Walks a block list that begins after its key. */
static struct spot scan_list(const char *list)
{
    struct spot s = { .after = list + line_len(list), .indent = 2 };
    bool has_entry = false;
    for (const char *p = s.after; *p; p += line_len(p)) {
        if (is_blank(p))
            continue;
        if (indent_of(p) == 0 && *p != '-')
            break; /* the next key */
        if (!has_entry)
            s.indent = indent_of(p);
        has_entry = true;
        if (indent_of(p) == s.indent && is_ours(p))
            s.ours = p;
        s.after = p + line_len(p);
    }
    return s;
}

static int edit_block_list(const char *text, const char *list, bool is_reset, struct buf *out, enum workeradd_done *ret)
{
    struct spot s = scan_list(list);
    const char *cut = s.ours && is_reset ? s.ours : s.after, *go_on = s.ours && is_reset ? entry_end(s.ours) : s.after;
    *ret = !s.ours ? WORKERADD_ADDED : is_reset ? WORKERADD_RESET : WORKERADD_KEPT;
    if (*ret == WORKERADD_KEPT)
        return buf_add_str(out, text);
    (void)buf_add(out, text, (size_t)(cut - text));
    add_block(out, s.indent);
    return buf_add_str(out, go_on);
}

int workeradd_edit(const char *text, bool is_reset, struct buf *out, enum workeradd_done *ret, struct err *err)
{
    const char *list = find_list(text);
    *ret = WORKERADD_ADDED;
    if (!list) {
        (void)buf_add_str(out, text);
        if (out->len > 0 && out->data[out->len - 1] != '\n')
            (void)buf_add_char(out, '\n');
        (void)buf_add_str(out, "workers:\n");
        add_block(out, 2);
        return 0;
    }
    switch (list_form(list)) {
    case LIST_BLOCK:
        return edit_block_list(text, list, is_reset, out, ret);
    case LIST_EMPTY:
        (void)buf_add(out, text, (size_t)(list - text));
        (void)buf_addf(out, "%.8s\n", list);
        add_block(out, 2);
        return buf_add_str(out, list + line_len(list));
    case LIST_FLOW:
        break;
    }
    return err_set(err, ERR_INVALID, 0,
                   "the list of workers is written in one line; write one entry a line, then try again");
}

/* --- the file --- */

static int read_config(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char piece[4096];
    ssize_t n = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, ERR_INVALID, errno, "open %s", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(out, piece, (size_t)n) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "%s: larger than %u bytes", path, FILE_MAX);
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "read %s", path);
    if (out->len > 0 && memchr(out->data, '\0', out->len))
        return err_set(err, ERR_INVALID, 0, "%s: not a text file", path);
    return 0;
}

/* Whole or not at all: a server may read it at any moment. */
static int write_config(const char *path, const struct buf *text, struct err *err)
{
    CLEANUP(free_p) char *draft = xasprintf("%s.new", path);
    struct stat st;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0644;
    CLEANUP(close_fd_p) int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0)
        return err_set(err, ERR_INVALID, errno, "write %s", draft);
    if (write(fd, buf_text(text), text->len) != (ssize_t)text->len || fsync(fd) < 0 || rename(draft, path) < 0) {
        int r = err_set(err, ERR_INVALID, errno, "write %s", path);
        (void)unlink(draft);
        return r;
    }
    return 0;
}

static const char *config_path(const struct verbs_args *a)
{
    const char *env = getenv("III_CONFIG_PATH");
    if (a->config)
        return a->config;
    return env && *env ? env : "config.yaml";
}

static int add_block_to_file(const struct verbs_args *a)
{
    CLEANUP(buf_done) struct buf before = BUF_INIT(FILE_MAX), after = BUF_INIT(2 * FILE_MAX);
    bool is_reset = verbs_value(a, "force") && verbs_value(a, "reset-config");
    const char *path = config_path(a);
    struct err err = ERR_INIT;
    enum workeradd_done done = WORKERADD_KEPT;
    int r = read_config(path, &before, &err);
    if (r == 0)
        r = workeradd_edit(buf_text(&before), is_reset, &after, &done, &err);
    if (r == 0 && done != WORKERADD_KEPT)
        r = write_config(path, &after, &err);
    if (r < 0) {
        (void)fprintf(stderr, "error: %s\n", err.msg);
        return 1;
    }
    (void)fprintf(stderr, "%s " WORKER " in %s%s\n", done == WORKERADD_ADDED ? "added" : "updated", path,
                  done == WORKERADD_KEPT    ? " (its settings were kept; --force --reset-config restores the defaults)"
                  : done == WORKERADD_RESET ? " (the defaults were restored)"
                                            : "");
    if (done != WORKERADD_KEPT)
        (void)fprintf(stderr, "a server that runs with this file takes it at its next start\n");
    return 0;
}

/* --- the command --- */

static bool is_reference(const char *name)
{
    return strchr(name, '/') || (strchr(name, ':') && !strchr(name, '@'));
}

static int pull(const struct verbs_args *a, char *name)
{
    char verb[] = "image", command[] = "pull";
    char *argv[] = { verb, command, name, NULL };
    return a->hooks->image(3, argv) == 0 ? 0 : 1; /* what went wrong was said */
}

static int add_one(const struct verbs_args *a, char *name)
{
    if (strcmp(name, WORKER) == 0)
        return add_block_to_file(a);
    if (is_reference(name))
        return pull(a, name);
    (void)fprintf(stderr,
                  "error: \"%s\" is no worker that can be added here: it is " WORKER ", or an image to pull, such as "
                  "docker.io/library/%s:latest\n",
                  name, name);
    return 1;
}

int workeradd_run(const struct verbs_args *a)
{
    for (int i = 0; i < a->n_words; i++) {
        int r = add_one(a, a->words[i]);
        if (r != 0)
            return r;
    }
    return 0;
}
