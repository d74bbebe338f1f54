#include "agent/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/text_core.h"
#include "agent/walk.h"
#include "guest/proto_glob.h"

/* --- walking --- */
struct walk {
    struct agent_text *text;
    agent_text_file_fn *fn;
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

static bool is_wanted(const struct agent_text *t, const char *relative)
{
    bool is_in = !t->include || !t->include[0] || is_any((const char *const *)t->include, relative);

    return is_in && !is_any((const char *const *)t->exclude, relative);
}

static void visit_file(struct walk *w, int dir, const char *name, const char *relative)
{
    struct stat st;

    if (!is_wanted(w->text, relative))
        return;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return; /* skip what cannot be read, as grep -r does */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        w->fn(w->text, fd, w->path);
    (void)close(fd);
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
    if (S_ISREG(st.st_mode)) {
        visit_file(w, dir, name, w->path + w->root_len);
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

int agent_text_walk(struct agent_text *t, const char *root, agent_text_file_fn *fn)
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

/* --- grep and sed --- */

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
    struct agent_text *t = arg;
    const char *why = NULL;
    unsigned flags = (t->flags & PROTO_TEXT_ICASE ? PROTO_REGEX_ICASE : 0u) |
                     (t->flags & PROTO_TEXT_LITERAL ? PROTO_REGEX_LITERAL : 0u);

    t->regex = proto_regex_new(t->pattern, flags, &why);
    if (!t->regex || agent_rows_init(&t->rows, r) < 0)
        agent_reply_error(r, t->regex ? ENOMEM : EBADMSG, "pattern: %s", why ? why : "");
    else if (t->replacement)
        agent_text_sed(t);
    else
        agent_text_grep(t);
    t->regex = proto_regex_free(t->regex);
}

static void text_request(struct agent_reply *r, uint16_t type, struct proto_reader *in)
{
    const char *one[2] = { NULL, NULL };
    struct agent_text t = { .flags = proto_get_u32(in) };
    int error = 0;

    if (type == PROTO_FS_GREP) {
        t.max_matches = proto_get_u64(in);
        t.max_line = proto_get_u32(in);
        one[0] = proto_get_str(in, PROTO_PATH_MAX);
    }
    t.pattern = proto_get_str(in, PROTO_PATH_MAX);
    t.include = read_texts(in, PROTO_ARGS_MAX, &error);
    t.exclude = error ? NULL : read_texts(in, PROTO_ARGS_MAX, &error);
    if (type == PROTO_FS_SED) {
        t.paths = error ? NULL : read_texts(in, PROTO_STAT_MAX, &error);
        t.replacement = error ? NULL : proto_get_rest(in, &t.replacement_len);
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
    struct agent_rows rows;
    struct stat st;

    if (agent_rows_init(&rows, r) < 0) {
        agent_reply_error(r, ENOMEM, "change %s", c->path);
        return;
    }
    int result = change_entry(c, c->path, 0);
    if (result == 0 && c->is_recursive && lstat(c->path, &st) == 0 && S_ISDIR(st.st_mode))
        result = change_below(c, c->path, 0);
    if (result < 0) {
        agent_rows_fail(&rows, -result, "change mode or owner of", c->path);
        return;
    }
    (void)agent_rows_add(&rows, &(struct proto_row){ .path = c->path, .number = c->n, .is_set = true });
    agent_rows_end(&rows);
}

void agent_text_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    if (type != PROTO_FS_CHANGE) {
        text_request(r, type, &in);
        return;
    }
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
