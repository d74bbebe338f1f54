/* Theory of operation. Finds the control group hierarchies of this host and the place in each for our groups.
 *
 * A host has one of three layouts: v1 (one hierarchy per controller or pair of controllers), v2 (one for all), or
 * hybrid (v1 for the controllers, plus a v2 tree without any). The same steps handle all three:
 *   1. /proc/self/mountinfo tells what is mounted where, /proc/self/cgroup where we are in it;
 *   2. the v2 tree, if there is one, has kill, freeze and CPU accounting without a controller, and its controllers;
 *   3. a v1 tree is added for each controller that is still missing. On hybrid that leaves out the v1 freezer and
 *      cpuacct, which saves two groups per box, and freezing is three times faster (40 against 140 microseconds).
 * struct cgroup_host owns one O_PATH descriptor per tree. A tree that cannot be used is skipped, and host->why has the
 * reason for each controller; a host without any usable tree is not an error. */
#include "os/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MOUNTS_MAX 24
#define LEAF       "iii-host" /* group for processes that block v2's rule "no processes in inner groups" */

struct mount_point {
    bool is_v2;
    unsigned controllers; /* v1: what is mounted here */
    char root[128];       /* the part of the hierarchy that is mounted */
    char path[128];
    char own[200]; /* where this process is, as in /proc/self/cgroup; "" = unknown */
};

struct survey {
    struct mount_point mount[MOUNTS_MAX];
    unsigned n;
};

static const char *const controller_names[CGROUP_CONTROLLERS] = {
    [CGROUP_MEMORY] = "memory",   [CGROUP_CPU] = "cpu",         [CGROUP_PIDS] = "pids",
    [CGROUP_CPUACCT] = "cpuacct", [CGROUP_FREEZER] = "freezer",
};

const char *cgroup_controller_name(enum cgroup_controller c)
{
    return c < CGROUP_CONTROLLERS ? controller_names[c] : "unknown";
}

/* Bits of the controllers named in a list separated by commas or spaces. */
static unsigned controllers_of(const char *list)
{
    unsigned mask = 0;
    while (*list) {
        size_t len = strcspn(list, ", \n");
        for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
            if (strlen(controller_names[c]) == len && memcmp(controller_names[c], list, len) == 0)
                mask |= 1u << c;
        list += len + (list[len] != '\0');
    }
    return mask;
}

static bool copy_fits(char *to, size_t size, const char *from)
{
    size_t len = strlen(from);
    if (len >= size)
        return false;
    memcpy(to, from, len + 1);
    return true;
}

/* "31 23 0:28 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu": fields before " - " have a fixed place. A
 * path with an escaped space is skipped: no host mounts cgroups at such a place. */
static void survey_mount(struct survey *s, char *line)
{
    char *tail = strstr(line, " - ");
    if (!tail || s->n == MOUNTS_MAX || strchr(line, '\\'))
        return;
    *tail = '\0';
    char type[16] = "", options[256] = "", root[128], path[128];
    if (sscanf(tail + 3, "%15s %*s %255s", type, options) != 2 ||
        sscanf(line, "%*s %*s %*s %127s %127s", root, path) != 2)
        return;
    bool is_v2 = strcmp(type, "cgroup2") == 0;
    if (!is_v2 && strcmp(type, "cgroup") != 0)
        return;
    struct mount_point m = { .is_v2 = is_v2, .controllers = is_v2 ? 0 : controllers_of(options) };
    if (!is_v2 && !m.controllers)
        return;
    if (copy_fits(m.root, sizeof m.root, root) && copy_fits(m.path, sizeof m.path, path))
        s->mount[s->n++] = m;
}

/* "4:memory:/process/x" or "0::/user.slice". */
static void survey_own(struct survey *s, char *line)
{
    char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
    if (!path)
        return;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    names++;
    unsigned mask = controllers_of(names);
    for (unsigned i = 0; i < s->n; i++) {
        struct mount_point *m = &s->mount[i];
        if (m->is_v2 ? *names == '\0' : (m->controllers & mask) != 0)
            if (!copy_fits(m->own, sizeof m->own, path))
                m->own[0] = '\0';
    }
}

static int survey_read(struct survey *s, const char *path, void (*each)(struct survey *, char *))
{
    FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    CLEANUP(free_p) char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, f) >= 0)
        each(s, line);
    (void)fclose(f); /* was only read */
    return 0;
}

