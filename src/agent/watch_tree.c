/* Theory of operation. A struct node is one watched folder: its place in the tree (parent, name) and the number of its
 * inotify watch, by which events name it. The kernel's watch belongs to the folder and not to its path, so a folder
 * that is moved keeps it, and only its node gets another parent or name.
 *
 * A folder is watched first and read afterwards: what is made in between is in both, and the queue merges it. Folders
 * are opened by descriptor from the root down, without following a symbolic link, so the tree cannot lead outside.
 *
 * A rename is two events with one cookie. The first is held until the second comes; one that does not, by the time of
 * the next report or event of the folder, has moved the entry out of what is watched, which is a removal.
 *
 * Lost events (the kernel's queue overflows), and mounts that come and go, make the tree unknown: all watches are
 * dropped and made again, and the reader is told to list again afterwards, so that nothing is missed in between. The
 * same when the root is removed: then its nearest ancestor is watched until it is back.
 *
 * Reports go out at most every WINDOW_MS and at most LIMIT WATCH_RATE a second. When the agent takes no more, changes
 * are merged in the queue meanwhile, which is bounded. */
#include "agent/watch_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "agent/watch_queue.h"
#include "guest/proto_glob.h"

#define WINDOW_MS   50
#define RESCAN_MS   1000 /* between two times that all watches are made again */
#define BUCKETS     4096u
#define HELD_MAX    64u
#define PATH_BYTES  (PROTO_PATH_MAX + 1)
#define EVENTS      (IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO)
#define OWN_EVENTS  (IN_DELETE_SELF | IN_MOVE_SELF)
#define FOLDER_ONLY (IN_ONLYDIR | IN_EXCL_UNLINK)
#define FOLDER_OPEN (O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC)

#define PROC_MAGIC    0x9fa0
#define SYSFS_MAGIC   0x62656572
#define CGROUP_MAGIC  0x27e0eb
#define CGROUP2_MAGIC 0x63677270

struct node {
    struct node *parent, *children, *next, **from; /* from: what points to us in the list of siblings */
    struct node *twin;                             /* in its bucket */
    int wd;
    char name[];
};

/* The first half of a rename. */
struct held {
    uint32_t cookie; /* 0: free */
    bool is_folder;
    struct node *node; /* of the entry, when it is a watched folder */
    char *path;
};

struct tree {
    const struct agent_watch_tree_plan *plan;
    struct agent_watch_queue queue;
    int inotify, mounts, out;
    dev_t root_dev; /* which folder is watched: its path may lead to another one meanwhile */
    ino_t root_ino;
    int ancestor_wd; /* watched while there is no root; else -1 */
    struct node *top, *by_wd[BUCKETS];
    size_t n_nodes;
    struct held held[HELD_MAX];
    bool has_root;              /* as told: GONE and BACK */
    bool has_limit;             /* told since the last scan */
    bool needs_scan;            /* the tree is unknown */
    bool is_blocked;            /* the agent takes no message now */
    int64_t report_ms, scan_ms; /* when at the earliest */
    char path[PATH_BYTES];      /* of the entry that is being looked at */
};

static int64_t now_ms(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts); /* cannot fail with this clock */
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* --- paths --- */

/* Puts "/name" before what *at points to; nothing for "". False: there is no room. */
static bool prepend(const struct tree *t, char **at, const char *name)
{
    size_t len = strlen(name);

    if (len == 0)
        return true;
    if ((size_t)(*at - t->path) < len + 1)
        return false;
    *at -= len;
    memcpy(*at, name, len);
    *--*at = '/';
    return true;
}

static size_t root_len(const struct tree *t)
{
    return strcmp(t->plan->path, "/") == 0 ? 0 : strlen(t->plan->path);
}

/* The absolute path of an entry of a folder, in t->path. False: it is too long. */
static bool set_path(struct tree *t, const struct node *n, const char *name)
{
    char *at = t->path + sizeof(t->path) - 1;
    size_t root = root_len(t);

    *at = '\0';
    bool fits = prepend(t, &at, name);
    for (; fits && n->parent; n = n->parent)
        fits = prepend(t, &at, n->name);
    if (!fits || (size_t)(at - t->path) < root)
        return false;
    memmove(t->path + root, at, strlen(at) + 1);
    memcpy(t->path, t->plan->path, root);
    return true;
}

