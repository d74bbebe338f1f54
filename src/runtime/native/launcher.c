/* Theory of operation. The launcher is the small, single-threaded process that keeps the privilege. It runs one poll
 * loop over the daemon's socket, the boxes that are starting or dying, and its worker children (task.h: removal and
 * copies of folders). It owns every box as a struct native_box in a list; a request names one by its random name.
 * 1. A request never waits for a tear-down: a kill is answered at once, and the box is listed as dying until its
 *    process is reaped and its cgroup is removed.
 * 2. Prepared boxes are made when no request waits, or on demand when a create finds none.
 * 3. When the daemon closes its socket, the launcher kills its prepared and unfinished boxes and exits; running boxes
 *    continue, and the next launcher adopts them.
 * 4. A request that fails is answered with its error and leaves nothing behind. If the socket to the daemon fails, the
 *    launcher exits: the daemon starts another one and repeats the request. */
#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "os/filter.h"
#include "os/mount.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/stage_plan.h"
#include "os/tree.h"
#include "runtime/native/box.h"
#include "runtime/native/cpu_priority.h"
#include "runtime/native/disk.h"
#include "runtime/native/kept.h"
#include "runtime/native/native.h"
#include "runtime/native/net.h"
#include "runtime/native/promote.h"
#include "runtime/native/sweep.h"
#include "runtime/native/task.h"
#include "runtime/native/volume_mount.h"

#define CONTROL_FD          3
#define POOL_MAX            256
#define POLL_EXTRA          2
#define RETRY_MS            2  /* until a cgroup's last process is gone */
#define END_MS              20 /* until a process that lost its namespaces has exited */
#define STOP_US             20000000
#define PREPARED_BACKOFF_US 1000000
#define FREEZE_MS           5000
#define PREPARED_QUIET_US   4000
#define LOCK_S              50

extern const unsigned char guest_blob[];
size_t guest_blob_size(void);

/* A create over kept files that a dying box still uses. */
struct parked {
    struct parked *next;
    struct wire_request *request; /* with its extra bytes */
};

struct launcher {
    struct native_box_site site;
    struct native_box *box_list;
    struct parked *parked;
    struct native_task_list tasks;
    struct native_net *nets;
    struct cpu_priority cpu_priority;
    unsigned pool, prepareds;
    int64_t no_prepared_until_us;
    int64_t heard_us; /* when the last message arrived */
    struct buf kept;  /* NUL-terminated ids of a sweep, while they arrive */
    union {
        struct wire_request request;
        char bytes[sizeof(struct wire_request) + WIRE_EXTRA_MAX];
    } in;
};

static void reply_send(const struct wire_reply *p, const int *fds, size_t n_fds)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)p, sizeof(*p) }, { NULL, 0 } };
    int r = seqsock_send(CONTROL_FD, parts, fds, n_fds);
    if (r < 0 && r != -EPIPE && r != -ECONNRESET) /* the loop notices a daemon that is gone */
        _exit(1); /* a living daemon would wait forever: the next launcher gets the request again */
}

static void reply_error(uint32_t op, uint64_t number, int r, const struct err *err)
{
    struct wire_reply p = { .version = WIRE_VERSION, .op = op, .number = number, .result = r, .code = err->code };
    if (err->code == ERR_INTERNAL && err->sys == ENOSPC)
        p.code = ERR_NO_SPACE;
    else if (err->code == ERR_INTERNAL && (err->sys == ENOMEM || err->sys == EMFILE || err->sys == EAGAIN))
        p.code = ERR_CAPACITY; /* this host is full, not broken */
    snprintf(p.text, sizeof(p.text), "%s", err->msg);
    reply_send(&p, NULL, 0);
}

/* When a box is killed in the middle of an operation, its system calls fail in odd ways: report the kill instead.
 * Its first process loses its namespaces slightly before it has exited. */
static void reply_box_error(const struct native_box *c, const struct wire_request *q, int r, struct err *err)
{
    struct pollfd ended = { .fd = c->pidfd, .events = POLLIN };
    if (err->code == ERR_INTERNAL && poll(&ended, 1, END_MS) > 0)
        r = err_set(err, ERR_GONE, ESRCH, "box %s has ended", c->name);
    reply_error(q->op, q->number, r, err);
}

static void reply_done(uint32_t op, uint64_t number)
{
    struct wire_reply p = { .version = WIRE_VERSION, .op = op, .number = number };
    reply_send(&p, NULL, 0);
}

