/* Theory of operation. The launcher starts the agent in new namespaces long before a sandbox is created (a prepared
 * box), so that a create only adds the image. The order is forced:
 *
 * Prepared: proc, devpts and shared memory are mounted detached, because they depend on the namespaces only and the
 * kernel refuses proc once the host's own is out of sight. Loopback comes up. The bounding set is dropped, which does
 * not bind us yet.
 *
 * With a plan: the root is attached and pivoted to, the host's mounts are detached, then everything else is attached by
 * descriptor. Names in the image are resolved only beneath its root and without links.
 *
 * At the end: capabilities, then no_new_privs and the filter, which forbids the calls used above. Any failure is
 * reported to the launcher and ends the process; an end of file before the plan ends it silently. */
#include "agent/stage.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "agent/box_caps.h"
#include "agent/box_root.h"
#include "agent/listening.h"
#include "os/mount.h"
#include "os/overlay_compat.h"
#include "os/seqsock.h"
#include "os/stage_plan.h"

#define OLD_LAYERS_MAX 256
#define INOTIFY_SHARE  "32" /* of 128, which is what most hosts give a user */

struct stage {
    int control;
    struct box_root box;    /* sys is used only with is_self_mounted */
    int fds[STAGE_FDS_MAX]; /* in the order of the plan */
    size_t n_fds;
    int watch[STAGE_REPORT_FDS]; /* for the launcher: listener of the filter, write end of the pipe; -EBADF: none */
    int denied;                  /* read end of the pipe */
    int sockets;                 /* agent_listening_socket() */
    const struct stage_plan *plan;
    const char *paths; /* plan->extra_len bytes */
};

static bool is_text(const char *s, size_t size)
{
    return memchr(s, '\0', size) != NULL;
}

/* Waits for the plan. An end of file means that this prepared box is not needed. */
static int receive_plan(struct stage *s)
{
    static union {
        struct stage_plan plan;
        char bytes[sizeof(struct stage_plan) + STAGE_EXTRA_MAX];
    } msg;
    const struct stage_plan *p = &msg.plan;
    ssize_t n = seqsock_recv(s->control, &msg, sizeof(msg), s->fds, STAGE_FDS_MAX, &s->n_fds);
    if (n == 0)
        _exit(0);
    if (n < (ssize_t)sizeof(*p) || p->version != STAGE_PLAN_VERSION || (size_t)n != sizeof(*p) + p->extra_len)
        return box_root_fail(&s->box, n < 0 ? (int)n : -EBADMSG, "plan of the wrong size or version");
    size_t want = p->is_self_mounted ? STAGE_FD_ROOT : p->has_usr ? STAGE_FDS_MAX : STAGE_FD_USR;
    if (s->n_fds != want)
        return box_root_fail(&s->box, -EBADMSG, "plan with %zu descriptors, not %zu", s->n_fds, want);
    if (!is_text(p->hostname, sizeof(p->hostname)) || !is_text(p->workdir, sizeof(p->workdir)) || p->workdir[0] != '/')
        return box_root_fail(&s->box, -EBADMSG, "plan with a bad hostname or working folder");
    if (p->extra_len && msg.bytes[n - 1] != '\0')
        return box_root_fail(&s->box, -EBADMSG, "plan with an open end");
    s->plan = p;
    s->paths = msg.bytes + sizeof(*p);
    return 0;
}

/* For kernels before 6.8, which take all layers in one option. No descriptor of the host stays open. */
static int old_own_overlay(const char *box, const char *end)
{
    struct overlay_compat o = { 0 };
    int fds[OLD_LAYERS_MAX], n = 0, r = 0;
    for (const char *dir = box; r >= 0 && dir < end; dir += strlen(dir) + 1) {
        fds[n] = n < OLD_LAYERS_MAX - 1 ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (fds[n] < 0)
            r = n < OLD_LAYERS_MAX - 1 ? -errno : -E2BIG;
        else if (n++ > 0) /* the first one is the box */
            overlay_compat_lower(&o, fds[n - 1]);
    }
    if (r >= 0 && n > 0) {
        overlay_compat_upper(&o, fds[0], "upper", "work");
        r = overlay_compat_mount(&o, box, "userxattr,volatile");
    }
    while (n > 0)
        close(fds[--n]);
    return r;
}