static void set_root_path(struct tree *t)
{
    memcpy(t->path, t->plan->path, strlen(t->plan->path) + 1); /* PROTO_PATH_MAX at most */
}

/* Of t->path, which is below the root. */
static bool is_excluded(const struct tree *t)
{
    const char *below = t->path + root_len(t) + 1;

    for (unsigned i = 0; i < t->plan->n_exclude; i++)
        if (proto_glob_match(t->plan->exclude[i], below))
            return true;
    return false;
}

static void tell(struct tree *t, uint8_t kind, bool is_folder)
{
    agent_watch_queue_add(&t->queue, kind, is_folder, t->path, "");
}

static void tell_limit(struct tree *t, const char *why)
{
    if (!t->has_limit)
        agent_watch_queue_add(&t->queue, PROTO_CHANGE_LIMIT, true, t->path, why);
    t->has_limit = true;
}

/* --- nodes --- */

static struct node **bucket_of(struct tree *t, int wd)
{
    struct node **at = &t->by_wd[(unsigned)wd % BUCKETS];

    while (*at && (*at)->wd != wd)
        at = &(*at)->twin;
    return at;
}

static void unlink_node(struct node *n)
{
    if (!n->from)
        return;
    *n->from = n->next;
    if (n->next)
        n->next->from = n->from;
    n->from = NULL;
}

static void link_node(struct node *n, struct node *parent)
{
    n->parent = parent;
    if (!parent)
        return;
    n->next = parent->children;
    n->from = &parent->children;
    if (n->next)
        n->next->from = &n->next;
    parent->children = n;
}

static void forget_held(struct tree *t, const struct node *n)
{
    for (unsigned i = 0; i < HELD_MAX; i++)
        if (t->held[i].node == n)
            t->held[i].node = NULL;
}

/* Frees a folder and all below it; their watches are removed where the kernel still has them. */
static void drop_node(struct tree *t, struct node *n)
{
    struct node *stop = n->parent;

    for (struct node *at = n; at != stop;) {
        if (at->children) {
            at = at->children;
            continue;
        }
        struct node *parent = at->parent;
        struct node **slot = bucket_of(t, at->wd);
        if (*slot == at)
            *slot = at->twin;
        unlink_node(at);
        forget_held(t, at);
        (void)inotify_rm_watch(t->inotify, at->wd); /* EINVAL: it is gone with its folder */
        if (t->top == at)
            t->top = NULL;
        free(at);
        t->n_nodes--;
        at = at == n ? stop : parent;
    }
}

static struct node *find_child(const struct node *n, const char *name)
{
    struct node *c = n->children;

    while (c && strcmp(c->name, name) != 0)
        c = c->next;
    return c;
}

/* Gives a folder another place. Its node moves in memory. NULL: not possible; without memory it is dropped. */
static struct node *move_node(struct tree *t, struct node *n, struct node *parent, const char *name)
{
    for (const struct node *p = parent; p; p = p->parent)
        if (p == n)
            return NULL; /* a folder that is mounted below itself */
    struct node *made = calloc(1, sizeof(*made) + strlen(name) + 1);
    if (!made) {
        drop_node(t, n);
        return NULL;
    }
    unlink_node(n);
    n->parent = NULL;
    struct node *old = find_child(parent, name);
    if (old)
        drop_node(t, old); /* what the rename has replaced */
    made->wd = n->wd;
    made->twin = n->twin;
    *bucket_of(t, n->wd) = made;
    memcpy(made->name, name, strlen(name) + 1);
    made->children = n->children;
    if (made->children)
        made->children->from = &made->children;
    for (struct node *c = made->children; c; c = c->next)
        c->parent = made;
    link_node(made, parent);
    forget_held(t, n);
    free(n);
    return made;
}

