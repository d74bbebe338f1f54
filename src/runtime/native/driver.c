/* Theory of operation. The daemon's side of the native driver: turns vtable calls into numbered requests to the
 * launcher, and its replies into callbacks on the loop. It needs no privilege: what it reads itself (control group and
 * interface counters) is readable by everyone.
 *
 * A `struct pending` is a request without a reply; it owns its message until the reply. struct native owns the
 * pendings, the unsent messages and the boxes; a box handle is freed by destroy or forget.
 *
 * When the launcher dies, boxes continue. A new launcher is started at once, learns of the known boxes, sweeps the
 * unfinished ones, and gets every pending request again that may be repeated; the others fail. A launcher that dies
 * QUICK_ENDS_MAX times in a row is restarted after a growing pause, and requests fail meanwhile. A box that is being
 * halted, started from kept files or adopted has no handle: its id is in n->unheld until that has succeeded, so that no
 * sweep removes its files. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "runtime/native/driver_core.h"
#include "runtime/native/native.h"
#include "runtime/traffic.h"

#define NATIVE_MAGIC   0x6e617469u
#define BOX_MAGIC      0x6e626f78u
#define HANDSHAKE_MS   60000 /* the launcher of a killed server may still be shutting down */
#define END_MS         30000 /* the launcher removes the folders of the last boxes before it exits */
#define SWEEP_CHUNK    60000u
#define REPLIES_A_TURN 64
#define QUICK_END_US   10000000 /* a launcher that exits this soon */
#define QUICK_ENDS_MAX 5        /* this often in a row is restarted at once; after that, with a pause */
#define PAUSE_MS       250      /* the first pause; each is twice as long as the last */
#define PAUSE_MAX_MS   8000

static struct native *native_of(struct runtime *rt)
{
    struct native *n = (struct native *)rt;
    if (n->magic != NATIVE_MAGIC)
        abort();
    return n;
}

static struct native *box_owner(const struct box *b)
{
    if (b->magic != BOX_MAGIC)
        abort();
    return b->n;
}

/* --- replies --- */

static void on_box_exit(void *arg)
{
    struct box *b = arg;
    (void)box_owner(b);
    b->exit_watch = watch_free(b->exit_watch);
    box_life_gone(b);
}

static struct box *box_free(struct box *b)
{
    *b->at = b->next;
    if (b->next)
        b->next->at = b->at;
    b->exit_watch = watch_free(b->exit_watch);
    if (b->pidfd >= 0)
        (void)close(b->pidfd); /* only a handle */
    if (b->disk_fd >= 0)
        (void)close(b->disk_fd); /* the same */
    b->magic = 0;
    free(b->leftover);
    free(b);
    return NULL;
}

static void deliver_box(struct native *n, const struct pending *p, const struct wire_reply *rep, const int *fds,
                        size_t n_fds)
{
    struct err err = ERR_INIT;
    if (n_fds < 2) {
        seqsock_close_all(fds, n_fds);
        err_set(&err, ERR_INTERNAL, EBADMSG, "launcher reply with %zu descriptors", n_fds);
        p->on_ready(p->arg, NULL, NO_FD, &err);
        return;
    }
    struct box *b = xzalloc(sizeof(*b));
    b->magic = BOX_MAGIC;
    b->n = n;
    memcpy(b->id, p->id, sizeof(b->id));
    memcpy(b->name, rep->name, sizeof(b->name));
    b->pid = rep->pid;
    b->start_time = rep->start_time;
    b->slot = rep->slot;
    b->pidfd = fds[1];
    b->disk_fd = n_fds == WIRE_FDS_MAX ? fds[2] : NO_FD;
    b->is_paused = p->message->request.is_paused; /* adopted as such */
    b->at = &n->boxes;
    b->next = n->boxes;
    if (b->next)
        b->next->at = &b->next;
    n->boxes = b;
    b->leftover = rep->folder[0] ? xasprintf("%s/%s", n->data_dir, rep->folder) : NULL;
    b->has_cgroup = rep->cgroup[0] && cgroup_open(&n->cgroups, rep->cgroup, &b->cgroup) == 0;
    p->on_ready(p->arg, b, fds[0], NULL);
}

static void deliver_error(const struct pending *p, const struct err *err)
{
    if (p->on_ready)
        p->on_ready(p->arg, NULL, NO_FD, err);
    else if (p->on_capture)
        p->on_capture(p->arg, NULL, 0, err);
    else if (p->on_promote)
        p->on_promote(p->arg, NULL, 0, false, err);
    else if (p->on_egress)
        p->on_egress(p->arg, NO_FD, NO_FD, err);
    else if (p->on_bytes)
        p->on_bytes(p->arg, 0, err);
    else if (p->on_done)
        p->on_done(p->arg, err);
}

