/* Theory of operation. The box is frozen. The launcher makes a new overlay whose lower layers are the old writable
 * folder and everything below it, and whose writable folder is empty. A visitor in the box's mount namespace then
 *  1. looks at every task: one whose working folder or open file is in the old root would continue with the old tree,
 *     which no longer changes. Such a box is left alone (-EBUSY). The kernel moves roots and working folders "/".
 *  2. makes the old root read-only: the kernel refuses that while a file is open for writing, which also finds what the
 *     first step cannot, such as a mapped file.
 *  3. attaches the new root, moves the mounts of the old one over, pivots, detaches the old.
 * Running programs keep their mapped code from the old mount, which stays until they exit. Every step before the pivot
 * can be undone. Which folder is the writable one is recorded nowhere: the mount itself tells (promote_upper). */
#include "runtime/native/promote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "os/mount.h"
#include "os/tree.h"
#include "runtime/native/box.h"
#include "runtime/visit.h"

#define MOUNTS_MAX     64
#define MOUNTINFO_MAX  (256 * 1024)
#define GENERATION_MAX 1000000
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

struct place {
    uint64_t mount, ino;
};

struct moved {
    const char *path; /* relative to the root */
    int from, to;     /* the mounted folder; the folder of the new root to mount it on */
};

struct swap {
    const struct native_box *c;
    int root; /* the new root, detached */
    int old;
    struct place at; /* of the old one */
    struct moved mounts[MOUNTS_MAX];
    unsigned n_mounts;
};

static bool place_of(int dir_fd, const char *path, struct place *ret)
{
    struct statx st;
    if (statx(dir_fd, path, AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_INO | STATX_MNT_ID, &st) < 0)
        return false;
    *ret = (struct place){ st.stx_mnt_id, st.stx_ino };
    return true;
}

/* --- users of the old root --- */

static void close_dir_p(DIR **slot)
{
    if (*slot)
        (void)closedir(*slot); /* read only */
}

static bool is_number(const char *name)
{
    return name[0] >= '0' && name[0] <= '9';
}

/* Whether its working folder or root is not "/" itself. */
static bool stays_behind(const struct swap *s, const char *task, const char *link)
{
    char path[128];
    struct place at;
    snprintf(path, sizeof(path), "%s/%s", task, link);
    if (!place_of(AT_FDCWD, path, &at))
        return errno != ENOENT && errno != ESRCH; /* it has just exited; any other error counts as in use */
    return at.mount == s->at.mount && at.ino != s->at.ino;
}

static bool has_open_file(const struct swap *s, const char *task)
{
    char path[128];
    struct place at;
    snprintf(path, sizeof(path), "%s/fd", task);
    CLEANUP(close_dir_p) DIR *d = opendir(path);
    if (!d)
        return errno != ENOENT && errno != ESRCH;
    for (struct dirent *e; (e = readdir(d));)
        if (is_number(e->d_name) && place_of(dirfd(d), e->d_name, &at) && at.mount == s->at.mount)
            return true;
    return false;
}

static int check_process(const struct swap *s, const char *process, struct err *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/task", process);
    CLEANUP(close_dir_p) DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        char task[96];
        if (!is_number(e->d_name))
            continue;
        snprintf(task, sizeof(task), "%s/%.20s", path, e->d_name);
        if (stays_behind(s, task, "cwd") || stays_behind(s, task, "root") || has_open_file(s, task))
            return err_set(err, ERR_CONFLICT, EBUSY, "process %.20s of box %s uses its files", process, s->c->name);
    }
    return 0;
}

/* --- the swap, in the box's mount namespace --- */

static int read_whole(const char *path, char *text, size_t size)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n = read(fd, text + len, size - 1 - len);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        len += (size_t)n;
        if (len == size - 1)
            return -E2BIG;
    }
    text[len] = '\0';
    return 0;
}

/* Replaces "\040" of a mount table by the byte it stands for. */
static void mount_unescape(char *s)
{
    char *to = s;
    for (; *s; s++, to++) {
        if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
            *to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
            s += 3;
        } else {
            *to = *s;
        }
    }
    *to = '\0';
}