/* Watches the folder that fd is, which is an entry of parent. NULL: not watched; a limit was told. */
static struct node *watch_folder(struct tree *t, int fd, struct node *parent, const char *name)
{
    if (t->n_nodes >= LIMIT_MAX(WATCH_FOLDERS)) {
        char why[128];
        (void)snprintf(why, sizeof(why), "limit of %d folders in one watch reached: exclude some",
                       (int)LIMIT_MAX(WATCH_FOLDERS));
        tell_limit(t, why);
        return NULL;
    }
    int wd = fchdir(fd) < 0 ? -1 : inotify_add_watch(t->inotify, ".", EVENTS | OWN_EVENTS | FOLDER_ONLY);
    int before = errno;
    if (chdir("/") < 0) /* a folder that is in use does not report its end */
        abort();        /* there is always a root */
    errno = before;
    if (wd < 0) {
        if (errno == ENOSPC)
            tell_limit(t, "fs.inotify.max_user_watches of the sandbox's user is reached: watch fewer folders, exclude "
                          "some, or raise it on the host");
        else if (errno == ENOMEM)
            tell_limit(t, "out of memory: raise the sandbox's memory limit");
        return NULL; /* other errors: it cannot be read, or is gone */
    }
    struct node *known = *bucket_of(t, wd);
    if (known && known != t->top && parent)
        return move_node(t, known, parent, name); /* it was moved while we looked */
    if (known)
        return NULL;
    struct node *n = calloc(1, sizeof(*n) + strlen(name) + 1);
    if (!n) {
        (void)inotify_rm_watch(t->inotify, wd);
        tell_limit(t, "out of memory: raise the sandbox's memory limit");
        return NULL;
    }
    memcpy(n->name, name, strlen(name) + 1);
    n->wd = wd;
    n->twin = t->by_wd[(unsigned)wd % BUCKETS];
    t->by_wd[(unsigned)wd % BUCKETS] = n;
    link_node(n, parent);
    t->n_nodes++;
    return n;
}

/* --- reading folders --- */

static bool is_kernels(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    unsigned long type = (unsigned long)fs.f_type;
    return type == PROC_MAGIC || type == SYSFS_MAGIC || type == CGROUP_MAGIC || type == CGROUP2_MAGIC;
}

static bool is_folder_entry(int fd, const struct dirent *d)
{
    struct stat st;

    if (d->d_type != DT_UNKNOWN)
        return d->d_type == DT_DIR;
    return fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Reads the folder n, whose descriptor is taken, and watches those below. does_tell: what is there is new. */
static void scan_folder(struct tree *t, struct node *n, int fd, bool does_tell, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    int wd = n->wd;

    if (!dir) {
        (void)close(fd);
        return;
    }
    for (struct dirent *d; (d = readdir(dir));) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 || !set_path(t, n, d->d_name) || is_excluded(t))
            continue;
        bool is_folder = is_folder_entry(dirfd(dir), d);
        if (does_tell)
            tell(t, PROTO_CHANGE_CREATED, is_folder);
        if (!is_folder || !t->plan->is_recursive)
            continue;
        if (depth >= LIMIT_MAX(WATCH_DEPTH)) {
            tell_limit(t, "folders are nested too deep: watch a folder further down");
            continue;
        }
        int below = openat(dirfd(dir), d->d_name, FOLDER_OPEN | O_NOFOLLOW);
        struct node *child = below < 0 || is_kernels(below) ? NULL : watch_folder(t, below, n, d->d_name);
        if (child)
            scan_folder(t, child, below, does_tell, depth + 1); /* it closes the descriptor */
        else if (below >= 0)
            (void)close(below);
        n = *bucket_of(t, wd); /* a folder that was moved meanwhile has a new node */
        if (!n)
            break;
    }
    (void)closedir(dir);
}

/* The watched folder itself. -ESTALE: another one is in its place. Kept open it would not report its end. */
static int open_root(const struct tree *t)
{
    struct stat st;
    int fd = open(t->plan->path, FOLDER_OPEN);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && st.st_dev == t->root_dev && st.st_ino == t->root_ino)
        return fd;
    (void)close(fd);
    return -ESTALE;
}

/* A descriptor of a watched folder, from the root down and through no link. -errno: it is not there any more. */
static int open_node(const struct tree *t, const struct node *n)
{
    if (n == t->top)
        return open_root(t);
    int parent = open_node(t, n->parent);
    if (parent < 0)
        return parent;
    int fd = openat(parent, n->name, FOLDER_OPEN | O_NOFOLLOW);
    (void)close(parent);
    return fd;
}

static unsigned depth_of(const struct node *n)
{
    unsigned depth = 0;

    for (; n->parent; n = n->parent)
        depth++;
    return depth;
}

