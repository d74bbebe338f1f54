/* Theory of operation. A vm_instance is one VMM process with its sockets, its pidfd and its control connection. The
 * privileged tool (tool_call.h) starts and kills the process; this file only asks for it.
 *
 * States: starting (the tool has not replied) → opening (the control socket is being connected) → running → gone. A
 * kill during `starting` sets is_unwanted, and the reply triggers the kill. The caller owns the handle until
 * vm_instance_kill() or vm_instance_forget(); a start that fails kills the VM and frees the handle.
 *
 * The VMM outlives the daemon. vm_instance_adopt() finds it again by name, pid and start time. The console is read
 * in bounded pieces with a pause after each, so that a guest's output cannot starve the loop; its last lines explain a
 * failure. A process that exits before its control socket is ready fails the start; a later exit is reported by on_gone
 * once. */
#include "vm/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "base/list.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/unixsock.h"
#include "vm/console.h"

#define CONSOLE_MS    50 /* between reads: a guest may write as fast as it can, the rest waits or is lost */
#define CONSOLE_BYTES 16384
#define CONSOLE_LAST  64 /* pieces read at once after the VMM exited: more than a socket holds */

static const char *const sockets[] = { "agent", "control", "console",
                                       "notes" }; /* in the order of enum vm_tool_wire_fd */
#define SOCKETS (sizeof(sockets) / sizeof(*sockets))

struct vm_instance {
    struct vm_instance_site *site;
    char name[VM_TOOL_WIRE_NAME_MAX];
    struct vm_tool_wire_request request;
    pid_t pid;
    uint64_t start_time;
    int pidfd;
    struct watch *exit;
    struct vmm *control;
    struct freezing *freezings;
    int box_fd; /* the VMM's folder, or NO_FD */
    int console, errors;
    struct watch *output_watches[2]; /* of both */
    struct timer *console_timer;     /* of the pause */
    struct vm_console text;
    bool is_starting;   /* the tool has not replied yet */
    bool is_unwanted;   /* killed before the tool replied */
    vm_instance_fn *fn; /* callback of the start */
    void *arg;
    loop_fn *on_gone, *on_late;
    void *gone_arg, *late_arg;
};

const char *vm_instance_name(const struct vm_instance *m)
{
    return m->name;
}

pid_t vm_instance_pid(const struct vm_instance *m)
{
    return m->pid;
}

uint64_t vm_instance_start_time(const struct vm_instance *m)
{
    return m->start_time;
}

struct vmm *vm_instance_control(struct vm_instance *m)
{
    return m->control;
}

/* Goes through /proc/self/fd, so that the path stays below the 108 bytes of a socket address whatever the data
 * folder is called. */
static char *socket_path(const struct vm_instance_site *site, const char *name, const char *which)
{
    return xasprintf("/proc/self/fd/%d/%s.%s", site->run_fd, name, which);
}

static char *own_path(const struct vm_instance *m, const char *which)
{
    return socket_path(m->site, m->name, which);
}

/* Connects to a port of the guest: a serial port by its socket, or a vsock port. */
static struct vm_channel *channel_open_port(struct vm_instance *m, const char *which, uint32_t port,
                                            struct vm_channel_options *opt, vm_channel_fn *fn, void *arg)
{
    CLEANUP(free_p) char *path = m->site->vmm->has_vsock ? NULL : own_path(m, which);
    opt->loop = m->site->loop;
    opt->path = path;
    opt->box_fd = m->box_fd;
    opt->port = port;
    return vm_channel_open(opt, fn, arg);
}

struct vm_channel *vm_instance_handshake(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn,
                                         void *arg)
{
    const struct vmm_ops *vmm = m->site->vmm;
    return channel_open_port(m, "agent", vmm->has_own_port ? 0 : VM_HANDSHAKE_PORT, opt, fn, arg);
}

struct vm_channel *vm_instance_note(struct vm_instance *m, struct vm_channel_options *opt, vm_channel_fn *fn, void *arg)
{
    return channel_open_port(m, "notes", VM_HANDSHAKE_NOTES_PORT, opt, fn, arg);
}

/* --- the console --- */

/* The descriptor does not block. As read(). */
static ssize_t read_piece(struct vm_instance *m, int fd)
{
    char piece[CONSOLE_BYTES];
    ssize_t n = fd < 0 ? -1 : read(fd, piece, sizeof(piece));
    if (n > 0)
        vm_console_add(&m->text, piece, (size_t)n);
    return n;
}