/* Without privilege outside, the overlay is made in our own user namespace: with user.* attributes instead of
 * trusted.*. A rename of a folder of the image returns EXDEV, which mv(1) and libraries handle. */
static int own_overlay(struct stage *s, int *ret)
{
    const char *box = s->paths, *end = s->paths + s->plan->extra_len;
    char path[4200];
    int fs = box == end ? -EBADMSG : mount_fs_open("overlay");
    int r = fs < 0 ? fs : mount_fs_flag(fs, "userxattr");
    for (const char *layer = box + strlen(box) + 1; r >= 0 && layer < end; layer += strlen(layer) + 1)
        r = mount_fs_string(fs, "lowerdir+", layer);
    snprintf(path, sizeof(path), "%s/upper", box);
    if (r >= 0)
        r = mount_fs_string(fs, "upperdir", path);
    snprintf(path, sizeof(path), "%s/work", box);
    if (r >= 0)
        r = mount_fs_string(fs, "workdir", path);
    if (r >= 0)
        r = mount_fs_flag(fs, "volatile");
    if (r >= 0)
        r = mount_fs_make(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (fs >= 0)
        close(fs);
    if (r == -EINVAL)
        r = old_own_overlay(box, end);
    if (r < 0)
        return box_root_fail(&s->box, r,
                             "mount an overlay without root (needs Linux 5.11 or newer; otherwise run as root)");
    *ret = r;
    return 0;
}

static int enter_root(struct stage *s, int root)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = here < 0 ? -errno : mount_attach(root, here);
    if (here >= 0)
        close(here);
    if (r < 0)
        return box_root_fail(&s->box, r, "attach the root");
    if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return box_root_fail(&s->box, -errno, "pivot to the new root");
    /* The old root is now mounted on top of the new one: detaching it puts the host's files out of reach
     * permanently. */
    if (umount2(".", MNT_DETACH) < 0)
        return box_root_fail(&s->box, -errno, "detach the host's root");
    if (chdir("/") < 0)
        return box_root_fail(&s->box, -errno, "go to the new root");
    return 0;
}