/* A folder has appeared in n: watches it with everything below, which is told as new. */
static void scan_new(struct tree *t, struct node *n, const char *name)
{
    if (!t->plan->is_recursive || depth_of(n) >= LIMIT_MAX(WATCH_DEPTH)) {
        if (t->plan->is_recursive)
            tell_limit(t, "folders are nested too deep: watch a folder further down");
        return;
    }
    int parent = open_node(t, n);
    int fd = parent < 0 ? -1 : openat(parent, name, FOLDER_OPEN | O_NOFOLLOW);
    if (parent >= 0)
        (void)close(parent);
    struct node *child = fd < 0 || is_kernels(fd) ? NULL : watch_folder(t, fd, n, name);
    if (child)
        scan_folder(t, child, fd, true, depth_of(child));
    else if (fd >= 0)
        (void)close(fd);
}

/* --- the root --- */

/* Watches the nearest folder above the root that there is. */
static void watch_ancestor(struct tree *t)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof(path), "%s", t->plan->path);
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        slash[slash == path] = '\0';
        t->ancestor_wd = inotify_add_watch(
            t->inotify, path, IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | FOLDER_ONLY);
        if (t->ancestor_wd >= 0 || strcmp(path, "/") == 0)
            return;
    }
}

static void drop_all(struct tree *t)
{
    for (unsigned i = 0; i < HELD_MAX; i++) {
        free(t->held[i].path);
        t->held[i] = (struct held){ 0 };
    }
    if (t->top)
        drop_node(t, t->top);
    if (t->ancestor_wd >= 0)
        (void)inotify_rm_watch(t->inotify, t->ancestor_wd);
    t->ancestor_wd = -1;
    t->has_limit = false;
}

/* Watches the root itself, and gives its descriptor. -errno: it cannot be watched. */
static int watch_root(struct tree *t)
{
    struct stat st;
    int fd = open(t->plan->path, FOLDER_OPEN);

    set_root_path(t);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno; /* fstat() of an open folder does not fail */
    t->root_dev = st.st_dev;
    t->root_ino = st.st_ino;
    errno = ENOSPC; /* unless the kernel says otherwise */
    t->top = watch_folder(t, fd, NULL, "");
    if (t->top)
        return fd;
    int r = -errno;
    (void)close(fd);
    return r;
}

/* Makes all watches. 0, or -errno: the root is not there, and its nearest ancestor is watched. */
static int scan_all(struct tree *t)
{
    drop_all(t);
    t->needs_scan = false;
    int fd = watch_root(t);
    if (fd < 0) {
        watch_ancestor(t);
        fd = watch_root(t); /* it may have come back before the watch */
    }
    t->scan_ms = now_ms() + (fd < 0 ? WINDOW_MS : RESCAN_MS);
    if (fd < 0) {
        if (t->has_root)
            tell(t, PROTO_CHANGE_GONE, true);
        t->has_root = false;
        return fd;
    }
    if (t->ancestor_wd >= 0)
        (void)inotify_rm_watch(t->inotify, t->ancestor_wd);
    t->ancestor_wd = -1;
    scan_folder(t, t->top, fd, false, 0);
    return 0;
}

static void scan_again(struct tree *t)
{
    if (scan_all(t) < 0)
        return;
    set_root_path(t);
    if (t->has_root)
        agent_watch_queue_lose(&t->queue);
    else
        tell(t, PROTO_CHANGE_BACK, true);
    t->has_root = true;
}

/* --- events --- */

static void drop_held(struct held *h)
{
    free(h->path);
    *h = (struct held){ 0 };
}

/* The second half did not come: the entry has left what is watched. */
static void end_held(struct tree *t, struct held *h)
{
    if (!h->cookie)
        return;
    if (h->node)
        drop_node(t, h->node);
    agent_watch_queue_add(&t->queue, PROTO_CHANGE_DELETED, h->is_folder, h->path, "");
    drop_held(h);
}

static void hold(struct tree *t, struct node *n, const struct inotify_event *ev)
{
    struct held *h = NULL;

    for (unsigned i = 0; i < HELD_MAX && !h; i++)
        h = t->held[i].cookie == 0 ? &t->held[i] : NULL;
    h = h ? h : &t->held[0];
    end_held(t, h); /* if all are taken */
    *h = (struct held){ .cookie = ev->cookie, .is_folder = ev->mask & IN_ISDIR, .path = strdup(t->path) };
    if (!h->path) {
        *h = (struct held){ 0 };
        agent_watch_queue_lose(&t->queue);
        t->needs_scan = true;
    } else if (h->is_folder) {
        h->node = find_child(n, ev->name);
    }
}

