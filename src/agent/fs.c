/* Theory of operation. Each request is parsed, done and answered here, or in a forked helper process where the work is
 * unbounded (agent_reply_work in reply.h): trees, long lists, copies between file systems. The helper writes its frames
 * to a pipe that the agent forwards, so a slow file system holds up no other stream.
 *
 * Nothing outlives a request: the state is on the stack, or in the helper, which exits after its last frame and is
 * killed when the host drops the stream. Paths are resolved in the sandbox's own root with the agent's rights; below
 * a given folder everything goes by descriptor. A failure is answered by the errno of the step and the path, also
 * after frames with PROTO_MORE. */
#include "agent/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/spawn.h"
#include "agent/stat_rows.h"
#include "agent/walk.h"
#include "guest/proto_mode.h"

#define LIST_HERE 2000 /* longer lists are made in a helper process */

/* --- stat --- */
void agent_fs_stat(struct agent_reply *r, const uint8_t *data, size_t len)
{
    struct agent_stat_rows out;
    struct proto_reader in;
    struct stat st;

    proto_reader_init(&in, data, len);
    uint32_t n = proto_get_count(&in, PROTO_STAT_MAX);
    int error = -agent_stat_rows_init(&out, r);
    const char *path = "";
    for (uint32_t i = 0; i < n && error == 0; i++) {
        path = proto_get_str(&in, PROTO_PATH_MAX);
        if (path[0] != '/')
            error = EINVAL;
        else if (lstat(path, &st) < 0)
            error = errno;
        else
            agent_stat_rows_add(&out, AT_FDCWD, path, path, &st);
    }
    /* An error ends the stream even after frames with PROTO_MORE. */
    if (error)
        agent_reply_error(r, error, "stat %s", path);
    else
        agent_stat_rows_send(&out);
    agent_stat_rows_done(&out);
}

/* --- list --- */
struct names {
    char **list;
    size_t n, cap;
    const char *dir;
    int fd;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(DIR *dir, struct names *names)
{
    for (;;) {
        errno = 0;
        struct dirent *d = readdir(dir);
        if (!d)
            return -errno;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        if (names->n >= PROTO_LIST_MAX)
            return -E2BIG;
        if (names->n == names->cap) {
            size_t cap = names->cap ? names->cap * 2 : 32;
            char **more = realloc(names->list, cap * sizeof(*more));
            if (!more)
                return -ENOMEM;
            names->list = more;
            names->cap = cap;
        }
        if (!(names->list[names->n] = strdup(d->d_name)))
            return -ENOMEM;
        names->n++;
    }
}

static void send_list(struct agent_reply *r, void *arg)
{
    struct names *names = arg;
    struct agent_stat_rows out;
    struct stat st;

    if (agent_stat_rows_init(&out, r) < 0) {
        agent_reply_error(r, ENOMEM, "list %s", names->dir);
        return;
    }
    for (size_t i = 0; i < names->n; i++)
        if (fstatat(names->fd, names->list[i], &st, AT_SYMLINK_NOFOLLOW) == 0) /* else it was removed meanwhile */
            agent_stat_rows_add(&out, names->fd, names->list[i], names->list[i], &st);
    agent_stat_rows_send(&out);
    agent_stat_rows_done(&out);
}

static void list_dir(struct agent_reply *r, const char *path)
{
    struct names names = { .dir = path };
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir) {
        agent_reply_error(r, errno, "list %s", path);
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    names.fd = fd;
    int error = -read_names(dir, &names);
    if (error) {
        agent_reply_error(r, error, "list %s", path);
    } else {
        if (names.n)
            qsort(names.list, names.n, sizeof(names.list[0]), by_name);
        if (names.n > LIST_HERE)
            agent_reply_work(r, send_list, &names);
        else
            send_list(r, &names);
    }
    for (size_t i = 0; i < names.n; i++)
        free(names.list[i]);
    free(names.list);
    (void)closedir(dir);
}

/* --- search --- */
struct search {
    const char *dir, *glob;
    struct agent_stat_rows out;
    uint32_t found;
    size_t len; /* of path */
    char path[PATH_MAX];
};

static void search_dir(struct search *s, int at, const char *name, int depth);

static void search_entry(struct search *s, int fd, const struct dirent *d, int depth)
{
    size_t before = s->len, name_len = strlen(d->d_name);
    struct stat st;

    if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || before + 1 + name_len >= sizeof(s->path))
        return;
    bool is_match = fnmatch(s->glob, d->d_name, 0) == 0;
    if ((d->d_type != DT_DIR && d->d_type != DT_UNKNOWN && !is_match) ||
        fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    if (before > 0 && s->path[before - 1] != '/')
        s->path[s->len++] = '/';
    memcpy(s->path + s->len, d->d_name, name_len + 1);
    s->len += name_len;
    if (S_ISREG(st.st_mode) && is_match && s->found < PROTO_SEARCH_MAX) {
        agent_stat_rows_add(&s->out, fd, d->d_name, s->path, &st);
        s->found++;
    } else if (S_ISDIR(st.st_mode)) {
        search_dir(s, fd, d->d_name, depth + 1);
    }
    s->len = before;
    s->path[before] = '\0';
}

/* Folders that cannot be read are skipped, as find(1) does. */
static void search_dir(struct search *s, int at, const char *name, int depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *dir = fd >= 0 && depth < AGENT_WALK_DEPTH ? fdopendir(fd) : NULL;

    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *d; s->found < PROTO_SEARCH_MAX && (d = readdir(dir));)
        search_entry(s, fd, d, depth);
    (void)closedir(dir);
}