static struct box *box_named(const struct native *n, const char *name)
{
    struct box *b = n->boxes;
    while (b && strcmp(b->name, name) != 0)
        b = b->next;
    return b;
}

static void deliver(struct native *n, const struct pending *p, const struct wire_reply *rep, const int *fds,
                    size_t n_fds)
{
    /* The launcher names a promoted folder: it is a leftover until somebody has moved it. is_paused follows what the
     * launcher did. */
    bool is_leftover = rep->folder[0] && (rep->is_shared || rep->result == -EEXIST || p->op == WIRE_ADOPT);
    struct box *b = box_named(n, p->message->request.name);
    if (rep->result >= 0)
        (void)json_object_del(n->unheld, p->id); /* it has a handle, or the launcher has marked its files */
    if (b && p->op == WIRE_MEASURE && rep->result >= 0)
        b->measured = rep->size_bytes < 0 ? 0 : rep->size_bytes;
    if (b && (p->op == WIRE_PAUSE || p->op == WIRE_RESUME) && rep->result >= 0)
        b->is_paused = p->op == WIRE_PAUSE;
    if (b && is_leftover) {
        free(b->leftover);
        b->leftover = xasprintf("%s/%s", n->data_dir, rep->folder);
    }
    if (rep->result < 0) {
        struct err err = { .code = rep->code ? (enum err_code)rep->code : ERR_INTERNAL, .sys = -rep->result };
        snprintf(err.msg, sizeof(err.msg), "%s", rep->text);
        seqsock_close_all(fds, n_fds);
        deliver_error(p, &err);
    } else if (p->on_ready) {
        deliver_box(n, p, rep, fds, n_fds);
    } else if (p->on_egress && n_fds == 2) {
        p->on_egress(p->arg, fds[0], fds[1], NULL);
    } else {
        seqsock_close_all(fds, n_fds);
        CLEANUP(free_p) char *folder = xasprintf("%s/%s", n->data_dir, rep->folder);
        if (p->on_capture)
            p->on_capture(p->arg, folder, rep->size_bytes, NULL);
        else if (p->on_promote)
            p->on_promote(p->arg, folder, rep->is_shared ? -1 : rep->size_bytes, rep->is_shared, NULL);
        else if (p->on_bytes)
            p->on_bytes(p->arg, rep->size_bytes, NULL);
        else if (p->on_done)
            p->on_done(p->arg, NULL);
    }
}

static void pending_free_p(struct pending **slot)
{
    if (*slot)
        free((*slot)->message);
    free(*slot);
}

/* While there is no launcher, fails everything that waits; callbacks may send more requests, which fail later. */
static void pending_fail_all(void *arg)
{
    struct native *n = arg;
    struct err err = ERR_INIT;
    if (!n->is_dead)
        return;
    struct pending *list = STEAL(n->pending);
    err_set(&err, ERR_CAPACITY, EPIPE,
            "the launcher process exited %u times in a row and is restarted after a pause (see the log): try again",
            n->quick_ends);
    while (list) {
        CLEANUP(pending_free_p) struct pending *p = list;
        list = p->next;
        deliver_error(p, &err);
    }
}

static int send_message(struct native *n, struct message *m)
{
    struct iovec parts[2] = { { &m->request, sizeof(m->request) }, { m + 1, m->extra_len } };
    return seqsock_send(n->launcher.sock, parts, NULL, 0);
}

static void on_launcher_gone(struct native *n);

static void on_socket(void *arg, int events)
{
    struct native *n = arg;
    struct wire_reply rep;
    struct err err = ERR_INIT;
    if (events & LOOP_WRITE) {
        while (n->out && send_message(n, n->out) == 0) /* any error but "full" also ends the socket */
            n->out = n->out->next;
        if (!n->out)
            n->out_end = &n->out;
        watch_set(n->launcher.watch, LOOP_READ | (n->out ? LOOP_WRITE : 0));
    }
    for (int i = 0; i < REPLIES_A_TURN; i++) {
        int fds[WIRE_FDS_MAX];
        size_t n_fds = 0;
        ssize_t got = seqsock_recv(n->launcher.sock, &rep, sizeof(rep), fds, WIRE_FDS_MAX, &n_fds);
        if (got == -EAGAIN)
            return;
        if (got <= 0 || wire_reply_check(&rep, (size_t)got, &err) < 0) {
            seqsock_close_all(fds, n_fds);
            on_launcher_gone(n);
            return;
        }
        if (rep.op == WIRE_HANDSHAKE) { /* of a restarted launcher */
            if (rep.result >= 0)
                continue;
            log_event(LOG_DEBUG, "launcher.start", "error", rep.text, NULL);
            on_launcher_gone(n);
            return;
        }
        if (rep.op == WIRE_OVERUSE) {
            const struct box *b = box_named(n, rep.name);
            if (b)
                box_life_overuse(b, rep.text);
            continue;
        }
        struct pending **at = &n->pending;
        while (*at && (*at)->number != rep.number)
            at = &(*at)->next;
        CLEANUP(pending_free_p) struct pending *p = *at;
        if (!p) {
            seqsock_close_all(fds, n_fds);
            continue;
        }
        *at = p->next;
        deliver(n, p, &rep, fds, n_fds);
    }
}