static void moved_to(struct tree *t, struct node *n, const struct inotify_event *ev)
{
    bool is_folder = ev->mask & IN_ISDIR;
    struct held *h = NULL;

    for (unsigned i = 0; i < HELD_MAX && !h; i++)
        h = t->held[i].cookie == ev->cookie ? &t->held[i] : NULL;
    if (!h) {
        tell(t, PROTO_CHANGE_CREATED, is_folder);
        if (is_folder)
            scan_new(t, n, ev->name);
        return;
    }
    agent_watch_queue_add(&t->queue, PROTO_CHANGE_MOVED, is_folder, t->path, h->path);
    struct node *node = h->node;
    drop_held(h);
    if (node)
        (void)move_node(t, node, n, ev->name);
    else if (is_folder)
        scan_new(t, n, ev->name);
}

/* Something happened to an entry of a watched folder. */
static void on_entry(struct tree *t, struct node *n, const struct inotify_event *ev)
{
    bool is_folder = ev->mask & IN_ISDIR;

    if (!set_path(t, n, ev->name) || is_excluded(t))
        return;
    if (ev->mask & IN_CREATE) {
        tell(t, PROTO_CHANGE_CREATED, is_folder);
        if (is_folder)
            scan_new(t, n, ev->name);
    } else if (ev->mask & IN_MOVED_FROM) {
        hold(t, n, ev);
    } else if (ev->mask & IN_MOVED_TO) {
        moved_to(t, n, ev);
    } else if (ev->mask & IN_DELETE) {
        tell(t, PROTO_CHANGE_DELETED, is_folder);
    } else if (ev->mask & (IN_MODIFY | IN_CLOSE_WRITE)) {
        tell(t, PROTO_CHANGE_MODIFIED, is_folder);
    } else if (ev->mask & IN_ATTRIB) {
        tell(t, PROTO_CHANGE_ATTRIBUTES, is_folder);
    }
}

/* Whether n was below a folder whose rename has no second half: it has left with it, and is freed. Both halves come one
 * right after the other; where they do not, the second is a folder that appears. */
static bool has_left(struct tree *t, const struct node *n)
{
    for (unsigned i = 0; i < HELD_MAX; i++)
        for (const struct node *p = t->held[i].node ? n : NULL; p; p = p->parent)
            if (p == t->held[i].node) {
                end_held(t, &t->held[i]);
                return true;
            }
    return false;
}

static void check_root(struct tree *t)
{
    int fd = open_root(t);

    if (fd >= 0)
        (void)close(fd);
    if (fd == -ENOENT || fd == -ENOTDIR || fd == -ESTALE) {
        t->needs_scan = true;
        t->scan_ms = 0;
    }
}

static void end_all_held(struct tree *t)
{
    for (unsigned i = 0; i < HELD_MAX; i++)
        end_held(t, &t->held[i]);
}

static void on_event(struct tree *t, const struct inotify_event *ev)
{
    if (!(ev->mask & (IN_MOVED_FROM | IN_MOVED_TO))) /* in their order: those of several renames may be mixed */
        end_all_held(t);
    struct node *n = ev->wd < 0 ? NULL : *bucket_of(t, ev->wd);

    if (ev->mask & IN_Q_OVERFLOW) {
        t->needs_scan = true;
    } else if (!n) {
        t->needs_scan |= ev->wd == t->ancestor_wd; /* else: of a watch that we removed */
    } else if (ev->mask & IN_UNMOUNT || (n == t->top && ev->mask & OWN_EVENTS)) {
        t->needs_scan = true;
        t->scan_ms = n == t->top ? 0 : t->scan_ms; /* that the root is gone is told at once */
    } else if (ev->mask & IN_IGNORED) {
        t->needs_scan |= n == t->top;
        drop_node(t, n);
    } else if (ev->len > 0) {
        if (!has_left(t, n))
            on_entry(t, n, ev);
    } else if (n == t->top && ev->mask & IN_ATTRIB) { /* also when it is removed while a process uses it */
        check_root(t);
    }
}