static void run_search(struct agent_reply *r, void *arg)
{
    struct search *s = arg;
    struct stat st;

    if (stat(s->dir, &st) < 0 || !S_ISDIR(st.st_mode)) {
        agent_reply_error(r, errno ? errno : ENOTDIR, "search %s", s->dir);
        return;
    }
    if (agent_stat_rows_init(&s->out, r) < 0) {
        agent_reply_error(r, ENOMEM, "search %s", s->dir);
        return;
    }
    s->len = strlen(s->dir);
    memcpy(s->path, s->dir, s->len + 1);
    while (s->len > 1 && s->path[s->len - 1] == '/')
        s->path[--s->len] = '\0';
    search_dir(s, AT_FDCWD, s->dir, 0);
    agent_stat_rows_send(&s->out);
    agent_stat_rows_done(&s->out);
}

/* --- mkdir --- */
int agent_fs_make_parents(char *path, uint32_t mode, size_t *ret_first)
{
    size_t first = 0;

    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        int r = mkdir(path, mode) < 0 ? -errno : 0;
        first = r == 0 && first == 0 ? (size_t)(p - path) : first;
        r = r == -EEXIST ? 0 : r;
        *p = '/';
        if (ret_first)
            *ret_first = first;
        if (r < 0 && r != -EROFS) /* a folder on a read-only level may exist; the next level fails if not */
            return r;
    }
    return 0;
}