static struct native_box *box_find(struct launcher *l, const char *name)
{
    for (struct native_box *c = l->box_list; c; c = c->next)
        if (c->state != NATIVE_BOX_DYING && c->state != NATIVE_BOX_PREPARED && strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void box_add(struct launcher *l, struct native_box *c)
{
    c->next = l->box_list;
    l->box_list = c;
}

static void end_box(struct launcher *l, struct native_box *c)
{
    l->prepareds -= c->state == NATIVE_BOX_PREPARED;
    native_box_kill(c);
}

static void take_prepared(struct launcher *l, int r, struct native_box *c, const struct err *err)
{
    box_add(l, c);
    if (r >= 0) {
        c->state = NATIVE_BOX_PREPARED;
        l->prepareds++;
        return;
    }
    log_event(LOG_DEBUG, "launcher.blank_failed", "error", err->msg, NULL);
    native_box_kill(c);
    l->no_prepared_until_us = clock_mono_us() + PREPARED_BACKOFF_US;
}

/* --- requests --- */

static void send_box(const struct native_box *c, uint32_t op, uint64_t number, const char *leftover)
{
    struct wire_reply p = {
        .version = WIRE_VERSION, .op = op, .number = number, .pid = c->pid, .slot = c->slot, .start_time = c->start_time
    };
    memcpy(p.name, c->name, sizeof(p.name));
    if (c->has_cgroup)
        memcpy(p.cgroup, c->cgroup.name, sizeof(p.cgroup));
    snprintf(p.folder, sizeof(p.folder), "%s", leftover);
    char path[WIRE_NAME_MAX + 16];
    snprintf(path, sizeof(path), "%s/" NATIVE_DISK_IMAGE, c->name);
    CLEANUP(close_fd_p)
    int image = c->has_disk ? openat(c->site->boxes_fd, path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : NO_FD;
    int fds[WIRE_FDS_MAX] = { c->conn, c->pidfd, image };
    reply_send(&p, fds, image >= 0 ? 3 : 2);
}

static struct wire_request *request_copy(const struct wire_request *q)
{
    struct wire_request *copy = xzalloc(sizeof(*q) + q->extra_len);
    memcpy(copy, q, sizeof(*q) + q->extra_len);
    return copy;
}

/* --- kept files --- */

static struct native_box *box_dying(struct launcher *l, const char *name)
{
    struct native_box *c = l->box_list;
    while (c && (c->state != NATIVE_BOX_DYING || strcmp(c->name, name) != 0))
        c = c->next;
    return c;
}

/* Ends what an earlier launcher left running of a box whose files are kept. */
static struct native_box *end_orphan(struct launcher *l, const char *name)
{
    struct native_box *c = native_box_orphan(&l->site, name);
    c->is_kept = true;
    native_box_kill(c);
    box_add(l, c);
    return c;
}

/* The folder that a create is to use. 1: a box that used it is still ending, and the request waits for that. */
static int kept_choose(struct launcher *l, const struct wire_request *q, char name[WIRE_NAME_MAX], struct err *err)
{
    if (!kept_find(&l->site, q->id, q->name, name))
        return err_set(err, ERR_NOT_FOUND, ENOENT, "the files of sandbox %s are gone", q->id);
    if (box_find(l, name))
        return err_set(err, ERR_CONFLICT, EBUSY, "the files of sandbox %s are in use", q->id);
    if (!box_dying(l, name) && kept_has_process(&l->site, name))
        (void)end_orphan(l, name);
    if (!box_dying(l, name))
        return 0;
    struct parked *p = xzalloc(sizeof(*p));
    *p = (struct parked){ .next = l->parked, .request = request_copy(q) };
    l->parked = p;
    return 1;
}

/* The reply comes from box_collect(). */
static void request_halt(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    char name[WIRE_NAME_MAX];
    int r = 0;
    struct native_box *c = NULL;
    if (!kept_find(&l->site, q->id, q->name, name))
        r = err_set(&err, ERR_NOT_FOUND, ENOENT, "the files of sandbox %s are gone", q->id);
    else if ((c = box_dying(l, name)) && (!c->is_kept || c->is_halting))
        r = err_set(&err, ERR_CONFLICT, EBUSY, "box %s is already being ended", name);
    else
        r = kept_mark(&l->site, name, &err);
    if (r < 0) {
        reply_error(WIRE_HALT, q->number, r, &err);
        return;
    }
    if (!c && (c = box_find(l, name)))
        end_box(l, c);
    else if (!c)
        c = end_orphan(l, name);
    c->is_kept = c->is_halting = true;
    c->number = q->number;
}

static void request_create(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    struct native_box *c = NULL;
    char kept[WIRE_NAME_MAX];
    int r = q->is_kept ? kept_choose(l, q, kept, &err) : 0;
    if (r < 0)
        reply_error(WIRE_CREATE, q->number, r, &err);
    if (r != 0)
        return;
    for (struct native_box *at = l->box_list; at; at = at->next)
        if (at->state == NATIVE_BOX_PREPARED)
            c = at; /* the oldest: its agent has had the most time to start */
    if (!c) {
        r = native_box_new_prepared(&l->site, &c, &err);
        take_prepared(l, r, c, &err);
        if (r < 0) {
            reply_error(WIRE_CREATE, q->number, r, &err);
            return;
        }
    }
    if (q->is_host && c->usr < 0 &&
        l->site.is_root) { /* prepared boxes made before the first such create have none yet */
        r = native_box_root_usr(&l->site, c, &err);
        if (r < 0) {
            reply_error(WIRE_CREATE, q->number, r, &err);
            return;
        }
    }
    c->number = q->number;
    r = q->is_kept ? kept_take(&l->site, c, kept, &l->tasks, &err) : 0;
    bool has_disk = q->is_kept ? c->has_disk : q->disk_mb > 0;
    if (r >= 0 && !has_disk) {
        r = native_box_start(&l->site, c, q, &err);
    } else if (r >= 0 && (r = native_disk_check(&err)) >= 0 && (r = native_disk_start(&l->site, c, q, &err)) >= 0) {
        /* Making a disk takes milliseconds: the create waits for it, the launcher does not. */
        c->waiting = request_copy(q);
        c->state = NATIVE_BOX_FURNISHING;
    }
    if (r < 0) {
        end_box(l, c);
        reply_error(WIRE_CREATE, q->number, r, &err);
        return;
    }
    l->prepareds--;
}

/* The disk of a box is ready, or could not be made. */
static void on_furnished(struct launcher *l, struct native_box *c)
{
    struct err err = ERR_INIT;
    int disk = native_disk_take(c, &err);
    int r = disk < 0 ? disk : native_box_root_use_disk(c, c->waiting, disk, &err);
    if (r >= 0)
        r = native_box_start(&l->site, c, c->waiting, &err);
    free(STEAL(c->waiting));
    if (r < 0) {
        end_box(l, c);
        reply_error(WIRE_CREATE, c->number, r, &err);
    }
}

/* The stage has reported, or died without a report. */
static void on_stage(struct launcher *l, struct native_box *c)
{
    struct stage_report rep;
    struct err err = ERR_INIT;
    size_t n_fds = 0;
    int watch[STAGE_REPORT_FDS];
    ssize_t n = seqsock_recv(c->control, &rep, sizeof(rep), watch, STAGE_REPORT_FDS, &n_fds);
    if (n == -EAGAIN)
        return;
    int watched = n_fds == STAGE_REPORT_FDS ? call_watch_add(&l->site.calls, c->seccomp, watch[0], watch[1]) : 0;
    if (watched < 0)
        log_event(LOG_DEBUG, "launcher.watch_failed", "box", c->name, "error", strerror(-watched), NULL);
    seqsock_close_all(watch, n_fds);
    bool is_waited_for = c->state == NATIVE_BOX_STARTING;
    if (is_waited_for && n == (ssize_t)sizeof(rep) && rep.version == STAGE_PLAN_VERSION && rep.result == 0) {
        char leftover[PROMOTE_FOLDER] = "";
        c->state = NATIVE_BOX_RUNNING;
        if (c->is_kept) {
            (void)promote_leftover(c, leftover); /* none: empty */
            kept_unmark(&l->site, c->name);
            c->is_kept = false;
        }
        send_box(c, WIRE_CREATE, c->number, leftover);
        native_box_close_start(c);
        return;
    }
    if (n == (ssize_t)sizeof(rep) && rep.version == STAGE_PLAN_VERSION) {
        rep.text[sizeof(rep.text) - 1] = '\0';
        int r = rep.result < 0 && rep.result > -4096 ? rep.result : -EIO;
        err_sys(&err, r, "%s", rep.text);
    } else {
        err_set(&err, ERR_CAPACITY, 0,
                "the box exited while it was created: it was killed, or its memory limit is too small; try again");
    }
    end_box(l, c);
    if (is_waited_for)
        reply_error(WIRE_CREATE, c->number, -EIO, &err);
    else
        l->no_prepared_until_us = clock_mono_us() + PREPARED_BACKOFF_US;
}

static void box_unfreeze(struct native_box *c)
{
    if (c->has_cgroup && !c->is_paused)
        (void)cgroup_thaw(&c->cgroup); /* it was running before; a cgroup that is gone has nothing frozen */
}

static int box_freeze(struct native_box *c, struct err *err)
{
    if (!c->has_cgroup)
        return err_set(err, ERR_UNSUPPORTED, 0, "this host provides no cgroup to pause boxes with");
    int r = cgroup_freeze(&c->cgroup, FREEZE_MS);
    if (r == -ETIMEDOUT)
        return err_set(err, ERR_CAPACITY, ETIMEDOUT,
                       "box %s did not stop within %d ms, the host is too busy: try again", c->name, FREEZE_MS);
    return r < 0 ? err_sys(err, r, "pause box %s", c->name) : 0;
}

static void on_adopt(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    struct native_box *c = NULL;
    int r = box_find(l, q->name) ? err_set(&err, ERR_CONFLICT, 0, "box %s is already adopted", q->name)
                                 : native_box_adopt(&l->site, q, &c, &err);
    if (r < 0 || !c) {
        reply_error(WIRE_ADOPT, q->number, r, &err);
        return;
    }
    box_add(l, c);
    box_unfreeze(c);                             /* a launcher that died during a capture left it frozen */
    if (c->is_paused && box_freeze(c, &err) < 0) /* or thawed, when a server died during a resume */
        log_event(LOG_DEBUG, "launcher.freeze", "box", c->name, "error", err.msg, NULL);
    char leftover[PROMOTE_FOLDER] = "";
    (void)promote_leftover(c, leftover); /* none: empty */
    if (q->is_linked) {
        struct wire_reply p = { .version = WIRE_VERSION, .op = WIRE_ADOPT, .number = q->number };
        memcpy(p.folder, leftover, sizeof(p.folder));
        reply_send(&p, NULL, 0);
        return;
    }
    send_box(c, WIRE_ADOPT, q->number, leftover);
    native_box_close_start(c);
}

/* An unprivileged launcher must join the box's user namespace first, which cannot be undone: in a child. */
static bool rename_in_child(const struct native_box *c, const char *hostname)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        bool is_in = setns(c->pidfd, CLONE_NEWUSER | CLONE_NEWUTS) == 0;
        _exit(is_in && sethostname(hostname, strlen(hostname)) == 0 ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Root can enter and leave in place: this is on the path of a create from the warm pool. */
static bool rename_here(const struct native_box *c, const char *hostname)
{
    int own = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
    bool is_done = own >= 0 && setns(c->pidfd, CLONE_NEWUTS) == 0;
    if (is_done) {
        is_done = sethostname(hostname, strlen(hostname)) == 0;
        if (setns(own, CLONE_NEWUTS) < 0)
            abort(); /* never continue in a guest's namespace */
    }
    if (own >= 0)
        (void)close(own);
    return is_done;
}

/* A change of a running box that is done when this returns. */
static int request_change(struct launcher *l, struct native_box *c, const struct wire_request *q, struct err *err)
{
    int r = 0;
    if (q->op == WIRE_PAUSE) {
        r = box_freeze(c, err);
        c->is_paused = r >= 0;
    } else if (q->op == WIRE_RESUME) {
        r = c->has_cgroup ? cgroup_thaw(&c->cgroup) : 0;
        if (r < 0)
            return err_sys(err, r, "resume box %s", c->name);
        c->is_paused = false;
    } else if (q->op == WIRE_RENAME) {
        if (geteuid() == 0 ? !rename_here(c, q->hostname) : !rename_in_child(c, q->hostname))
            r = err_set(err, ERR_INTERNAL, 0, "box %s: cannot set the host name %s", c->name, q->hostname);
    } else if (q->op == WIRE_NET_JOIN) {
        r = native_net_join(l->nets, c, q, err);
    } else {
        r = native_net_leave(c, q, err);
    }
    return r;
}

static void on_capture(struct launcher *l, struct native_box *c, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    struct wire_reply p = { .version = WIRE_VERSION, .op = q->op, .number = q->number };
    /* The leftover of an earlier promote must be taken first: it is between the layers that the daemon knows and the
     * present files. */
    if (promote_leftover(c, p.folder)) {
        p.result = -EEXIST;
        p.code = ERR_CONFLICT;
        snprintf(p.text, sizeof(p.text), "%s of a former capture was not added to the image store", p.folder);
        reply_send(&p, NULL, 0);
        return;
    }
    int r = c->is_paused ? 0 : box_freeze(c, &err);
    if (r < 0) {
        reply_box_error(c, q, r, &err);
        return;
    }
    /* Files on the box's private disk cannot become a layer by a rename. */
    r = q->op == WIRE_PROMOTE && !c->has_disk ? promote_run(&l->site, c, q, p.folder, &err) : -EBUSY;
    if (r >= 0) {
        box_unfreeze(c);
        p.is_shared = 1;
        reply_send(&p, NULL, 0);
        return;
    }
    if (err.code)
        log_event(LOG_DEBUG, "launcher.copies", "box", c->name, "why", err.msg, NULL);
    r = native_task_copy(&l->tasks, &l->site, c, q->number, &err); /* on_task() thaws it */
    if (r < 0) {
        box_unfreeze(c);
        reply_box_error(c, q, r, &err);
    }
}

/* Removes the files of a halted box, once its processes are gone. */
static void request_discard(struct launcher *l, const char *name)
{
    struct native_box *c = box_dying(l, name);
    if (!c && kept_has_process(&l->site, name))
        c = end_orphan(l, name);
    if (c)
        c->is_kept = false;
    else
        native_task_remove(&l->tasks, name);
}

static void on_box_request(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    struct native_box *c = box_find(l, q->name);
    int r = 0;
    if (q->op == WIRE_DESTROY) {
        char kept[WIRE_NAME_MAX];
        if (c) /* else it is what was asked for */
            end_box(l, c);
        else if (q->id[0] && kept_find(&l->site, q->id, q->name, kept))
            request_discard(l, kept);
        reply_done(q->op, q->number);
    } else if (q->op == WIRE_HALT) {
        request_halt(l, q);
    } else if (!c) {
        r = err_set(&err, ERR_GONE, 0, "box %s is gone", q->name);
        reply_error(q->op, q->number, r, &err);
    } else if (q->op == WIRE_CAPTURE || q->op == WIRE_PROMOTE) {
        on_capture(l, c, q);
    } else if (q->op == WIRE_MEASURE) {
        r = native_task_count(&l->tasks, &l->site, c, q->number, &err); /* on_task() replies */
        if (r < 0)
            reply_box_error(c, q, r, &err);
    } else if (q->op == WIRE_MOUNT || q->op == WIRE_UNMOUNT || q->op == WIRE_LIMITS || q->op == WIRE_GROW) {
        r = native_task_request(&l->tasks, &l->site, c, q, &err); /* the same */
        if (r < 0)
            reply_box_error(c, q, r, &err);
    } else if (q->op == WIRE_EGRESS_REDIRECT) {
        struct wire_reply p = { .version = WIRE_VERSION, .op = q->op, .number = q->number };
        int fds[EGRESS_REDIRECT_FDS];
        r = native_net_egress_redirect(c, fds, &err);
        if (r < 0) {
            reply_box_error(c, q, r, &err);
            return;
        }
        reply_send(&p, fds, EGRESS_REDIRECT_FDS);
        seqsock_close_all(fds, EGRESS_REDIRECT_FDS);
    } else {
        r = request_change(l, c, q, &err);
        if (r < 0)
            reply_box_error(c, q, r, &err);
        else
            reply_done(q->op, q->number);
    }
}

static void on_common_request(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    int r = 0;
    if (q->op == WIRE_NET_MAKE)
        r = native_net_make(&l->nets, &l->site, q, &err);
    else if (q->op == WIRE_NET_REMOVE)
        native_net_remove(&l->nets, q->object);
    else if (q->op == WIRE_VOLUME_MEASURE)
        r = native_task_request(&l->tasks, &l->site, NULL, q, &err); /* on_task() replies */
    else
        r = native_volume_mount_remove(&l->site, q, &l->tasks, &err);
    if (r < 0)
        reply_error(q->op, q->number, r, &err);
    else if (q->op != WIRE_VOLUME_MEASURE)
        reply_done(q->op, q->number);
}

static void request_sweep(struct launcher *l, const struct wire_request *q)
{
    struct err err = ERR_INIT;
    if (buf_add(&l->kept, q + 1, q->extra_len) < 0) {
        reply_error(WIRE_SWEEP, q->number, err_set(&err, ERR_TOO_LARGE, 0, "more sandboxes to keep than fit in 16 MiB"),
                    &err);
        return;
    }
    if (q->is_last) {
        for (struct native_box *c = l->box_list; c; c = c->next)
            if ((c->state == NATIVE_BOX_RUNNING || c->state == NATIVE_BOX_STARTING) && !sweep_is_kept(&l->kept, c->id))
                end_box(l, c);
        struct native_box *found = sweep_run(&l->site, l->box_list, &l->kept, q->is_kept, &l->tasks);
        while (found) {
            struct native_box *next = found->next;
            box_add(l, found);
            found = next;
        }
        buf_clear(&l->kept);
    }
    reply_done(WIRE_SWEEP, q->number);
}

static bool take_request(struct launcher *l)
{
    struct err err = ERR_INIT;
    size_t n_fds = 0;
    struct wire_request *q = &l->in.request;
    ssize_t n = seqsock_recv(CONTROL_FD, &l->in, sizeof(l->in), NULL, 0, &n_fds);
    if (n == 0)
        return false;
    if (n < 0)
        return n == -EAGAIN || n == -EINTR;
    int r = wire_request_check(q, (size_t)n, &err);
    if (r < 0) {
        if ((size_t)n >= sizeof(*q))
            reply_error(q->op < WIRE_OPS ? q->op : WIRE_HANDSHAKE, q->number, r, &err);
        return (size_t)n >= sizeof(*q);
    }
    if (q->op == WIRE_CREATE) {
        struct pollfd daemon = { .fd = CONTROL_FD, .events = POLLRDHUP };
        if (poll(&daemon, 1, 0) == 0 || !(daemon.revents & (POLLHUP | POLLRDHUP)))
            request_create(l, q); /* else nobody would own it, and the next server would have to find and kill it */
    } else if (q->op == WIRE_ADOPT)
        on_adopt(l, q);
    else if (q->op == WIRE_SWEEP)
        request_sweep(l, q);
    else if (q->op >= WIRE_VOLUME_REMOVE)
        on_common_request(l, q);
    else
        on_box_request(l, q);
    return true;
}

/* --- the loop --- */

static void on_task(void *arg, const struct native_task_result *res)
{
    struct launcher *l = arg;
    struct native_box *c = box_find(l, res->name);
    if (c && res->op == WIRE_CAPTURE)
        box_unfreeze(c);
    if (res->result < 0 && c && res->op != WIRE_CAPTURE) {
        const struct wire_request q = { .op = res->op, .number = res->number };
        struct err err = res->err;
        reply_box_error(c, &q, res->result, &err);
        return;
    }
    if (res->result < 0) {
        reply_error(res->op, res->number, res->result, &res->err);
        return;
    }
    struct wire_reply p = { .version = WIRE_VERSION, .op = res->op, .number = res->number, .size_bytes = res->bytes };
    memcpy(p.folder, res->folder, sizeof(p.folder));
    reply_send(&p, NULL, 0);
}

static void unpark(struct launcher *l)
{
    for (struct parked *p = STEAL(l->parked), *next; p; p = next) {
        next = p->next;
        request_create(l, p->request); /* may park it again */
        free(p->request);
        free(p);
    }
}

/* Removes boxes from the list whose process and cgroups are gone; the remover gets their folders. True: a process has
 * ended and its cgroup is not empty yet, so call again in RETRY_MS. That is the one wait by time: version 1 of cgroups
 * tells nobody when a group is empty, but for a program that the kernel starts. */
static bool box_collect(struct launcher *l)
{
    bool is_waiting = false, is_any = false;
    for (struct native_box **at = &l->box_list; *at;) {
        struct native_box *c = *at;
        if (c->state != NATIVE_BOX_DYING || !native_box_is_over(c)) {
            is_waiting |= c->state == NATIVE_BOX_DYING && c->is_ended;
            at = &c->next;
            continue;
        }
        *at = c->next;
        if (c->is_kept)
            kept_settle(&l->site, c->name);
        else
            native_task_remove(&l->tasks, c->name);
        if (c->is_halting)
            reply_done(WIRE_HALT, c->number);
        native_box_free(c);
        is_any = true;
    }
    if (is_any)
        unpark(l);
    return is_waiting;
}

static size_t fill_poll(struct launcher *l, struct pollfd **set, size_t *cap)
{
    size_t n = POLL_EXTRA;
    for (struct native_box *c = l->box_list; c; c = c->next) {
        int fd = c->state == NATIVE_BOX_DYING        ? (c->is_ended ? NO_FD : c->pidfd)
                 : c->state == NATIVE_BOX_FURNISHING ? c->maker
                                                     : c->control;
        if (fd < 0)
            continue;
        if (n == *cap) {
            *cap *= 2;
            *set = xrealloc(*set, *cap * sizeof(**set));
        }
        (*set)[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
    }
    (*set)[0] = (struct pollfd){ .fd = CONTROL_FD, .events = POLLIN };
    (*set)[1] = (struct pollfd){ .fd = native_task_fd(&l->tasks), .events = POLLIN };
    return n;
}

static void hear_stages(struct launcher *l, const struct pollfd *set, size_t n)
{
    for (struct native_box *c = l->box_list; c; c = c->next) {
        size_t i = POLL_EXTRA;
        if (c->state != NATIVE_BOX_PREPARED && c->state != NATIVE_BOX_STARTING && c->state != NATIVE_BOX_FURNISHING)
            continue;
        bool is_furnishing = c->state == NATIVE_BOX_FURNISHING;
        while (i < n && set[i].fd != (is_furnishing ? c->maker : c->control))
            i++;
        if (i < n && set[i].revents && is_furnishing)
            on_furnished(l, c);
        else if (i < n && set[i].revents)
            on_stage(l, c);
    }
}

/* How long until a prepared box may be made: 0 now, -1 none is wanted. Making one blocks the launcher for a
 * millisecond or two: so never while a create waits for its stage, and not right after one, when its client sends
 * the first command. */
static int prepared_wait_ms(const struct launcher *l)
{
    const struct native_box *c = l->box_list;
    while (c && c->state != NATIVE_BOX_STARTING)
        c = c->next;
    if (l->prepareds >= l->pool || c)
        return -1;
    int64_t quiet = l->prepareds ? l->heard_us + PREPARED_QUIET_US : 0;
    int64_t at = quiet > l->no_prepared_until_us ? quiet : l->no_prepared_until_us;
    int64_t left = at - clock_mono_us();
    return left <= 0 ? 0 : (int)((left + 999) / 1000);
}

/* The shorter of two waits, -1 = forever. */
static int wait_sooner(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* The daemon ends the box, because it knows whom to tell. */
static void report_overuse(struct launcher *l)
{
    struct wire_reply p = { .version = WIRE_VERSION, .op = WIRE_OVERUSE };
    const struct native_box *c = native_counters_step(&l->site.counters, l->box_list, p.text, sizeof(p.text));
    if (!c)
        return;
    memcpy(p.name, c->name, sizeof(p.name));
    reply_send(&p, NULL, 0);
}

static void launcher_run(struct launcher *l)
{
    size_t cap = 64;
    CLEANUP(free_p) struct pollfd *set = xzalloc(cap * sizeof(*set));
    bool is_waiting = false;
    for (;;) {
        int prepared_ms = prepared_wait_ms(l);
        size_t n = fill_poll(l, &set, &cap);
        int timeout = wait_sooner(is_waiting ? RETRY_MS : -1,
                                  wait_sooner(prepared_ms, native_cpu_priority_wait_ms(&l->cpu_priority, l->box_list)));
        int ready = poll(set, n, timeout);
        if (ready == 0 && prepared_wait_ms(l) == 0) {
            struct err err = ERR_INIT;
            struct native_box *c = NULL;
            int r = native_box_new_prepared(&l->site, &c, &err);
            take_prepared(l, r, c, &err);
        }
        if (ready > 0 && set[0].revents && !take_request(l))
            return;
        if (ready > 0) {
            hear_stages(l, set, n);
            l->heard_us = clock_mono_us();
        }
        is_waiting = box_collect(l);
        native_task_step(&l->tasks, &l->site, on_task, l);
        if (native_cpu_priority_step(&l->cpu_priority, &l->site, l->box_list))
            report_overuse(l);
    }
}

/* --- start --- */

/* Enters our own mount namespace: our mounts are not visible outside, unmounts outside propagate here. */
static int own_mounts(struct err *err)
{
    if (unshare(CLONE_NEWNS) < 0)
        return err_sys(err, -errno, "make the launcher's mount namespace");
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return err_sys(err, -errno,
                       "make the launcher's mounts its own (in a chroot the kernel gives no user namespaces either: "
                       "use pivot_root, a container or systemd-nspawn)");
    if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
        return err_sys(err, -errno, "keep capabilities over a change of the file system user");
    return 0;
}

static int open_folder(int at, const char *name, int *ret, struct err *err)
{
    struct stat st;
    if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
        return err_sys(err, -errno, "make folder %s", name);
    CLEANUP(close_fd_p) int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, -errno, "open folder %s", name);
    if (st.st_uid != geteuid()) /* its contents would not be ours */
        return err_set(err, ERR_FORBIDDEN, 0, "folder %s of the data folder belongs to user %u, not to us", name,
                       (unsigned)st.st_uid);
    *ret = steal_fd(&fd);
    return 0;
}

static void on_alarm(int number)
{
    (void)number; /* flock() returns with EINTR, nothing else is wanted */
}

/* One launcher at a time: that of a killed server may still be killing its prepared boxes, and must not be swept
 * meanwhile. The lock ends with the process; a copier it left may hold it slightly longer. The alarm is repeated, in
 * case the first one comes just before flock(). */
static int lock_folder(int run_fd, struct err *err)
{
    struct sigaction interrupt = { .sa_handler = on_alarm };
    struct itimerval limit = { .it_value = { .tv_sec = LOCK_S }, .it_interval = { .tv_sec = 1 } }, none = { 0 };
    int fd = openat(run_fd, "launcher.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(err, -errno, "open the launcher's lock");
    bool is_locked = sigaction(SIGALRM, &interrupt, NULL) == 0 && setitimer(ITIMER_REAL, &limit, NULL) == 0 &&
                     flock(fd, LOCK_EX) == 0;
    int e = errno == EINTR ? EWOULDBLOCK : errno;
    (void)setitimer(ITIMER_REAL, &none, NULL); /* cannot fail */
    if (is_locked)
        return 0; /* held until the process exits */
    (void)close(fd);
    return err_sys(err, -e, "the launcher of another server still uses this data folder");
}

static int open_folders(struct native_box_site *s, struct err *err)
{
    struct stat st;
    CLEANUP(close_fd_p) int data = open(s->data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int prepared = NO_FD;
    if (data < 0 || fstat(data, &st) < 0)
        return err_sys(err, -errno, "open data folder %s", s->data_dir);
    snprintf(s->tag, sizeof(s->tag), "%llx",
             (unsigned long long)(st.st_ino * 2654435761u ^ st.st_dev) & 0xffffffffffull);
    int r = open_folder(data, "boxes", &s->boxes_fd, err);
    if (r >= 0) {
        tree_spread(s->boxes_fd);
        r = open_folder(data, "run", &s->run_fd, err);
    }
    if (r >= 0)
        r = lock_folder(s->run_fd, err);
    if (r >= 0)
        r = open_folder(s->run_fd, "root", &prepared, err);
    if (r < 0)
        return r;
    s->image_fd = open(s->image_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->usr_fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s->image_fd < 0)
        return err_sys(err, -errno, "open image folder %s", s->image_dir);
    if (fchmod(prepared, 0755) < 0 ||
        fchdir(prepared) < 0) /* every stage inherits it: an empty folder to mount its new root on */
        return err_sys(err, -errno, "enter the run folder");
    return 0;
}

static int launcher_start(struct launcher *l, int argc, char **argv, struct err *err)
{
    struct native_box_site *s = &l->site;
    struct rlimit files;
    if (argc != 6 || strlen(argv[2]) >= sizeof(s->data_dir) || strlen(argv[3]) >= sizeof(s->image_dir))
        return err_set(err, ERR_INVALID, 0, "only the server starts the launcher: iii serve");
    snprintf(s->data_dir, sizeof(s->data_dir), "%s", argv[2]);
    snprintf(s->image_dir, sizeof(s->image_dir), "%s", argv[3]);
    unsigned long pool = strtoul(argv[4], NULL, 10);
    l->pool = pool > POOL_MAX ? POOL_MAX : (unsigned)pool;
    s->is_root = geteuid() == 0;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* more is better, but not required */
    }
    native_counters_init(&s->counters, (unsigned)strtoul(argv[5], NULL, 10));
    if (s->is_root)
        native_counters_rlimits();
    call_watch_init(&s->calls, s->filters);
    int r = s->is_root ? own_mounts(err) : idrange_user(&s->own, NULL, 0);
    if (r >= 0)
        r = open_folders(s, err);
    if (r >= 0)
        r = cgroup_host_init(&s->cgroups, NULL, err);
    if (r >= 0)
        cgroup_host_yield(&s->cgroups, false); /* left by a launcher that was killed; see cpu_priority.h */
    if (r >= 0 && (r = s->agent_fd = native_box_memory_file("iii-guest", guest_blob, guest_blob_size(), true)) < 0)
        err_sys(err, r, "unpack the agent");
    for (int i = 0; r >= 0 && i < FILTER_PROFILES; i++) {
        if ((r = filter_build_profile((enum filter_profile)i, &s->filters[i], err)) < 0)
            break;
        r = s->filter_fds[i] = native_box_memory_file("filter", s->filters[i].insn,
                                                      s->filters[i].count * sizeof(*s->filters[i].insn), false);
        if (r < 0)
            err_sys(err, r, "unpack the system call filter");
    }
    if (r >= 0 && s->is_root)
        r = native_box_root_shared(s, err);
    ident_random(&s->next_slot, sizeof(s->next_slot));
    if (r >= 0)
        sweep_reserve(s);
    return r;
}

static void launcher_stop(struct launcher *l)
{
    size_t cap = 64;
    CLEANUP(free_p) struct pollfd *set = xzalloc(cap * sizeof(*set));
    while (l->parked) { /* whoever asked is gone */
        struct parked *p = l->parked;
        l->parked = p->next;
        free(p->request);
        free(p);
    }
    for (struct native_box *c = l->box_list; c; c = c->next)
        if (c->state == NATIVE_BOX_PREPARED || c->state == NATIVE_BOX_STARTING || c->state == NATIVE_BOX_FURNISHING)
            end_box(l, c);
    int64_t end = clock_mono_us() + STOP_US; /* a busy host takes longer */
    for (int64_t left = STOP_US; left > 0; left = end - clock_mono_us()) {
        bool is_waiting = box_collect(l);
        struct native_box *c = l->box_list;
        while (c && c->state != NATIVE_BOX_DYING)
            c = c->next;
        if (!c)
            break;
        size_t n = fill_poll(l, &set, &cap);
        (void)poll(set + POLL_EXTRA, n - POLL_EXTRA, is_waiting ? RETRY_MS : (int)(left / 1000)); /* looked at above */
    }
    native_task_finish(&l->tasks, &l->site);
    call_watch_done(&l->site.calls);
    for (int i = 0; i < FILTER_PROFILES; i++)
        filter_done(&l->site.filters[i]);
    l->nets = native_net_free(l->nets);
    cgroup_host_yield(&l->site.cgroups, false);
    while (l->box_list) {
        struct native_box *c = l->box_list;
        l->box_list = c->next;
        native_box_free(c);
    }
}

int native_launcher_main(int argc, char **argv)
{
    static struct launcher l;
    struct err err = ERR_INIT;
    (void)prctl(PR_SET_NAME, "iii-launcher"); /* for ps only */
    (void)signal(SIGPIPE, SIG_IGN);           /* cannot fail */
    (void)signal(SIGINT, SIG_IGN);            /* the daemon decides when we exit: a terminal or a service */
    (void)signal(SIGTERM, SIG_IGN);           /* manager that signals the whole group does not */
    (void)umask(022);
    l.kept = (struct buf)BUF_INIT(16u << 20);
    native_task_init(&l.tasks);
    int r = launcher_start(&l, argc, argv, &err);
    struct wire_reply handshake = {
        .version = WIRE_VERSION, .op = WIRE_HANDSHAKE, .result = r < 0 ? r : 0, .code = err.code
    };
    handshake.can_idmap = l.site.is_root;
    handshake.can_disk = native_disk_check(NULL) >= 0;
    handshake.has_uid_range = l.site.is_root || l.site.own.how == IDRANGE_SUBID;
    snprintf(handshake.text, sizeof(handshake.text), "%s", err.msg);
    reply_send(&handshake, NULL, 0);
    if (r < 0)
        return 1;
    launcher_run(&l);
    launcher_stop(&l);
    cgroup_host_done(&l.site.cgroups);
    buf_done(&l.kept);
    return 0;
}