static int add_mount(struct swap *s, uint64_t id, const char *path, struct err *err)
{
    struct place at;
    if (s->n_mounts == MOUNTS_MAX)
        return err_set(err, ERR_CONFLICT, EBUSY, "box %s has more than %d mounts", s->c->name, MOUNTS_MAX);
    struct moved *m = &s->mounts[s->n_mounts];
    m->path = path + 1;
    m->from = mount_open_beneath(s->old, m->path, O_PATH, 0);
    m->to = mount_open_beneath(s->root, m->path, O_PATH, 0);
    s->n_mounts++;
    if (m->from < 0 || m->to < 0 || !place_of(m->from, "", &at) || at.mount != id)
        return err_set(err, ERR_CONFLICT, EBUSY, "the mount %.100s of box %s cannot be moved", path, s->c->name);
    return 0;
}

/* Finds what is mounted directly on the old root; mounts on those move along. */
static int find_mounts(struct swap *s, struct err *err)
{
    static char text[MOUNTINFO_MAX];
    int r = read_whole("/proc/1/mountinfo", text, sizeof(text));
    if (r < 0)
        return err_sys(err, r == -E2BIG ? -EBUSY : r, "read the mounts of box %s", s->c->name);
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line && r >= 0; line = strtok_r(NULL, "\n", &save)) {
        char *path = line; /* "id parent device root path ..." */
        unsigned long long id = strtoull(path, &path, 10), parent = strtoull(path, &path, 10);
        for (int fields = 0; path && fields < 3; fields++)
            if ((path = strchr(path, ' ')))
                path++;
        if (!path || parent != s->at.mount)
            continue;
        char *end = strchr(path, ' ');
        if (!end || path[0] != '/' || path[1] == ' ')
            return err_set(err, ERR_CONFLICT, EBUSY, "another mount covers the root of box %s", s->c->name);
        *end = '\0';
        mount_unescape(path);
        r = add_mount(s, id, path, err);
    }
    return r;
}

static int root_pivot(struct swap *s, struct err *err)
{
    unsigned n = 0;
    int r = mount_attach(s->root, s->old);
    if (r < 0)
        return err_sys(err, r, "attach the new root of box %s", s->c->name);
    while (r >= 0 && n < s->n_mounts)
        if ((r = mount_attach(s->mounts[n].from, s->mounts[n].to)) >= 0)
            n++;
    if (r >= 0 && (fchdir(s->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0))
        r = -errno;
    if (r < 0) {
        while (n-- > 0) { /* back to the folders of the old root that they left */
            CLEANUP(close_fd_p) int back = mount_open_beneath(s->old, s->mounts[n].path, O_PATH, 0);
            if (back >= 0)
                (void)mount_attach(s->mounts[n].from, back); /* nothing else can be done */
        }
        if (fchdir(s->root) == 0)
            (void)umount2(".", MNT_DETACH); /* at the latest gone with the box */
        return err_sys(err, r, "swap the root of box %s", s->c->name);
    }
    (void)umount2(".", MNT_DETACH); /* the old root is mounted on the new one and already out of sight */
    return 0;
}

/* The visitor. Its descriptors are closed with it. */
static int swap_inside(void *arg, struct err *err)
{
    struct swap *s = arg;
    int r = native_box_visit_join(s->c, CLONE_NEWNS, err);
    if (r < 0)
        return r;
    s->old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->old < 0 || !place_of(s->old, "", &s->at))
        return err_sys(err, -errno, "open the root of box %s", s->c->name);
    CLEANUP(close_dir_p) DIR *d = opendir("/proc");
    if (!d)
        return err_sys(err, -errno, "read /proc of box %s", s->c->name);
    for (struct dirent *e; r >= 0 && (e = readdir(d));)
        if (is_number(e->d_name))
            r = check_process(s, e->d_name, err);
    if (r < 0 || (r = find_mounts(s, err)) < 0)
        return r;
    r = mount_set(s->old, MOUNT_ATTR_RDONLY, -1);
    if (r < 0)
        return err_sys(err, r, "make the root of box %s read-only", s->c->name);
    if ((r = root_pivot(s, err)) < 0) { /* it was writable before; a failure shows in the box as a read-only root */
        struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
        (void)syscall(SYS_mount_setattr, s->old, "", AT_EMPTY_PATH, &attr, sizeof(attr));
    }
    return r;
}

/* --- folders, in the launcher --- */