/* False: the kernel has no more events now. */
static bool read_events(struct tree *t)
{
    _Alignas(struct inotify_event) char data[16384];
    ssize_t n = read(t->inotify, data, sizeof(data));

    for (const char *at = data; n > 0 && at < data + n;) {
        const struct inotify_event *ev = (const struct inotify_event *)at;
        on_event(t, ev);
        at += sizeof(*ev) + ev->len;
    }
    return n > 0;
}

/* --- reports --- */

/* Negative: the agent has closed the connection. */
static int report(struct tree *t)
{
    static uint8_t mem[AGENT_WATCH_TREE_BATCH];
    static size_t len; /* of a message that was still to be sent */
    size_t n = 0, most = LIMIT_MAX(WATCH_RATE) / 10;

    end_all_held(t);
    t->is_blocked = false;
    while (len > 0 || (n < most && !agent_watch_queue_is_empty(&t->queue))) {
        struct proto_writer w;
        if (len == 0) {
            proto_writer_init(&w, mem, sizeof(mem));
            n += agent_watch_queue_take(&t->queue, &w, most - n);
            len = w.len;
            if (len == 0)
                break; /* only void ones were left */
        }
        ssize_t sent = send(t->out, mem, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        t->is_blocked = sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOBUFS);
        if (sent < 0 && !t->is_blocked)
            return -EPIPE;
        if (t->is_blocked)
            break;
        len = 0;
    }
    int64_t pause = (int64_t)n * 1000 / LIMIT_MAX(WATCH_RATE);
    t->report_ms = now_ms() + (pause > WINDOW_MS ? pause : WINDOW_MS);
    return 0;
}

/* How long to wait for events; -1: forever. Sets report_ms for changes that have just come. */
static int wait_ms(struct tree *t)
{
    int64_t now = now_ms(), due = -1;
    bool has_some = !agent_watch_queue_is_empty(&t->queue);

    for (unsigned i = 0; i < HELD_MAX && !has_some; i++)
        has_some = t->held[i].cookie != 0;
    if (!has_some && t->report_ms <= now)
        t->report_ms = 0;
    if (has_some && !t->is_blocked) {
        t->report_ms = t->report_ms ? t->report_ms : now + WINDOW_MS;
        due = t->report_ms > now ? t->report_ms - now : 0;
    }
    if (t->needs_scan) {
        int64_t scan = t->scan_ms > now ? t->scan_ms - now : 0;
        due = due < 0 || scan < due ? scan : due;
    }
    return (int)due;
}

static int turn(struct tree *t)
{
    struct pollfd fds[3] = {
        { .fd = t->inotify, .events = POLLIN },
        { .fd = t->out, .events = t->is_blocked ? POLLOUT : 0 },
        { .fd = t->mounts, .events = POLLPRI }, /* the table of mounts has changed */
    };

    if (poll(fds, 3, wait_ms(t)) < 0 && errno != EINTR)
        return -errno;
    if (fds[1].revents & (POLLHUP | POLLERR))
        return -EPIPE;
    t->needs_scan |= fds[2].revents != 0;
    for (int i = 0; i < 16 && read_events(t); i++) /* then reports, however many there are */
        ;
    if (t->needs_scan && now_ms() >= t->scan_ms)
        scan_again(t);
    if (fds[1].revents & POLLOUT || (t->report_ms && now_ms() >= t->report_ms && !t->is_blocked))
        return report(t);
    return 0;
}

int agent_watch_tree_run(const struct agent_watch_tree_plan *plan, int root_fd, int out_fd)
{
    static struct tree t; /* zeros */

    t.plan = plan;
    t.out = out_fd;
    t.ancestor_wd = -1;
    (void)close(root_fd); /* it has shown that the folder can be read */
    t.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (t.inotify < 0)
        return errno;
    if (agent_watch_queue_init(&t.queue, plan->path) < 0)
        return ENOMEM;
    t.mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC); /* without it, mounts are not noticed */
    int r = scan_all(&t);
    if (r < 0)
        return -r;
    set_root_path(&t);
    tell(&t, PROTO_CHANGE_READY, true);
    t.has_root = true;
    t.report_ms = 1; /* at once */
    while (turn(&t) == 0)
        ;
    return 0;
}
