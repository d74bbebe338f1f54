#include "runtime/native/task.h"

#include <errno.h>
#include <linux/ioprio.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/proc.h"
#include "os/tree.h"
#include "runtime/native/disk.h"
#include "runtime/native/disk_usage.h"
#include "runtime/native/promote.h"
#include "runtime/native/volume_mount.h"

#define DOOMED_MAX (16u << 20)
#define HURRY_MIN \
    (256u * 17) /* bytes of names: above this backlog disk space matters more than the latency of others */

struct task {
    struct task *next;
    pid_t pid; /* not reaped yet, so the pid is valid */
    int pidfd;
    bool is_answered; /* somebody waits for its result */
    pid_t *pids;      /* WIRE_MEASURE: the box's processes */
    size_t n_pids;
    struct native_box *box;            /* of a request; for the child only */
    const struct wire_request *ask;    /* native_task_request(); for the child only */
    struct native_task_result *result; /* shared with the child */
};

void native_task_init(struct native_task_list *l)
{
    *l = (struct native_task_list){ .doomed = BUF_INIT(DOOMED_MAX), .epoll = epoll_create1(EPOLL_CLOEXEC) };
}

int native_task_fd(const struct native_task_list *l)
{
    return l->epoll;
}

void native_task_remove(struct native_task_list *l, const char *name)
{
    (void)buf_add(&l->doomed, name, strlen(name) + 1); /* full: the next sweep finds the folder */
}

/* Files of a box may belong to any id of its range. Root can access them as it is; an unprivileged user must be root
 * of a user namespace with the same range. Runs in the task's child; returns in a grandchild, whose exit status
 * becomes the child's. */