static void console_listen(struct vm_instance *m, int events)
{
    for (size_t i = 0; i < 2; i++)
        if (m->output_watches[i])
            watch_set(m->output_watches[i], events);
}

static void console_on_pause_over(void *arg)
{
    console_listen(arg, LOOP_READ);
}

static void console_on_output(void *arg, int events)
{
    struct vm_instance *m = arg;
    const int fds[] = { m->console, m->errors };
    (void)events;
    console_listen(m, 0);
    for (size_t i = 0; i < 2; i++)
        if (read_piece(m, fds[i]) == 0) /* it has ended */
            m->output_watches[i] = watch_free(m->output_watches[i]);
    timer_set(m->console_timer, CONSOLE_MS, 0);
}

/* Reads what was written since the last timer tick first: a guest that crashes writes most of its output then. */
char *vm_instance_console_text(struct vm_instance *m)
{
    for (int i = 0; i < CONSOLE_LAST && (read_piece(m, m->console) > 0 || read_piece(m, m->errors) > 0); i++)
        ;
    return vm_console_text(&m->text);
}

static void open_console(struct vm_instance *m)
{
    CLEANUP(free_p) char *path = own_path(m, "console");
    struct stat st;
    if (m->site->vmm->has_vsock) {
        CLEANUP(close_fd_p)
        int fd = openat(m->box_fd, VMM_CONSOLE_NAME, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) /* the VMM can replace it */
            m->console = steal_fd(&fd);
    } else {
        m->console = unixsock_dial(path);
    }
    m->console_timer = timer_new(m->site->loop, -1, 0, console_on_pause_over, m);
    /* On failure only the console text for error messages is lost. */
    const int fds[] = { m->console, m->errors };
    for (size_t i = 0; i < 2; i++)
        if (fds[i] >= 0)
            (void)watch_new(m->site->loop, fds[i], LOOP_READ, console_on_output, m, &m->output_watches[i]);
}

/* --- pause and resume --- */

struct freezing {
    struct freezing *next;
    struct vm_instance *m; /* NULL: the instance was freed meanwhile */
    vm_instance_fn *fn;
    void *arg;
};

static void freezing_on_done(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    CLEANUP(free_p) struct freezing *f = arg;
    (void)reply;
    (void)fds;
    if (!f->m)
        return;
    LIST_TAKE(f->m->freezings, f);
    f->fn(f->arg, err);
}

static void instance_freeze(struct vm_instance *m, enum vm_tool_wire_op op, vm_instance_fn *fn, void *arg)
{
    struct vm_tool_wire_request q = { .version = VM_TOOL_WIRE_VERSION, .op = op };
    struct freezing *f = xzalloc(sizeof(*f));
    *f = (struct freezing){ .next = m->freezings, .m = m, .fn = fn, .arg = arg };
    m->freezings = f;
    memcpy(q.name, m->name, sizeof(q.name));
    vm_tool_call_start(&m->site->calls, &q, "", NULL, 0, freezing_on_done, f);
}

void vm_instance_pause(struct vm_instance *m, vm_instance_fn *fn, void *arg)
{
    if (m->site->vmm->pause)
        m->site->vmm->pause(m->control, fn, arg);
    else
        instance_freeze(m, VM_TOOL_WIRE_FREEZE, fn, arg);
}

void vm_instance_resume(struct vm_instance *m, vm_instance_fn *fn, void *arg)
{
    if (m->site->vmm->resume)
        m->site->vmm->resume(m->control, fn, arg);
    else
        instance_freeze(m, VM_TOOL_WIRE_THAW, fn, arg);
}

/* --- the end --- */

static void instance_free(struct vm_instance *m)
{
    for (struct freezing *f = m->freezings; f; f = f->next)
        f->m = NULL;
    watch_free(m->exit);
    watch_free(m->output_watches[0]);
    watch_free(m->output_watches[1]);
    timer_free(m->console_timer);
    m->site->vmm->close(m->control);
    int fds[] = { m->pidfd, m->console, m->errors, m->box_fd };
    seqsock_close_all(fds, 4);
    free(m);
}

struct ending {
    struct vm_instance_site *site;
    int pidfd; /* of our child, to be reaped; or NO_FD */
    char name[VM_TOOL_WIRE_NAME_MAX];
    vm_instance_fn *fn;
    void *arg;
};