/* --- requests --- */

static struct message *message_new(uint32_t op, size_t extra_len)
{
    struct message *m = xzalloc(sizeof(*m) + extra_len);
    m->extra_len = extra_len;
    m->request.version = WIRE_VERSION;
    m->request.op = op;
    m->request.extra_len = (uint32_t)extra_len;
    return m;
}

/* Takes both. The reply always comes later, even when the launcher is gone. */
static void submit(struct native *n, struct message *m, struct pending *p)
{
    m->request.number = p->number = ++n->last_number;
    p->op = m->request.op;
    p->message = m;
    p->next = n->pending;
    n->pending = p;
    if (n->is_dead) {
        loop_defer(n->rt.loop, pending_fail_all, n);
        return;
    }
    if (!n->out && send_message(n, m) == 0)
        return;
    m->next = NULL;
    *n->out_end = m;
    n->out_end = &m->next;
    watch_set(n->launcher.watch, LOOP_READ | LOOP_WRITE);
}

static int plan_check(const struct box_plan *plan, size_t *ret_bytes, struct err *err)
{
    size_t bytes = 0;
    if (!wire_is_id(plan->id))
        return err_set(err, ERR_INVALID, 0, "sandbox id must be 1 to %d letters, digits, '-' or '_'", IDENT_MAX - 1);
    if (plan->n_layers == 0 || plan->n_layers > WIRE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "image has %zu layers; 1 to %d can be stacked", plan->n_layers,
                       WIRE_LAYERS_MAX);
    for (size_t i = 0; i < plan->n_layers; i++)
        bytes += strlen(plan->layers[i]) + 1;
    if (bytes > WIRE_EXTRA_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "paths of the image's layers take %zu bytes, more than %u", bytes,
                       WIRE_EXTRA_MAX);
    if (plan->workdir &&
        (plan->workdir[0] != '/' || strlen(plan->workdir) >= sizeof(((struct wire_request *)0)->workdir)))
        return err_set(err, ERR_INVALID, 0, "working folder must be an absolute path of at most 1023 bytes");
    *ret_bytes = bytes;
    return 0;
}

/* overlayfs takes the topmost layer first. */
static void put_layers(char *to, const char *const *layers, size_t n)
{
    while (n-- > 0) {
        size_t len = strlen(layers[n]) + 1;
        memcpy(to, layers[n], len);
        to += len;
    }
}

static void native_create(struct runtime *rt, const struct box_plan *plan, box_ready_fn *fn, void *arg)
{
    struct native *n = native_of(rt);
    struct err err = ERR_INIT;
    size_t bytes = 0;
    if (plan_check(plan, &bytes, &err) < 0) {
        box_life_refuse(rt->loop, fn, arg, &err);
        return;
    }
    struct message *m = message_new(WIRE_CREATE, bytes);
    struct wire_request *q = &m->request;
    snprintf(q->id, sizeof(q->id), "%s", plan->id);
    snprintf(q->hostname, sizeof(q->hostname), "%s", plan->hostname[0] ? plan->hostname : plan->id);
    snprintf(q->workdir, sizeof(q->workdir), "%s", plan->workdir ? plan->workdir : "/workspace");
    q->memory_mb = plan->memory_mb;
    q->cpu_milli = plan->cpu_milli;
    q->pids_max = plan->pids_max;
    q->disk_mb = plan->disk_mb;
    q->inodes = plan->inodes;
    q->nofile = plan->nofile ? plan->nofile : LIMIT_DEFAULT(OPEN_FILES);
    q->seccomp = (uint8_t)plan->seccomp;
    q->shm_mb = plan->shm_mb ? plan->shm_mb : LIMIT_DEFAULT(SHM_MB);
    q->is_host = plan->is_host;
    q->is_kept = plan->kept != NULL;
    if (plan->kept) {
        snprintf(q->name, sizeof(q->name), "%s", json_get_str(plan->kept, "name", ""));
        (void)json_object_set_new(n->unheld, q->id, json_true());
    }
    put_layers((char *)(m + 1), plan->layers, plan->n_layers);
    struct pending *p = xzalloc(sizeof(*p));
    memcpy(p->id, q->id, sizeof(p->id));
    p->on_ready = fn;
    p->arg = arg;
    submit(n, m, p);
}