static int write_at(int dir, const char *file, const char *text)
{
    CLEANUP(close_fd_p) int fd = openat(dir, file, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Whether we may manage the processes and children of the group dir. */
static bool is_ours(const char *dir)
{
    char procs[300];
    int n = snprintf(procs, sizeof procs, "%s/cgroup.procs", dir);
    return n > 0 && (size_t)n < sizeof procs && access(dir, W_OK) == 0 && access(procs, W_OK) == 0;
}

/* The folder for our parent group. Root takes the top of the tree, so that the place is the same after a restart
 * from another session. Others take the highest group, from their own upwards without a gap, that they may write: a
 * process may only move itself within what was delegated to it. */
static int choose_base(const struct mount_point *m, char *ret, size_t size)
{
    if (geteuid() == 0 && is_ours(m->path))
        return copy_fits(ret, size, m->path) ? 0 : -ENAMETOOLONG;
    size_t skip = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    if (!m->own[0] || strncmp(m->own, m->root, skip) != 0 || strncmp(m->own, "/..", 3) == 0)
        return -ENOENT;
    char dir[300], best[300] = "";
    if (snprintf(dir, sizeof dir, "%s%s", m->path, m->own + skip) >= (int)sizeof dir)
        return -ENAMETOOLONG;
    size_t top = strlen(m->path);
    for (size_t len = strlen(dir); len > top && dir[len - 1] == '/'; len--)
        dir[len - 1] = '\0';
    while (strlen(dir) >= top && is_ours(dir)) {
        memcpy(best, dir, sizeof best);
        char *slash = strrchr(dir, '/');
        if (!slash || strlen(dir) == top)
            break;
        *slash = '\0';
    }
    if (!best[0])
        return -EACCES;
    return copy_fits(ret, size, best) ? 0 : -ENAMETOOLONG;
}

/* v2 enables controllers for children only in a group without processes of its own. In a container, or in a unit
 * made for us, those processes are ours: they move to a leaf beside our parent group. */
static void clear_inner(int base)
{
    if (mkdirat(base, LEAF, 0755) < 0 && errno != EEXIST)
        return;
    for (int round = 0; round < 8; round++) {
        CLEANUP(close_fd_p) int from = openat(base, "cgroup.procs", O_RDONLY | O_CLOEXEC);
        CLEANUP(close_fd_p) int to = openat(base, LEAF "/cgroup.procs", O_WRONLY | O_CLOEXEC);
        char pids[4096];
        ssize_t n = from < 0 || to < 0 ? 0 : read(from, pids, sizeof pids - 1);
        if (n <= 0)
            return;
        pids[n] = '\0';
        char *rest = pids, *pid;
        while ((pid = strsep(&rest, "\n")) && rest) /* the last piece may be truncated: next round */
            (void)!write(to, pid, strlen(pid));     /* kernel threads refuse; the caller notices by subtree_control */
    }
}

/* Enables a controller for the children of dir. */
static bool controller_enable(int dir, enum cgroup_controller c, bool may_clear)
{
    char word[24];
    (void)snprintf(word, sizeof word, "+%s", controller_names[c]);
    int r = write_at(dir, "cgroup.subtree_control", word);
    if (r == -EBUSY && may_clear) {
        clear_inner(dir);
        r = write_at(dir, "cgroup.subtree_control", word);
    }
    return r == 0;
}

static const unsigned v2_limits = 1u << CGROUP_MEMORY | 1u << CGROUP_CPU | 1u << CGROUP_PIDS;

/* What the v2 tree offers: kill, freeze and CPU time need no controller; limits need theirs enabled on two levels. */
static void equip_v2(struct cgroup_tree *t, int base)
{
    char list[256];
    CLEANUP(close_fd_p) int fd = openat(base, "cgroup.controllers", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, list, sizeof list - 1);
    list[n < 0 ? 0 : n] = '\0';
    unsigned there = controllers_of(list) & v2_limits;
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
        if ((there & 1u << c) && controller_enable(base, c, true) && controller_enable(t->parent_fd, c, false))
            t->controllers |= 1u << c;
    t->can_kill = faccessat(t->parent_fd, "cgroup.kill", W_OK, 0) == 0;
    t->can_freeze = faccessat(t->parent_fd, "cgroup.freeze", W_OK, 0) == 0;
    if (t->can_freeze)
        t->controllers |= 1u << CGROUP_FREEZER;
    if (faccessat(t->parent_fd, "cpu.stat", R_OK, 0) == 0)
        t->controllers |= 1u << CGROUP_CPUACCT;
}

static int add_tree(struct cgroup_host *host, const struct mount_point *m, const char *parent)
{
    if (host->trees == CGROUP_TREES_MAX)
        return -ENOSPC;
    struct cgroup_tree t = { .is_v2 = m->is_v2, .parent_fd = NO_FD };
    char base_path[256];
    int r = choose_base(m, base_path, sizeof base_path);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int base = open(base_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return -errno;
    if (snprintf(t.parent_path, sizeof t.parent_path, "%s/%s", base_path, parent) >= (int)sizeof t.parent_path)
        return -ENAMETOOLONG;
    if (mkdirat(base, parent, 0755) < 0 && errno != EEXIST)
        return -errno;
    t.parent_fd = openat(base, parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (t.parent_fd < 0)
        return -errno;
    if (t.is_v2)
        equip_v2(&t, base);
    else
        t.controllers = m->controllers;
    host->tree[host->trees++] = t;
    return 0;
}

static void why_set(struct cgroup_host *host, enum cgroup_controller c, const char *text, const char *more)
{
    (void)snprintf(host->why[c], sizeof host->why[c], "%s%.160s", text, more);
}

/* Adds the v1 tree that has controller c, if one is mounted and writable. */
static void add_v1(struct cgroup_host *host, const struct survey *s, enum cgroup_controller c, const char *parent)
{
    bool has_v2 = host->trees && host->tree[0].is_v2;
    if (has_v2)
        why_set(host, c, "not handed down to ", host->tree[0].parent_path);
    else
        why_set(host, c, "no mounted hierarchy has it", "");
    for (unsigned i = 0; i < s->n && !has_v2; i++)
        if (s->mount[i].is_v2)
            why_set(host, c, "no group there may be written by this user: ", s->mount[i].path);
    for (unsigned i = 0; i < s->n; i++) {
        const struct mount_point *m = &s->mount[i];
        if (m->is_v2 || !(m->controllers & 1u << c))
            continue;
        int r = add_tree(host, m, parent);
        if (r == 0)
            return;
        why_set(host, c, "no group there may be written by this user: ", m->path);
    }
}

int cgroup_host_init(struct cgroup_host *host, const char *parent, struct err *err)
{
    *host = (struct cgroup_host){ 0 };
    parent = parent ? parent : CGROUP_PARENT;
    struct survey s = { 0 };
    int r = survey_read(&s, "/proc/self/mountinfo", survey_mount);
    if (r >= 0)
        r = survey_read(&s, "/proc/self/cgroup", survey_own);
    if (r < 0)
        return err_sys(err, r, "find control groups: read /proc/self");
    for (unsigned i = 0; i < s.n && host->trees == 0; i++)
        if (s.mount[i].is_v2)
            (void)add_tree(host, &s.mount[i], parent); /* not usable: v1 may still be */
    for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
        if (!(cgroup_host_controllers(host) & 1u << c)) /* "cpu,cpuacct" mounted together come with the first of them */
            add_v1(host, &s, c, parent);
    for (unsigned i = 0; i < host->trees; i++) {
        struct cgroup_tree *t = &host->tree[i];
        for (unsigned c = 0; c < CGROUP_CONTROLLERS; c++)
            if (t->controllers & 1u << c)
                why_set(host, c, t->is_v2 ? "v2 at " : "v1 at ", t->parent_path);
        if (t->is_v2)
            continue;
        t->can_freeze = (t->controllers & 1u << CGROUP_FREEZER) != 0;
        if (t->controllers & 1u << CGROUP_MEMORY)
            host->has_memsw = faccessat(t->parent_fd, "memory.memsw.limit_in_bytes", W_OK, 0) == 0;
    }
    return 0;
}

int cgroup_host_reopen(struct cgroup_host *host, struct err *err)
{
    for (unsigned i = 0; i < host->trees; i++) {
        struct cgroup_tree *t = &host->tree[i];
        t->parent_fd = open(t->parent_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (t->parent_fd < 0)
            return err_sys(err, -errno, "open control group %.160s", t->parent_path);
    }
    return 0;
}

void cgroup_host_done(struct cgroup_host *host)
{
    for (unsigned i = 0; i < host->trees; i++)
        (void)close(host->tree[i].parent_fd);
    host->trees = 0;
}

unsigned cgroup_host_controllers(const struct cgroup_host *host)
{
    unsigned mask = 0;
    for (unsigned i = 0; i < host->trees; i++)
        mask |= host->tree[i].controllers;
    return mask;
}

void cgroup_host_remove(struct cgroup_host *host)
{
    for (unsigned i = 0; i < host->trees; i++)
        (void)rmdir(host->tree[i].parent_path); /* not empty: someone still uses it */
}