static void enter_range(const struct native_box_site *site)
{
    int pair[2], pidfd = NO_FD;
    char go;
    if (site->is_root || site->own.how != IDRANGE_SUBID)
        return;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        _exit(1);
    pid_t pid = proc_clone(CLONE_NEWUSER, NO_FD, &pidfd);
    if (pid < 0)
        _exit(1);
    if (pid == 0) {
        (void)close(pair[0]); /* so that a dead parent is an end of file */
        if (recv(pair[1], &go, 1, 0) != 1 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
            _exit(1);
        return;
    }
    int status = 1;
    if (idrange_map(&site->own, pid, NULL) < 0 || send(pair[0], "g", 1, MSG_NOSIGNAL) != 1)
        (void)proc_signal(pidfd, SIGKILL); /* reaped below */
    (void)waitpid(pid, &status, 0);        /* a lost child counts as failed */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void copy_one(const struct native_box_site *site, struct native_task_result *res)
{
    char from[64];
    CLEANUP(close_fd_p) int disk = res->has_disk ? native_disk_open(site, res->name, &res->err) : NO_FD;
    if (res->has_disk && disk < 0) {
        res->result = disk;
        return;
    }
    snprintf(from, sizeof(from), "%s%s%s", res->has_disk ? "" : res->name, res->has_disk ? "" : "/", res->upper);
    res->result = tree_copy(res->has_disk ? disk : site->boxes_fd, from, site->boxes_fd, strchr(res->folder, '/') + 1,
                            &res->bytes, &res->err);
    if (res->result < 0)
        (void)tree_remove(site->boxes_fd, strchr(res->folder, '/') + 1,
                          NULL); /* an incomplete copy; a sweep tries again */
}

/* The box's own user namespace is joined by those that mount, so they do not enter the range. */
static void visit_volume(struct native_box_site *site, const struct task *c)
{
    struct native_task_result *res = c->result;
    res->err = (struct err)ERR_INIT;
    if (res->op == WIRE_VOLUME_MEASURE) {
        enter_range(site);
        res->bytes = native_volume_mount_bytes(site, c->ask->object);
        res->result = 0;
    } else if (res->op == WIRE_MOUNT) {
        res->result = native_volume_mount_attach(c->box, c->ask, &res->err);
    } else {
        res->result = native_volume_mount_detach(c->box, c->ask, &res->err);
    }
}

static void change_limits(struct native_box_site *site, const struct task *c)
{
    struct native_task_result *res = c->result;
    const struct cgroup_limits limits = { c->ask->memory_mb, c->ask->cpu_milli, c->ask->pids_max };
    res->err = (struct err)ERR_INIT;
    if (res->op == WIRE_GROW)
        res->result = native_disk_grow(site, c->ask, &res->err);
    else if ((res->result = cgroup_host_reopen(&site->cgroups, &res->err)) == 0 && c->box->has_cgroup)
        res->result = cgroup_limits_set(&c->box->cgroup, &limits, &res->err);
}

/* The child's part; never returns. */
__attribute__((noreturn)) static void work(const struct native_task_list *l, struct native_box_site *site,
                                           const struct task *c)
{
    /* Copies of the launcher's sockets would hide its death from the daemon and from the prepared boxes. */
    int pidfd = c->box ? dup3(c->box->pidfd, 4, O_CLOEXEC) : NO_FD;
    if (dup3(site->boxes_fd, 3, O_CLOEXEC) < 0 || proc_close_from(pidfd < 0 ? 4 : 5) < 0)
        _exit(1);
    site->boxes_fd = 3;
    if (c->ask) {
        if (c->box)
            c->box->pidfd = pidfd;
        if (c->result->op == WIRE_LIMITS || c->result->op == WIRE_GROW)
            change_limits(site, c);
        else
            visit_volume(site, c);
        _exit(0);
    }
    enter_range(site);
    if (c->is_answered && c->result->op == WIRE_MEASURE) {
        c->result->bytes = native_disk_usage_count(site->boxes_fd, c->result->name, c->pids, c->n_pids);
        c->result->result = 0;
        _exit(0);
    }
    if (c->is_answered) {
        copy_one(site, c->result);
        _exit(0);
    }
    if (!l->is_ending && l->doomed.len < HURRY_MIN) { /* both are best effort */
        (void)setpriority(PRIO_PROCESS, 0, 19);
        (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
    }
    int failed = 0;
    for (size_t at = 0; at < l->doomed.len; at += strlen(l->doomed.data + at) + 1)
        failed |= tree_remove(site->boxes_fd, l->doomed.data + at, NULL) < 0;
    _exit(failed);
}

static int native_task_start(struct native_task_list *l, struct native_box_site *site, struct task *c, struct err *err)
{
    pid_t pid = proc_clone(0, NO_FD, &c->pidfd);
    if (pid == 0)
        work(l, site, c);
    if (pid < 0)
        return err_sys(err, pid, "start a worker");
    c->pid = pid;
    struct epoll_event ev = { .events = EPOLLIN };
    (void)epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->pidfd, &ev); /* on failure it is noticed a turn later */
    c->next = l->running;
    l->running = c;
    return 0;
}

static struct task *native_task_free(struct task *c)
{
    if (c->pidfd >= 0)
        (void)close(c->pidfd);                   /* also leaves the epoll set */
    (void)munmap(c->result, sizeof(*c->result)); /* our own mapping */
    free(c->pids);
    free(c);
    return NULL;
}

static struct task *native_task_new(bool is_answered)
{
    struct task *c = xzalloc(sizeof(*c));
    c->pidfd = NO_FD;
    c->is_answered = is_answered;
    c->result = mmap(NULL, sizeof(*c->result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->result == MAP_FAILED) {
        free(c);
        return NULL;
    }
    return c;
}

int native_task_copy(struct native_task_list *l, struct native_box_site *site, const struct native_box *box,
                     uint64_t number, struct err *err)
{
    char upper[32];
    int r = promote_upper(box, upper, err);
    if (r < 0)
        return r;
    struct task *c = native_task_new(true);
    if (!c)
        return err_sys(err, -ENOMEM, "start a worker");
    struct native_task_result *res = c->result;
    snprintf(res->name, sizeof(res->name), "%s", box->name);
    snprintf(res->upper, sizeof(res->upper), "%s", upper);
    res->has_disk = box->has_disk;
    res->op = WIRE_CAPTURE;
    res->number = number;
    res->result = err_set(&res->err, ERR_CAPACITY, 0, "the copy of box %s was interrupted: try again", box->name);
    snprintf(res->folder, sizeof(res->folder), "boxes/tmp-%d-%u", (int)getpid(), l->counter++);
    r = native_task_start(l, site, c, err);
    if (r < 0)
        native_task_free(c);
    return r;
}

int native_task_count(struct native_task_list *l, struct native_box_site *site, const struct native_box *box,
                      uint64_t number, struct err *err)
{
    struct task *c = native_task_new(true);
    if (!c)
        return err_sys(err, -ENOMEM, "start a worker");
    struct native_task_result *res = c->result;
    snprintf(res->name, sizeof(res->name), "%s", box->name);
    res->op = WIRE_MEASURE;
    res->number = number;
    res->result = err_set(&res->err, ERR_CAPACITY, 0, "measuring box %s was interrupted: try again", box->name);
    c->pids = xzalloc(NATIVE_DISK_USAGE_PIDS_MAX * sizeof(*c->pids));
    c->n_pids = box->has_cgroup ? cgroup_pids(&box->cgroup, c->pids, NATIVE_DISK_USAGE_PIDS_MAX) : 0;
    int r = native_task_start(l, site, c, err);
    if (r < 0)
        native_task_free(c);
    return r;
}

int native_task_request(struct native_task_list *l, struct native_box_site *site, struct native_box *box,
                        const struct wire_request *q, struct err *err)
{
    struct task *c = native_task_new(true);
    if (!c)
        return err_sys(err, -ENOMEM, "start a worker");
    struct native_task_result *res = c->result;
    snprintf(res->name, sizeof(res->name), "%s", q->name);
    res->op = q->op;
    res->number = q->number;
    res->result = err_set(&res->err, ERR_CAPACITY, 0, "work on %s %s was interrupted: try again",
                          q->object[0] ? "volume" : "box", q->object[0] ? q->object : q->name);
    c->box = box;
    c->ask = q;
    int r = native_task_start(l, site, c, err);
    if (r < 0)
        native_task_free(c);
    return r;
}

static void start_remover(struct native_task_list *l, struct native_box_site *site)
{
    if (l->is_removing || l->doomed.len == 0)
        return;
    struct task *c = native_task_new(false);
    if (!c)
        return;
    if (native_task_start(l, site, c, NULL) < 0) {
        native_task_free(c);
        return;
    }
    l->is_removing = true;
    buf_clear(&l->doomed); /* the child has its own copy */
}

void native_task_step(struct native_task_list *l, struct native_box_site *site, native_task_copied_fn *fn, void *arg)
{
    for (struct task **at = &l->running; *at;) {
        struct task *c = *at;
        siginfo_t info = { 0 };
        if (waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (c->is_answered)
            fn(arg, c->result);
        else
            l->is_removing = false;
        native_task_free(c);
    }
    start_remover(l, site);
}

void native_task_finish(struct native_task_list *l, struct native_box_site *site)
{
    l->is_ending = true;
    for (const struct task *c = l->running; c;
         c = c->next) { /* somebody waits now. Only root may raise the priority: for others it takes longer */
        (void)setpriority(PRIO_PROCESS, (id_t)c->pid, 0);
        (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, c->pid, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 0));
    }
    start_remover(l, site);
    while (l->running) {
        struct task *c = l->running;
        siginfo_t info = { 0 };
        (void)waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED); /* our child: it has exited */
        l->running = c->next;
        l->is_removing &= c->is_answered;
        native_task_free(c);
        start_remover(l, site);
    }
    buf_done(&l->doomed);
    if (l->epoll >= 0)
        (void)close(l->epoll); /* nothing is left in it */
}