static void native_adopt(struct runtime *rt, const json_t *record, bool is_paused, box_ready_fn *fn, void *arg)
{
    struct native *n = native_of(rt);
    struct message *m = message_new(WIRE_ADOPT, 0);
    struct wire_request *q = &m->request;
    snprintf(q->id, sizeof(q->id), "%s", json_get_str(record, "id", ""));
    snprintf(q->name, sizeof(q->name), "%s", json_get_str(record, "name", ""));
    q->pid = (int32_t)json_get_int(record, "pid", 0);
    q->start_time = (uint64_t)json_get_int(record, "startTime", 0);
    q->slot = (uint32_t)json_get_int(record, "slot", 0);
    q->is_paused = is_paused;
    (void)json_object_set_new(n->unheld, q->id, json_true());
    struct pending *p = xzalloc(sizeof(*p));
    memcpy(p->id, q->id, sizeof(p->id));
    p->on_ready = fn;
    p->arg = arg;
    submit(n, m, p);
}

static json_t *native_save(struct box *b)
{
    (void)box_owner(b);
    return json_pack("{s:s, s:s, s:i, s:I, s:I, s:s}", "id", b->id, "name", b->name, "pid", (int)b->pid, "startTime",
                     (json_int_t)b->start_time, "slot", (json_int_t)b->slot, "cgroup",
                     b->has_cgroup ? b->cgroup.name : "");
}

static void native_on_gone(struct box *b, loop_fn *fn, void *arg)
{
    struct native *n = box_owner(b);
    box_life_on_gone(b, fn, arg);
    if (!b->exit_watch)
        (void)loop_on_exit(n->rt.loop, b->pidfd, on_box_exit, b, &b->exit_watch); /* fails only when out of memory */
}

/* A request about one box. */
static struct message *box_message(const struct box *b, uint32_t op)
{
    struct message *m = message_new(op, 0);
    (void)box_owner(b);
    memcpy(m->request.name, b->name, sizeof(b->name));
    return m;
}

static void submit_done(struct native *n, struct message *m, box_done_fn *fn, void *arg)
{
    struct pending *p = xzalloc(sizeof(*p));
    p->on_done = fn;
    p->arg = arg;
    submit(n, m, p);
}

static void box_ask(struct box *b, uint32_t op, box_done_fn *fn, void *arg)
{
    submit_done(box_owner(b), box_message(b, op), fn, arg);
}

static void native_destroy(struct box *b, box_done_fn *fn, void *arg)
{
    box_ask(b, WIRE_DESTROY, fn, arg);
    box_free(b);
}

/* A request about a box that may have no handle. */
static void ask_kept(struct native *n, uint32_t op, const json_t *record, box_done_fn *fn, void *arg)
{
    struct message *m = message_new(op, 0);
    struct pending *p = xzalloc(sizeof(*p));
    snprintf(m->request.name, sizeof(m->request.name), "%s", json_get_str(record, "name", ""));
    snprintf(m->request.id, sizeof(m->request.id), "%s", json_get_str(record, "id", ""));
    memcpy(p->id, m->request.id, sizeof(p->id));
    p->on_done = fn;
    p->arg = arg;
    if (op == WIRE_HALT)
        (void)json_object_set_new(n->unheld, p->id, json_true());
    else
        (void)json_object_del(n->unheld, p->id);
    submit(n, m, p);
}

static void native_retain(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    ask_kept(native_of(rt), WIRE_HALT, record, fn, arg);
}

static void native_halt(struct box *b, box_done_fn *fn, void *arg)
{
    JSON_OWNED record = native_save(b);
    ask_kept(box_owner(b), WIRE_HALT, record, fn, arg);
    box_free(b);
}

static void native_discard(struct runtime *rt, const json_t *record, box_done_fn *fn, void *arg)
{
    ask_kept(native_of(rt), WIRE_DESTROY, record, fn, arg);
}

static void native_forget(struct box *b)
{
    box_owner(b)->is_left = true;
    box_free(b);
}

static void native_pause(struct box *b, box_done_fn *fn, void *arg)
{
    box_ask(b, WIRE_PAUSE, fn, arg);
}

static void native_resume(struct box *b, box_done_fn *fn, void *arg)
{
    box_ask(b, WIRE_RESUME, fn, arg);
}

static int native_stats(struct box *b, struct box_stats *ret, struct err *err)
{
    struct native *n = box_owner(b);
    struct box_stats out = { 0 };
    struct cgroup_stats cg = { 0 };
    struct pollfd alive = { .fd = b->pidfd, .events = POLLIN };
    (void)n;
    int r = b->has_cgroup ? cgroup_stats_get(&b->cgroup, &cg) : 0;
    if (r < 0 && r != -ENOENT)
        return err_sys(err, r, "read the metrics of box %s", b->name);
    traffic_read(b->pid, WIRE_SINK, &out);       /* egress is counted by the relay that carries it */
    if (r == -ENOENT || poll(&alive, 1, 0) != 0) /* checked last, so that a reused pid's counters are not reported */
        return err_set(err, ERR_GONE, 0, "box %s has ended", b->name);
    out.cpu_usage_us = cg.cpu_usage_us;
    out.memory_bytes = cg.memory_bytes;
    out.memory_limit_bytes = cg.memory_limit_bytes;
    out.pids = (uint32_t)cg.pids;
    out.oom_kills = cg.oom_kills;
    struct stat st;
    out.disk_bytes = (uint64_t)b->measured;
    if (b->disk_fd >= 0 && fstat(b->disk_fd, &st) == 0)
        out.disk_bytes = (uint64_t)st.st_blocks * 512;
    *ret = out;
    return 0;
}