static void ending_on_killed(void *arg, const struct vm_tool_wire_reply *reply, const int *fds, const struct err *err)
{
    CLEANUP(free_p) struct ending *e = arg;
    (void)reply;
    (void)fds;
    for (size_t i = 0; !err && i < SOCKETS; i++) {
        CLEANUP(free_p) char *path = socket_path(e->site, e->name, sockets[i]);
        (void)unlink(path); /* may not exist */
    }
    if (e->pidfd >= 0) {
        siginfo_t info;
        (void)waitid(P_PIDFD, (id_t)e->pidfd, &info,
                     WEXITED | WNOHANG); /* reaps it, unless it was adopted: then it is not our child */
        (void)close(e->pidfd);
    }
    if (e->fn)
        e->fn(e->arg, err);
}

static void send_kill(struct vm_instance_site *site, const char *name, pid_t pid, uint64_t start_time, struct ending *e)
{
    struct vm_tool_wire_request q = {
        .version = VM_TOOL_WIRE_VERSION, .op = VM_TOOL_WIRE_KILL, .pid = pid, .start_time = start_time
    };
    (void)snprintf(q.name, sizeof(q.name), "%s", name);
    vm_tool_call_start(&site->calls, &q, "", NULL, 0, ending_on_killed, e);
}

static struct ending *ending_new(struct vm_instance_site *site, const char *name, vm_instance_fn *fn, void *arg)
{
    struct ending *e = xzalloc(sizeof(*e));
    *e = (struct ending){ .site = site, .pidfd = NO_FD, .fn = fn, .arg = arg };
    (void)snprintf(e->name, sizeof(e->name), "%s", name);
    return e;
}

void vm_instance_kill_name(struct vm_instance_site *site, const char *name, vm_instance_fn *fn, void *arg)
{
    send_kill(site, name, 0, 0, ending_new(site, name, fn, arg));
}

void vm_instance_kill(struct vm_instance *m, vm_instance_fn *fn, void *arg)
{
    if (m->is_starting) { /* instance_on_started() kills it */
        m->is_unwanted = true;
        m->fn = fn;
        m->arg = arg;
        return;
    }
    struct ending *e = ending_new(m->site, m->name, fn, arg);
    e->pidfd = steal_fd(&m->pidfd);
    send_kill(m->site, m->name, m->pid, m->start_time, e);
    instance_free(m);
}

void vm_instance_forget(struct vm_instance *m)
{
    if (m->is_starting)
        m->is_unwanted = true;
    else
        instance_free(m);
}

void vm_instance_on_gone(struct vm_instance *m, loop_fn *fn, void *arg)
{
    m->on_gone = fn;
    m->gone_arg = arg;
}

void vm_instance_on_late(struct vm_instance *m, loop_fn *fn, void *arg)
{
    m->on_late = fn;
    m->late_arg = arg;
}

static void on_late_of(void *arg)
{
    struct vm_instance *m = arg;
    if (m->on_late)
        m->on_late(m->late_arg);
}

/* --- start and adopt --- */

static void instance_on_open(void *arg, const struct err *err)
{
    struct vm_instance *m = arg;
    vm_instance_fn *fn = m->fn;
    void *to = m->arg;
    struct err why = err ? *err : (struct err)ERR_INIT;
    m->fn = NULL;
    if (err) {
        CLEANUP(free_p) char *text = vm_instance_console_text(m);
        if (*text)
            (void)err_wrap(&why, 0, "%s", text + (strlen(text) > 200 ? strlen(text) - 200 : 0));
        vm_instance_kill(m, NULL, NULL);
    }
    if (fn)
        fn(to, err ? &why : NULL);
}

/* A VMM that exits before it accepts commands never answers: fail the start now. */
static void on_exit_of(void *arg)
{
    struct vm_instance *m = arg;
    siginfo_t info;
    loop_fn *fn = m->on_gone;
    struct err why = ERR_INIT;
    m->exit = watch_free(m->exit);
    (void)waitid(P_PIDFD, (id_t)m->pidfd, &info,
                 WEXITED | WNOHANG); /* fails for an adopted process, which is not our child */
    m->on_gone = NULL;
    if (m->fn) {
        (void)err_set(&why, ERR_UPSTREAM, 0, "%s exited at its start", m->site->vmm->name);
        instance_on_open(m, &why);
    } else if (fn) {
        fn(m->gone_arg);
    }
}

static int watch_process(struct vm_instance *m, struct err *err)
{
    int r = loop_on_exit(m->site->loop, m->pidfd, on_exit_of, m, &m->exit);
    return r < 0 ? err_sys(err, r, "watch the VM") : 0;
}