int promote_upper(const struct native_box *c, char ret[32], struct err *err)
{
    static char text[MOUNTINFO_MAX];
    char path[48], *save = NULL;
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)c->pid);
    int r = c->site->is_root ? read_whole(path, text, sizeof(text)) : 0;
    if (r < 0)
        return err_sys(err, r, "read the mounts of box %s", c->name);
    snprintf(ret, 32, "upper");
    if (!c->site->is_root) /* never promoted */
        return 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        const char *root = strstr(line, " / / "), *upper = strstr(line, ",upperdir=");
        if (!root || !upper || !strstr(line, " - overlay ") || !(upper = strchr(upper, '/')))
            continue;
        size_t len = strcspn(++upper, ", "); /* "upperdir=/NAME" or, on older kernels, "upperdir=12/NAME" */
        if (len >= 32 || strncmp(upper, "upper", 5) != 0)
            break;
        snprintf(ret, 32, "%.*s", (int)len, upper);
        return 0;
    }
    return err_set(err, ERR_INTERNAL, 0, "box %s: its root is not one of ours", c->name);
}

unsigned promote_generation(const char *upper)
{
    return upper[5] == '-' ? (unsigned)strtoul(upper + 6, NULL, 10) : 0;
}

bool promote_leftover(const struct native_box *c, char ret[PROMOTE_FOLDER])
{
    char now[32] = "";
    struct err ignored = ERR_INIT;
    if (!c->site->is_root || promote_upper(c, now, &ignored) < 0 || promote_generation(now) == 0)
        return false;
    int fd = openat(c->site->boxes_fd, c->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_dir_p) DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "upper", 5) == 0 && promote_generation(e->d_name) < promote_generation(now)) {
            snprintf(ret, PROMOTE_FOLDER, "boxes/%s/%.20s", c->name, e->d_name);
            return true;
        }
    return false;
}

/* New folders under names never used: a failed attempt may have left some. */
static int make_folders(struct native_box *c, const char *former, char upper[32], char work[32], struct err *err)
{
    struct stat st;
    if (fstatat(c->box, former, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(err, -errno, "inspect the writable layer of box %s", c->name);
    for (unsigned g = promote_generation(former) + 1; g < GENERATION_MAX; g++) {
        snprintf(upper, 32, "upper-%u", g);
        snprintf(work, 32, "work-%u", g);
        if (mkdirat(c->box, upper, 0700) < 0 && errno == EEXIST)
            continue;
        if (mkdirat(c->box, work, 0700) < 0 || fchownat(c->box, upper, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
            fchmodat(c->box, upper, st.st_mode & 07777, 0) < 0)
            break;
        return 0;
    }
    return err_sys(err, -errno, "make a new writable layer for box %s", c->name);
}

static int promote_box(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                       const char *former, struct err *err)
{
    char upper[32], work[32];
    static struct swap s;
    c->userns = native_box_visit_open(c, "user", err);
    if (c->userns < 0)
        return steal_fd(&c->userns);
    int r = native_box_root_reopen(site, c, err);
    if (r >= 0)
        r = make_folders(c, former, upper, work, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int root = NO_FD;
    const struct native_box_root_upper folders = { .upper = upper, .work = work, .former = former };
    r = native_box_root_overlay(site, c, q, &folders, &root, err);
    s = (struct swap){ .c = c, .root = root };
    if (r >= 0)
        r = visit_run(swap_inside, &s, NULL, err);
    char now[32] = "";
    if (r >= 0 || promote_upper(c, now, NULL) < 0)
        return r; /* not known which: the folders are removed with the box */
    if (strcmp(now, upper) == 0)
        return 0; /* a visitor that was killed or timed out had reached the pivot: the box writes to the new folder */
    (void)tree_remove(c->box, upper, NULL); /* both are removed with the box at the latest */
    (void)tree_remove(c->box, work, NULL);
    return r;
}

int promote_run(struct native_box_site *site, struct native_box *c, const struct wire_request *q,
                char ret_folder[PROMOTE_FOLDER], struct err *err)
{
    char former[32] = "";
    if (!site->is_root)
        return err_set(err, ERR_CONFLICT, EBUSY, "only root can swap the root of a box");
    int r = promote_upper(c, former, err);
    if (r < 0)
        return r;
    r = promote_box(site, c, q, former, err);
    native_box_close_start(c); /* closes what was opened for this */
    if (r >= 0)
        snprintf(ret_folder, PROMOTE_FOLDER, "boxes/%s/%s", c->name, former);
    return r;
}