static void native_set_limits(struct box *b, uint32_t memory_mb, uint32_t cpu_milli, uint32_t pids_max, box_done_fn *fn,
                              void *arg)
{
    struct message *m = box_message(b, WIRE_LIMITS);
    m->request.memory_mb = memory_mb;
    m->request.cpu_milli = cpu_milli;
    m->request.pids_max = pids_max;
    submit_done(b->n, m, fn, arg);
}

static void native_grow_disk(struct box *b, uint32_t disk_mb, uint32_t inodes, box_done_fn *fn, void *arg)
{
    struct message *m = box_message(b, WIRE_GROW);
    m->request.disk_mb = disk_mb;
    m->request.inodes = inodes;
    submit_done(b->n, m, fn, arg);
}

static void native_rename(struct box *b, const char *hostname, box_done_fn *fn, void *arg)
{
    struct message *m = box_message(b, WIRE_RENAME);
    (void)snprintf(m->request.hostname, sizeof(m->request.hostname), "%s", hostname);
    submit_done(b->n, m, fn, arg);
}

static void native_capture(struct box *b, box_capture_fn *fn, void *arg)
{
    struct pending *p = xzalloc(sizeof(*p));
    p->on_capture = fn;
    p->arg = arg;
    submit(box_owner(b), box_message(b, WIRE_CAPTURE), p);
}

static void native_measure(struct box *b, box_done_fn *fn, void *arg)
{
    box_ask(b, WIRE_MEASURE, fn, arg); /* deliver() stores the number */
}

static void native_promote(struct box *b, const char *const *layers, size_t n_layers, box_promote_fn *fn, void *arg)
{
    struct native *n = box_owner(b);
    size_t bytes = 0;
    for (size_t i = 0; i < n_layers; i++)
        bytes += strlen(layers[i]) + 1;
    bool is_short = bytes <= WIRE_EXTRA_MAX && n_layers < WIRE_LAYERS_MAX; /* else only a copy works */
    struct message *m = message_new(is_short ? WIRE_PROMOTE : WIRE_CAPTURE, is_short ? bytes : 0);
    struct pending *p = xzalloc(sizeof(*p));
    memcpy(m->request.name, b->name, sizeof(b->name));
    if (is_short)
        put_layers((char *)(m + 1), layers, n_layers);
    p->on_promote = fn;
    p->arg = arg;
    submit(n, m, p);
}

static const char *native_leftover(struct box *b)
{
    (void)box_owner(b);
    return b->leftover; /* only the launcher can check whether it still exists */
}

static void native_taken(struct box *b)
{
    (void)box_owner(b);
    free(b->leftover);
    b->leftover = NULL;
}

static void native_volume(struct box *b, uint32_t op, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    struct message *m = box_message(b, op);
    snprintf(m->request.object, sizeof(m->request.object), "%s", v->id);
    snprintf(m->request.workdir, sizeof(m->request.workdir), "%s", v->target);
    m->request.is_readonly = v->is_readonly;
    m->request.disk_mb = op == WIRE_MOUNT ? v->size_mb : 0;
    submit_done(b->n, m, fn, arg);
}

static void native_mount_volume(struct box *b, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    native_volume(b, WIRE_MOUNT, v, fn, arg);
}

static void native_unmount_volume(struct box *b, const struct box_volume *v, box_done_fn *fn, void *arg)
{
    native_volume(b, WIRE_UNMOUNT, v, fn, arg);
}

static void ask_object(struct native *n, uint32_t op, const char *object, box_done_fn *fn, void *arg)
{
    struct message *m = message_new(op, 0);
    snprintf(m->request.object, sizeof(m->request.object), "%s", object);
    submit_done(n, m, fn, arg);
}

static void native_remove_volume(struct runtime *rt, const char *id, box_done_fn *fn, void *arg)
{
    ask_object(native_of(rt), WIRE_VOLUME_REMOVE, id, fn, arg);
}

static void native_measure_volume(struct runtime *rt, const char *id, box_bytes_fn *fn, void *arg)
{
    struct message *m = message_new(WIRE_VOLUME_MEASURE, 0);
    struct pending *p = xzalloc(sizeof(*p));
    snprintf(m->request.object, sizeof(m->request.object), "%s", id);
    p->on_bytes = fn;
    p->arg = arg;
    submit(native_of(rt), m, p);
}