static void on_hushed(void *arg, const struct err *err)
{
    (void)arg;
    (void)err; /* the next command reports it as well */
}

void vm_instance_hush(struct vm_instance *m)
{
    CLEANUP(free_p) char *path = own_path(m, "control");
    struct vmm_start s = {
        .loop = m->site->loop, .control = path, .box_fd = m->box_fd, .request = &m->request, .arg = m
    };
    m->on_gone = NULL;
    m->site->vmm->close(m->control);
    m->control = m->site->vmm->reopen(&s, on_hushed, m);
}

static void open_control(struct vm_instance *m, bool is_new)
{
    CLEANUP(free_p) char *path = own_path(m, "control");
    char line[VMM_LINE_MAX] = "";
    if (is_new && m->site->vmm->has_vsock && !(m->request.flags & VM_TOOL_WIRE_INCOMING))
        vmm_command_line(m->site->vmm, true, line); /* other VMMs have it in their argv */
    struct vmm_start s = { .loop = m->site->loop,
                           .control = path,
                           .box_fd = m->box_fd,
                           .command_line = line,
                           .request = &m->request,
                           .on_late = on_late_of,
                           .arg = m };
    open_console(m);
    const struct vmm_ops *vmm = m->site->vmm;
    m->control = is_new ? vmm->open(&s, instance_on_open, m) : vmm->reopen(&s, instance_on_open, m);
}

static void instance_on_started(void *arg, const struct vm_tool_wire_reply *reply, const int *fds,
                                const struct err *err)
{
    struct vm_instance *m = arg;
    struct err why = err ? *err : (struct err)ERR_INIT;
    m->is_starting = false;
    if (fds[VM_TOOL_WIRE_REPLY_PIDFD] >= 0) {
        m->pidfd = fds[VM_TOOL_WIRE_REPLY_PIDFD];
        m->errors = fds[VM_TOOL_WIRE_REPLY_ERRORS];
    }
    if (!err) {
        m->pid = reply->pid;
        m->start_time = reply->start_time;
    }
    if (m->is_unwanted) {
        vm_instance_kill(m, m->fn, m->arg);
        return;
    }
    if (err || watch_process(m, &why) < 0)
        instance_on_open(m, &why);
    else
        open_control(m, true);
}

/* The VMM runs as another user and makes its sockets in this folder; the parent folders admit only the server. */
static int make_box(struct vm_instance *m, int fds[VM_TOOL_WIRE_FDS], struct err *err)
{
    CLEANUP(free_p) char *path = own_path(m, VM_TOOL_WIRE_BOX_SUFFIX + 1);
    if (mkdir(path, 0700) < 0)
        return err_sys(err, -errno, "make %s", path);
    m->box_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fds[VM_TOOL_WIRE_FD_BOX] = m->box_fd < 0 ? NO_FD : fcntl(m->box_fd, F_DUPFD_CLOEXEC, 3);
    if (fds[VM_TOOL_WIRE_FD_BOX] < 0 || fchmod(m->box_fd, 0777) < 0)
        return err_sys(err, -errno, "open %s", path);
    return 0;
}

static int open_files(struct vm_instance *m, const struct vm_instance_plan *plan, int fds[VM_TOOL_WIRE_FDS],
                      struct err *err)
{
    const struct vm_instance_site *s = m->site;
    const char *const paths[] = { s->kernel, s->initramfs, plan->base };
    int r = s->vmm->has_vsock ? make_box(m, fds, err) : 0;
    if (r < 0)
        return r;
    for (size_t i = 0; !s->vmm->has_vsock && i < SOCKETS; i++) {
        CLEANUP(free_p) char *path = own_path(m, sockets[i]);
        fds[i] = unixsock_listen(path, 0, 4);
        if (fds[i] < 0)
            return err_sys(err, fds[i], "listen at %s", path);
    }
    for (size_t i = 0; i < 3; i++) {
        fds[VM_TOOL_WIRE_FD_KERNEL + i] = open(paths[i], O_RDONLY | O_CLOEXEC);
        if (fds[VM_TOOL_WIRE_FD_KERNEL + i] < 0)
            return err_sys(err, -errno, "open %s", paths[i]);
    }
    fds[VM_TOOL_WIRE_FD_DISK] = fcntl(plan->disk_fd, F_DUPFD_CLOEXEC, 3);
    fds[VM_TOOL_WIRE_FD_RAM] = fcntl(plan->ram_fd, F_DUPFD_CLOEXEC, 3);
    return fds[VM_TOOL_WIRE_FD_DISK] < 0 || fds[VM_TOOL_WIRE_FD_RAM] < 0 ? err_sys(err, -EMFILE, "start a VM") : 0;
}