static int make_dir(const char *path, bool has_parents, uint32_t mode)
{
    char copy[PATH_MAX];
    struct stat st;
    size_t len = strlen(path);

    if (len >= sizeof(copy))
        return -ENAMETOOLONG;
    memcpy(copy, path, len + 1);
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';
    mode = mode ? mode & 07777 : 0755;
    if (has_parents) {
        int r = agent_fs_make_parents(copy, 0755, NULL);
        if (r < 0)
            return r;
    }
    if (mkdir(copy, mode) == 0)
        return chmod(copy, mode) < 0 ? -errno : 0; /* the exact mode, regardless of the umask */
    int error = errno;
    if (has_parents && error == EEXIST && stat(copy, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return -error;
}

/* --- move --- */
struct move {
    const char *from, *to;
};

/* Across file systems: copy beside the target, rename into place, then remove the source. */
static void move_by_copy(struct agent_reply *r, void *arg)
{
    struct move *m = arg;
    char beside[PATH_MAX];
    int n = snprintf(beside, sizeof(beside), "%s.iii-%d-%llx", m->to, (int)getpid(),
                     (unsigned long long)agent_loop_now_us());
    int result = n >= (int)sizeof(beside) ? -ENAMETOOLONG : agent_walk_copy(m->from, beside);

    if (result == 0 && rename(beside, m->to) < 0)
        result = -errno;
    if (result < 0 && n < (int)sizeof(beside))
        (void)agent_walk_remove(beside, true);
    if (result == 0)
        result = agent_walk_remove(m->from, true);
    agent_reply_result(r, result, "move", m->from);
}

/* --- remove and chmod --- */
struct change {
    const char *path;
    bool is_forced;
    struct agent_walk_change what;
};

static void run_remove(struct agent_reply *r, void *arg)
{
    const struct change *c = arg;
    int result = agent_walk_remove(c->path, true);

    agent_reply_result(r, result == -ENOENT && c->is_forced ? 0 : result, "remove", c->path);
}

static void run_change(struct agent_reply *r, void *arg)
{
    const struct change *c = arg;

    agent_reply_result(r, agent_walk_change(c->path, &c->what, true), "change mode or owner of", c->path);
}

static void change_path(struct agent_reply *r, const char *path, struct proto_reader *in)
{
    const char *mode = proto_get_str(in, PROTO_PATH_MAX), *owner = proto_get_str(in, PROTO_PATH_MAX);
    bool is_recursive = proto_get_u8(in);
    struct change c = { .path = path };
    struct proto_mode parsed;
    struct agent_spawn_user user;
    int error = 0;

    if (mode[0] && proto_mode_parse(mode, &parsed) < 0) {
        agent_reply_error(r, EINVAL, "mode %s: not octal digits and not one clause like u+x", mode);
        return;
    }
    if (owner[0] && (error = -agent_spawn_user(owner, &user))) {
        agent_reply_error(r, error, "owner %s: no such user, or not uid[:gid]", owner);
        return;
    }
    c.what.mode = mode[0] ? &parsed : NULL;
    if (owner[0]) {
        c.what.has_owner = true;
        c.what.uid = user.uid;
        c.what.gid = strchr(owner, ':') ? user.gid : UINT32_MAX;
    }
    if (is_recursive)
        agent_reply_work(r, run_change, &c);
    else
        agent_reply_result(r, agent_walk_change(path, &c.what, false), "change mode or owner of", path);
}

void agent_fs_request(struct agent_reply *r, uint16_t type, const uint8_t *data, size_t len)
{
    struct proto_reader in;

    proto_reader_init(&in, data, len);
    const char *path = proto_get_str(&in, PROTO_PATH_MAX);
    if (path[0] != '/') {
        agent_reply_error(r, EINVAL, "path %s: not absolute", path);
    } else if (type == PROTO_FS_LIST) {
        list_dir(r, path);
    } else if (type == PROTO_FS_SEARCH) {
        struct search s = { .dir = path, .glob = proto_get_str(&in, PROTO_PATH_MAX) };
        errno = 0;
        agent_reply_work(r, run_search, &s);
    } else if (type == PROTO_FS_MOVE) {
        struct move m = { path, proto_get_str(&in, PROTO_PATH_MAX) };
        if (m.to[0] != '/')
            agent_reply_error(r, EINVAL, "move to %s: not an absolute path", m.to);
        else if (rename(path, m.to) == 0)
            agent_reply_done(r);
        else if (errno == EXDEV)
            agent_reply_work(r, move_by_copy, &m);
        else
            agent_reply_error(r, errno, "move %s to %s", path, m.to);
    } else if (type == PROTO_FS_MKDIR) {
        bool has_parents = proto_get_u8(&in);
        agent_reply_result(r, make_dir(path, has_parents, proto_get_u32(&in)), "make directory", path);
    } else if (type == PROTO_FS_REMOVE) {
        bool is_recursive = proto_get_u8(&in);
        struct change c = { .path = path, .is_forced = proto_get_u8(&in) };
        int result = agent_walk_remove(path, false);
        if (is_recursive && (result == -ENOTEMPTY || result == -EEXIST))
            agent_reply_work(r, run_remove, &c);
        else
            agent_reply_result(r, result == -ENOENT && c.is_forced ? 0 : result, "remove", path);
    } else {
        change_path(r, path, &in);
    }
}