static void native_net_create(struct runtime *rt, const struct box_plug *net, box_done_fn *fn, void *arg)
{
    ask_object(native_of(rt), WIRE_NET_MAKE, net->net_id, fn, arg);
}

static void native_net_delete(struct runtime *rt, const char *net_id, box_done_fn *fn, void *arg)
{
    ask_object(native_of(rt), WIRE_NET_REMOVE, net_id, fn, arg);
}

static void native_plug(struct box *b, uint32_t op, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    struct message *m = box_message(b, op);
    snprintf(m->request.object, sizeof(m->request.object), "%s", plug->net_id);
    m->request.subnet = plug->subnet;
    m->request.address = plug->address;
    m->request.prefix = plug->prefix;
    m->request.net_kbps = op == WIRE_NET_JOIN ? plug->kbps : 0;
    submit_done(b->n, m, fn, arg);
}

static void native_net_attach(struct box *b, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    native_plug(b, WIRE_NET_JOIN, plug, fn, arg);
}

static void native_net_detach(struct box *b, const struct box_plug *plug, box_done_fn *fn, void *arg)
{
    native_plug(b, WIRE_NET_LEAVE, plug, fn, arg);
}

static void native_open_egress(struct box *b, box_egress_fn *fn, void *arg)
{
    struct pending *p = xzalloc(sizeof(*p));
    p->on_egress = fn;
    p->arg = arg;
    submit(box_owner(b), box_message(b, WIRE_EGRESS_REDIRECT), p);
}

static void sweep_but(struct native *n, const char *const *kept_ids, size_t count, bool keeps_marked, box_done_fn *fn,
                      void *arg)
{
    size_t at = 0;
    do {
        size_t bytes = 0, last = at;
        while (last < count && bytes + strlen(kept_ids[last]) + 1 <= SWEEP_CHUNK)
            bytes += strlen(kept_ids[last++]) + 1;
        if (last == at && at < count) { /* cannot happen: no id is that long */
            at++;
            continue;
        }
        struct message *m = message_new(WIRE_SWEEP, bytes);
        struct pending *p = xzalloc(sizeof(*p));
        char *to = (char *)(m + 1);
        for (; at < last; at++) {
            size_t len = strlen(kept_ids[at]) + 1;
            memcpy(to, kept_ids[at], len);
            to += len;
        }
        m->request.is_last = at == count;
        m->request.is_kept = keeps_marked;
        p->on_done = at == count ? fn : NULL;
        p->arg = arg;
        submit(n, m, p);
    } while (at < count);
}

static void native_sweep(struct runtime *rt, const char *const *kept_ids, size_t count, box_done_fn *fn, void *arg)
{
    sweep_but(native_of(rt), kept_ids, count, false, fn, arg);
}

static struct runtime_caps native_caps(struct runtime *rt)
{
    struct native *n = native_of(rt);
    unsigned have = cgroup_host_controllers(&n->cgroups);
    return (struct runtime_caps){ .can_pause = have & (1u << CGROUP_FREEZER),
                                  .can_capture = have & (1u << CGROUP_FREEZER),
                                  .can_limit_memory = have & (1u << CGROUP_MEMORY),
                                  .can_limit_cpu = have & (1u << CGROUP_CPU),
                                  .can_limit_pids = have & (1u << CGROUP_PIDS),
                                  .can_limit_disk = n->can_disk,
                                  .has_uid_range = n->has_uid_range,
                                  .can_network = n->is_root,
                                  .can_mount = true,
                                  .can_egress = true,
                                  .can_limit_rate = true,
                                  .can_rename = true,
                                  .can_measure = true,
                                  .can_stop = true,
                                  .can_resize = true,
                                  .can_grow = n->can_disk,
                                  .can_seccomp = true,
                                  .can_see_calls = true,
                                  .has_store = true,
                                  .has_host = true,
                                  .has_layers = true };
}

static struct runtime *native_free(struct runtime *rt)
{
    struct native *n = native_of(rt);
    struct err err = ERR_INIT;
    timer_free(n->pause);
    helper_stop(&n->launcher, END_MS); /* one that hangs is killed: a sweep cleans up after it */
    err_set(&err, ERR_CAPACITY, ESHUTDOWN, "the server is stopping");
    while (n->pending) {
        struct pending *p = n->pending;
        n->pending = p->next;
        if (p->op == WIRE_MEASURE || p->op == WIRE_VOLUME_MEASURE) /* its caller outlives the manager: disk_watch.c */
            deliver_error(p, &err);
        free(p->message);
        free(p);
    }
    while (n->boxes) { /* not forgotten by their owners: free the handles */
        n->boxes->magic = 0;
        box_free(n->boxes);
    }
    keeper_free(n->own_keeper);
    if (n->has_own_cgroups)
        cgroup_host_done(&n->cgroups);
    json_decref(n->unheld);
    free(n->data_dir);
    n->magic = 0;
    free(n);
    return NULL;
}