struct refusal {
    struct vm_instance *m;
    struct err err;
};

static void tell_refusal(void *arg)
{
    static const int none[VM_TOOL_WIRE_REPLY_FDS] = { NO_FD, NO_FD };
    CLEANUP(free_p) struct refusal *r = arg;
    instance_on_started(r->m, NULL, none, &r->err);
}

static struct vm_instance *instance_new(struct vm_instance_site *site, vm_instance_fn *fn, void *arg)
{
    struct vm_instance *m = xzalloc(sizeof(*m));
    *m = (struct vm_instance){
        .site = site, .pidfd = NO_FD, .box_fd = NO_FD, .console = NO_FD, .errors = NO_FD, .fn = fn, .arg = arg
    };
    return m;
}

static void instance_refuse_start(struct vm_instance *m, const struct err *err)
{
    struct refusal *r = xzalloc(sizeof(*r));
    *r = (struct refusal){ .m = m, .err = *err };
    m->is_starting = true;
    loop_defer(m->site->loop, tell_refusal, r);
}

void vm_instance_new_name(char ret[VM_TOOL_WIRE_NAME_MAX])
{
    uint64_t random;
    ident_random(&random, sizeof(random));
    ident_hex(&random, sizeof(random), ret);
}

struct vm_instance *vm_instance_start(struct vm_instance_site *site, const struct vm_instance_plan *plan,
                                      vm_instance_fn *fn, void *arg)
{
    struct vm_instance *m = instance_new(site, fn, arg);
    struct err err = ERR_INIT;
    int fds[VM_TOOL_WIRE_FDS];
    memset(fds, 0xff, sizeof(fds));
    (void)snprintf(m->name, sizeof(m->name), "%s", plan->name);
    m->request = (struct vm_tool_wire_request){ .version = VM_TOOL_WIRE_VERSION,
                                                .op = VM_TOOL_WIRE_START,
                                                .vmm = site->vmm_number,
                                                .flags = plan->flags | (plan->is_kvm ? VM_TOOL_WIRE_KVM : 0) |
                                                         (site->has_taps ? VM_TOOL_WIRE_TAPS : 0),
                                                .memory_mb = plan->memory_mb,
                                                .cpus = plan->cpus,
                                                .cpu_milli = plan->cpu_milli };
    memcpy(m->request.name, m->name, sizeof(m->name));
    m->is_starting = true;
    size_t n;
    enum vm_tool_wire_fd first = vm_tool_wire_fds(site->vmm_number, &n);
    if (open_files(m, plan, fds, &err) < 0)
        instance_refuse_start(m, &err);
    else
        vm_tool_call_start(&site->calls, &m->request, "", fds + first, n, instance_on_started, m);
    seqsock_close_all(fds, VM_TOOL_WIRE_FDS);
    return m;
}

struct vm_instance *vm_instance_adopt(struct vm_instance_site *site, const struct vm_instance_plan *plan, pid_t pid,
                                      uint64_t start_time, vm_instance_fn *fn, void *arg)
{
    struct vm_instance *m = instance_new(site, fn, arg);
    struct err err = ERR_INIT;
    (void)snprintf(m->name, sizeof(m->name), "%s", plan->name);
    m->request.memory_mb = plan->memory_mb;
    memcpy(m->request.name, m->name, sizeof(m->name));
    CLEANUP(free_p) char *box = own_path(m, VM_TOOL_WIRE_BOX_SUFFIX + 1);
    m->box_fd = site->vmm->has_vsock ? open(box, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : NO_FD;
    m->pid = pid;
    m->start_time = start_time;
    m->pidfd = pid > 1 ? proc_open(pid) : -ESRCH;
    uint64_t since = m->pidfd < 0 ? 0 : proc_start_time(pid);
    if (m->pidfd < 0 ||
        (since &&
         since != start_time)) /* 0: /proc hides it. If the pid was reused, connecting to the control socket fails */
        (void)err_set(&err, ERR_GONE, 0, "its VM has ended");
    else if (watch_process(m, &err) == 0) {
        open_control(m, false);
        return m;
    }
    instance_refuse_start(m, &err);
    return m;
}