/* All boxes of a server without root share the inotify instances of its user: each user of a box gets a part. */
static void share_inotify(const struct stage *s)
{
    int fd = openat(s->box.proc, "sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;                                             /* a kernel without inotify */
    (void)!write(fd, INOTIFY_SHARE, strlen(INOTIFY_SHARE)); /* a kernel that does not count by namespace */
    close(fd);
}

static int stage_confine(struct stage *s)
{
    struct rlimit files;
    if (sethostname(s->plan->hostname, strlen(s->plan->hostname)) < 0)
        return box_root_fail(&s->box, -errno, "set the hostname");
    if (getrlimit(RLIMIT_NOFILE, &files) < 0)
        return box_root_fail(&s->box, -errno, "read resource limits");
    if (files.rlim_max > s->plan->nofile) /* a lower limit cannot be raised here */
        files.rlim_max = s->plan->nofile;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        return box_root_fail(&s->box, -errno, "set resource limits");
    struct rlimit processes = { s->plan->nproc, s->plan->nproc };
    if (s->plan->nproc && setrlimit(RLIMIT_NPROC, &processes) < 0)
        return box_root_fail(&s->box, -errno, "limit the number of processes");
    if (s->plan->is_self_mounted)
        share_inotify(s);
    return box_root_quiet(&s->box);
}

/* What root would have sent as descriptors is made here from paths, before the host's tree is detached. */
static int own_mounts(struct stage *s, int *ret_root, int nodes[BOX_ROOT_NODES], int *ret_usr)
{
    int r = own_overlay(s, ret_root);
    if (r >= 0)
        r = box_root_nodes(&s->box, nodes);
    if (r >= 0)
        r = box_root_sys(&s->box);
    if (r < 0 || !s->plan->has_usr)
        return r;
    int usr = (int)syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (usr < 0 || (r = mount_set(usr, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1)) < 0)
        return box_root_fail(&s->box, usr < 0 ? -errno : r, "clone the host's /usr");
    *ret_usr = usr;
    return 0;
}

/* At last: from here on denied calls wait for whom the launcher gives the listener to. */
static int stage_filter(struct stage *s)
{
    int ends[2], filter = s->fds[STAGE_FD_FILTER];
    if (!s->plan->is_watched)
        return box_caps_filter(&s->box, filter, NULL);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return box_root_fail(&s->box, -errno, "make the pipe for denied calls");
    s->denied = ends[0];
    s->watch[1] = ends[1];
    return box_caps_filter(&s->box, filter, &s->watch[0]);
}

static int stage_build(struct stage *s)
{
    int nodes[BOX_ROOT_NODES], root = s->fds[STAGE_FD_ROOT], usr = s->fds[STAGE_FD_USR];
    memset(nodes, 0xff, sizeof(nodes));
    int r = s->plan->is_self_mounted ? own_mounts(s, &root, nodes, &usr) : 0;
    if (r >= 0)
        r = box_root_shm(&s->box, s->plan->shm_mb);
    if (r >= 0)
        r = enter_root(s, root);
    if (r >= 0)
        r = box_root_attach(&s->box, root, "proc", s->box.proc);
    if (r >= 0)
        r = s->plan->is_self_mounted ? box_root_dev(&s->box, root, nodes)
                                     : box_root_attach(&s->box, root, "dev", s->fds[STAGE_FD_DEV]);
    if (r >= 0)
        r = box_root_attach(&s->box, root, "sys", s->plan->is_self_mounted ? s->box.sys : s->fds[STAGE_FD_SYS]);
    if (r >= 0)
        r = box_root_attach(&s->box, root, "dev/pts", s->box.pts);
    if (r >= 0)
        r = box_root_attach(&s->box, root, "dev/shm", s->box.shm);
    if (r >= 0 && s->plan->has_usr)
        r = box_root_attach(&s->box, root, "usr", usr);
    if (r >= 0) {
        int made = box_root_workdir(&s->box, root, s->plan->workdir);
        r = s->plan->is_kept ? 0 : made;
    }
    if (r >= 0)
        r = stage_confine(s);
    if (r >= 0)
        r = box_caps_drop(&s->box);
    if (r >= 0)
        r = stage_filter(s);
    seqsock_close_all(nodes, BOX_ROOT_NODES);
    if (s->plan->is_self_mounted) {
        int own[] = { root, usr };
        seqsock_close_all(own, 2);
    }
    return r;
}

int stage_run(int control_fd, int ptys, struct stage_result *ret)
{
    struct stage s = {
        .control = control_fd, .box = BOX_ROOT_INIT, .watch = { -EBADF, -EBADF }, .denied = -EBADF, .sockets = -EBADF
    };
    memset(s.fds, 0xff, sizeof(s.fds));
    int r = box_root_prepare(&s.box, ptys);
    if (r >= 0)
        r = box_caps_bound(&s.box);
    s.sockets = agent_listening_socket(); /* the filter will allow no such socket */
    if (r >= 0)
        r = receive_plan(&s);
    if (r >= 0)
        r = stage_build(&s);
    box_root_done(&s.box);
    /* Before the report: the launcher may swap the root then, and a descriptor of the old one would block that. */
    for (size_t i = 0; i < s.n_fds; i++)
        if (r < 0 || (i != STAGE_FD_CONN && i != STAGE_FD_LISTEN))
            (void)close(s.fds[i]);
    struct stage_report report = { .version = STAGE_PLAN_VERSION, .result = r };
    snprintf(report.text, sizeof(report.text), "%s", r < 0 ? s.box.why : "");
    struct iovec parts[2] = { { &report, sizeof(report) }, { NULL, 0 } };
    bool is_watched = r >= 0 && s.watch[0] >= 0;
    /* a launcher that is gone needs no report */
    (void)seqsock_send(control_fd, parts, s.watch, is_watched ? STAGE_REPORT_FDS : 0);
    seqsock_close_all(s.watch, STAGE_REPORT_FDS);
    if (!is_watched && s.denied >= 0) {
        (void)close(s.denied);
        s.denied = -EBADF;
    }
    (void)close(control_fd);
    if (r < 0)
        return r;
    ret->conn_fd = s.fds[STAGE_FD_CONN];
    ret->listen_fd = s.fds[STAGE_FD_LISTEN];
    ret->denied_fd = s.denied;
    ret->sockets_fd = s.sockets;
    snprintf(ret->default_workdir, sizeof(ret->default_workdir), "%s", s.plan->workdir);
    return 0;
}