static void native_on_restart(struct runtime *rt, loop_fn *fn, void *arg);

static const struct runtime_lack native_lacks[] = {
    { "hibernate", "the memory of its processes cannot be saved; stop keeps its files, and the qemu and firecracker "
                   "backends save memory" },
    { 0 }
};

static const struct runtime_ops native_ops = {
    .name = "native",
    .lacks = native_lacks,
    .caps = native_caps,
    .create = native_create,
    .adopt = native_adopt,
    .save = native_save,
    .on_gone = native_on_gone,
    .on_overuse = box_life_on_overuse,
    .destroy = native_destroy,
    .halt = native_halt,
    .retain = native_retain,
    .discard = native_discard,
    .forget = native_forget,
    .pause = native_pause,
    .resume = native_resume,
    .stats = native_stats,
    .set_limits = native_set_limits,
    .grow_disk = native_grow_disk,
    .rename = native_rename,
    .measure = native_measure,
    .capture = native_capture,
    .promote = native_promote,
    .leftover = native_leftover,
    .taken = native_taken,
    .mount_volume = native_mount_volume,
    .unmount_volume = native_unmount_volume,
    .remove_volume = native_remove_volume,
    .measure_volume = native_measure_volume,
    .net_create = native_net_create,
    .net_delete = native_net_delete,
    .net_attach = native_net_attach,
    .net_detach = native_net_detach,
    .open_egress = native_open_egress,
    .sweep = native_sweep,
    .on_restart = native_on_restart,
    .free = native_free,
};

/* --- start --- */

static int spawn_launcher(struct native *n, struct err *err)
{
    n->started_us = clock_mono_us();
    return helper_start(&n->launcher, "the launcher", err);
}

static int await_handshake(struct native *n, struct err *err)
{
    struct wire_reply rep;
    size_t n_fds = 0;
    struct pollfd p = { .fd = n->launcher.sock, .events = POLLIN };
    int r = poll(&p, 1, HANDSHAKE_MS);
    if (r <= 0)
        return err_sys(err, r < 0 ? -errno : -ETIMEDOUT, "wait for the launcher");
    ssize_t got = seqsock_recv(n->launcher.sock, &rep, sizeof(rep), NULL, 0, &n_fds);
    if (got <= 0)
        return err_set(err, ERR_INTERNAL, EPIPE, "the launcher exited at its start");
    r = wire_reply_check(&rep, (size_t)got, err);
    if (r < 0)
        return r;
    if (rep.result < 0) {
        err->code = rep.code ? (enum err_code)rep.code : ERR_INTERNAL;
        err->sys = -rep.result;
        snprintf(err->msg, sizeof(err->msg), "launcher: %.380s", rep.text);
        return rep.result;
    }
    n->is_root = rep.can_idmap;
    n->has_uid_range = rep.has_uid_range;
    n->can_disk = rep.can_disk;
    return 0;
}

/* --- a launcher that died --- */

/* Requests that may be sent twice: the first launcher's half is gone, or swept, or has the same result. */
static bool is_repeatable(uint32_t op)
{
    return op == WIRE_CREATE || op == WIRE_ADOPT || op == WIRE_DESTROY || op == WIRE_PAUSE || op == WIRE_RESUME ||
           op == WIRE_LIMITS || op == WIRE_RENAME || op == WIRE_SWEEP || op == WIRE_MOUNT || op == WIRE_UNMOUNT ||
           op == WIRE_HALT;
}

static void end_launcher(struct native *n)
{
    n->out = NULL;
    n->out_end = &n->out;
    helper_stop(&n->launcher, 0); /* it may only have closed its socket */
}

static int start_again(struct native *n, struct err *err)
{
    int r = spawn_launcher(n, err);
    return r < 0 ? r : helper_watch(&n->launcher, n->rt.loop, on_socket, NULL, n, err);
}

/* The launcher is back: it gets the boxes first, then the pending requests. */
static void launcher_resume(struct native *n)
{
    struct err err = ERR_INIT;
    struct pending *waiting = NULL;
    size_t count = json_object_size(n->unheld);
    const char *id;
    json_t *value;
    n->is_dead = false;
    while (n->pending) { /* newest first; reversed, so that they are sent again in their order */
        struct pending *p = n->pending;
        n->pending = p->next;
        p->next = waiting;
        waiting = p;
    }
    for (const struct box *b = n->boxes; b; b = b->next, count++) {
        struct message *m = message_new(WIRE_ADOPT, 0);
        struct wire_request *q = &m->request;
        memcpy(q->id, b->id, sizeof(q->id));
        memcpy(q->name, b->name, sizeof(q->name));
        q->pid = (int32_t)b->pid;
        q->start_time = b->start_time;
        q->slot = b->slot;
        q->is_paused = b->is_paused;
        q->is_linked = 1;
        submit(n, m, xzalloc(sizeof(struct pending))); /* a box that is gone is noticed by its own watch */
    }
    CLEANUP(free_p) const char **kept = xzalloc((count + 1) * sizeof(*kept));
    count = 0;
    for (const struct box *b = n->boxes; b; b = b->next)
        kept[count++] = b->id;
    json_object_foreach(n->unheld, id, value) kept[count++] = id;
    sweep_but(n, kept, count, true, NULL, NULL); /* the others, but for halted ones, are unfinished */
    err_set(&err, ERR_CAPACITY, EPIPE, "the launcher process was restarted during the call: try again");
    while (waiting) {
        struct pending *p = waiting;
        waiting = p->next;
        if (is_repeatable(p->op)) {
            submit(n, p->message, p);
            continue;
        }
        deliver_error(p, &err);
        pending_free_p(&p);
    }
    if (n->on_restart)
        n->on_restart(n->restart_arg);
}

static void on_pause_over(void *arg);

/* The launcher does not stay up, or cannot be started: pending requests fail, and it is restarted after a pause,
 * indefinitely. Sandboxes continue meanwhile. */
static void start_later(struct native *n, const char *why)
{
    int64_t pause_ms = PAUSE_MS;
    for (unsigned i = QUICK_ENDS_MAX + 1; i < n->quick_ends && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    log_event(LOG_WARN, "launcher.pause", "why", why, NULL);
    n->is_dead = true;
    if (!n->pause)
        n->pause = timer_new(n->rt.loop, -1, 0, on_pause_over, n);
    timer_set(n->pause, pause_ms, 0);
    pending_fail_all(n);
}

static void on_pause_over(void *arg)
{
    struct native *n = arg;
    struct err err = ERR_INIT;
    if (start_again(n, &err) >= 0) {
        launcher_resume(n);
        return;
    }
    end_launcher(n);
    n->quick_ends++;
    start_later(n, err.msg);
}

static void on_launcher_gone(struct native *n)
{
    struct err err = ERR_INIT;
    bool is_quick = clock_mono_us() - n->started_us < QUICK_END_US;
    log_event(LOG_DEBUG, "launcher.gone", "action", "started again", NULL);
    end_launcher(n);
    if (n->is_left) /* another one would sweep the boxes that the next server adopts */
        return;
    n->quick_ends = is_quick ? n->quick_ends + 1 : 0;
    if (n->quick_ends > QUICK_ENDS_MAX) {
        start_later(n, "it exited too often in a row");
        return;
    }
    if (start_again(n, &err) < 0) {
        end_launcher(n);
        n->quick_ends++;
        start_later(n, err.msg);
        return;
    }
    launcher_resume(n);
}

static void native_on_restart(struct runtime *rt, loop_fn *fn, void *arg)
{
    struct native *n = native_of(rt);
    n->on_restart = fn;
    n->restart_arg = arg;
}

int native_new(struct loop *l, const struct native_options *opt, struct runtime **ret, struct err *err)
{
    struct native *n = xzalloc(sizeof(*n));
    struct err own = ERR_INIT;
    n->rt = (struct runtime){ .ops = &native_ops, .loop = l };
    n->magic = NATIVE_MAGIC;
    n->out_end = &n->out;
    n->unheld = json_object();
    n->data_dir = native_job_path(opt->data_dir);
    n->launcher = (struct helper)HELPER_INIT(opt->keeper, opt->launcher_job);
    n->launcher.is_blocking = true; /* a reply of the launcher waits until the daemon has read the earlier ones */
    int r = 0;
    n->has_own_cgroups = !opt->cgroups;
    if (opt->cgroups)
        n->cgroups = *opt->cgroups;
    else
        r = cgroup_host_init(&n->cgroups, NULL, &own);
    if (r >= 0 && !opt->keeper) { /* a program that keeps its privileges starts its own */
        struct native_job job;
        native_job(opt, &job);
        r = keeper_new(&job.job, 1, &n->own_keeper, &own);
        native_job_done(&job);
        n->launcher.keeper = n->own_keeper;
        n->launcher.job = 0;
    }
    if (r >= 0)
        r = spawn_launcher(n, &own);
    if (r >= 0)
        r = await_handshake(n, &own);
    if (r >= 0)
        r = helper_watch(&n->launcher, l, on_socket, NULL, n, &own);
    if (r < 0) {
        if (err)
            *err = own;
        native_free(&n->rt);
        return r;
    }
    *ret = &n->rt;
    return 0;
}
