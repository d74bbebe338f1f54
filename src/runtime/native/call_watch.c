/* Theory of operation. The launcher forks this process at the first box and sends it, over a SEQPACKET socket, two
 * descriptors for each: the seccomp listener and the write end of the agent's pipe. One epoll loop serves all. A box is
 * dropped when its agent is gone (EPOLLERR of the pipe); the process exits when the launcher and the last box are gone.
 *
 * A denied call is one turn: receive the notification, look the caller up in /proc, check that the notification is
 * still valid (else the process number may belong to another process by now), answer, take note. The answer is computed
 * by running the box's filter over the call (watched_filter_run), so it is the one that the kernel would have given.
 *
 * Notes are lines of program and call with a count. The first is reported at once, the following ones at most once in
 * CALL_WATCH_PERIOD; what fits in no line is counted as lost. A box over its share of answers is not polled until the
 * next tick: its calls wait, and those of others do not. */
#include "runtime/native/call_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "os/confine.h"
#include "os/denied_call.h"
#include "os/proc.h"
#include "os/seqsock.h"
#include "os/syscall_allowlist.h"

#define NOBODY       65534
#define BATCH        64
#define CHANNEL_FD   3
#define MESSAGE_ROOM 512 /* for a struct seccomp_notif of a newer kernel */

struct watched {
    struct watched *next;
    const struct filter *filter;
    int listener, report;
    unsigned answers, lookups; /* left in this tick, in this period */
    bool is_waiting;           /* for the next tick */
    int64_t next_us;           /* when it may report again */
    size_t n_lines;
    uint64_t lost;
    struct denied_call lines[CALL_WATCH_LINES];
};

struct watcher {
    const struct filter *filters;
    int epoll;
    bool is_alone; /* the launcher is gone */
    struct watched *boxes;
    int64_t tick_us; /* when boxes get their next share of answers */
    bool has_waiting, has_lines;
};

/* --- reports --- */

static void box_drop(struct watcher *w, struct watched *b)
{
    struct watched **at = &w->boxes;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    /* Closing alone would leave them in the set while a fork of the launcher, or a message in flight, has a copy: their
     * next event would be that of a freed box, or of another one in its place. */
    (void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, b->listener, NULL); /* not in the set yet: nothing to do */
    (void)epoll_ctl(w->epoll, EPOLL_CTL_DEL, b->report, NULL);
    (void)close(b->listener); /* with the last copy, calls that wait for an answer get ENOSYS */
    (void)close(b->report);
    free(b);
}

/* What does not fit into the pipe is lost, and counted in the next line: the agent of a paused box reads nothing. */
static void box_report(struct watched *b, int64_t now_us)
{
    for (size_t i = 0; i < b->n_lines; i++) {
        struct denied_call *line = &b->lines[i];
        line->lost = b->lost;
        if (write(b->report, line, sizeof(*line)) == (ssize_t)sizeof(*line))
            b->lost = 0;
        else
            b->lost += line->count;
    }
    b->n_lines = 0;
    b->lookups = CALL_WATCH_LOOKUPS;
    b->next_us = now_us + CALL_WATCH_PERIOD * 1000;
}

static void box_note(struct watcher *w, struct watched *b, const struct denied_call *call)
{
    int64_t now_us = clock_mono_us();
    size_t i = 0;
    while (i < b->n_lines && (b->lines[i].nr != call->nr || b->lines[i].arch != call->arch ||
                              strcmp(b->lines[i].program, call->program) != 0))
        i++;
    if (i == CALL_WATCH_LINES) {
        b->lost++;
    } else if (i == b->n_lines) {
        b->lines[b->n_lines++] = *call;
    } else {
        b->lines[i].count++;
        b->lines[i].pid = call->pid ? call->pid : b->lines[i].pid;
    }
    if (now_us >= b->next_us)
        box_report(b, now_us);
    else
        w->has_lines = true;
}

/* --- one call --- */

static size_t read_proc(uint32_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* The number behind a name in /proc/PID/status: the first or the last of its line. */
static uint32_t status_number(const char *text, const char *name, bool is_last)
{
    const char *at = strstr(text, name);
    if (!at)
        return 0;
    at += strlen(name);
    const char *end = at + strcspn(at, "\n");
    while (is_last && end > at && end[-1] != '\t')
        end--;
    return (uint32_t)strtoul(is_last ? end : at, NULL, 10);
}

/* tid is as we see it. Fields that cannot be read stay empty. */
static void look_up(uint32_t tid, struct denied_call *call)
{
    char status[2048], comm[DENIED_CALL_PROGRAM + 2];
    if (read_proc(tid, "status", status, sizeof(status)) == 0)
        return;
    /* Behind the name, which the caller chooses; the kernel escapes line ends in it. */
    uint32_t process = status_number(status, "\nTgid:\t", false);
    call->pid = status_number(status, "\nNStgid:\t", true);
    size_t n = read_proc(process ? process : tid, "comm", comm, sizeof(comm));
    if (n > 0 && comm[n - 1] == '\n')
        n--;
    if (n >= sizeof(call->program))
        n = sizeof(call->program) - 1;
    memcpy(call->program, comm, n);
}

static void box_answer(struct watcher *w, struct watched *b)
{
    union {
        struct seccomp_notif notif;
        char room[MESSAGE_ROOM];
    } m;
    memset(&m, 0, sizeof(m)); /* the kernel demands it */
    if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &m) < 0)
        return; /* its caller was killed meanwhile */
    struct denied_call call = { .nr = (uint32_t)m.notif.data.nr, .arch = m.notif.data.arch, .count = 1 };
    int error = filter_errno(b->filter, &m.notif.data);
    call.error = error > 0 ? (uint32_t)error : EPERM; /* it was denied: no other answer is possible */
    if (b->lookups > 0) {
        b->lookups--;
        look_up(m.notif.pid, &call);
        if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &m.notif.id) < 0)
            return;
    }
    union {
        struct seccomp_notif_resp resp;
        char room[MESSAGE_ROOM];
    } answer;
    memset(&answer, 0, sizeof(answer));
    answer.resp.id = m.notif.id;
    answer.resp.error = -(int32_t)call.error;
    (void)ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer); /* a caller that is gone needs none */
    box_note(w, b, &call);
}

/* --- the loop --- */

static void box_poll(struct watcher *w, struct watched *b, bool is_on)
{
    struct epoll_event e = { .events = is_on ? EPOLLIN : 0, .data.ptr = b };
    (void)epoll_ctl(w->epoll, EPOLL_CTL_MOD, b->listener, &e); /* it is in the set */
    b->is_waiting = !is_on;
}

static void on_box(struct watcher *w, struct watched *b)
{
    if (b->answers == 0) {
        box_poll(w, b, false);
        w->has_waiting = true;
        return;
    }
    b->answers--;
    box_answer(w, b);
}

static void box_take(struct watcher *w, enum filter_profile profile, int listener, int report)
{
    struct watched *b = xzalloc(sizeof(*b));
    *b = (struct watched){ .next = w->boxes,
                           .filter = &w->filters[profile],
                           .listener = listener,
                           .report = report,
                           .answers = CALL_WATCH_ANSWERS,
                           .lookups = CALL_WATCH_LOOKUPS };
    /* The pipe has no reader any more when the agent is gone. Bit 0 tells the two apart. */
    struct epoll_event calls = { .events = EPOLLIN, .data.ptr = b }, end = { .data.u64 = (uintptr_t)b | 1 };
    w->boxes = b;
    if (fcntl(report, F_SETFL, O_NONBLOCK) < 0 || epoll_ctl(w->epoll, EPOLL_CTL_ADD, listener, &calls) < 0 ||
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, report, &end) < 0)
        box_drop(w, b);
}

static void on_channel(struct watcher *w)
{
    uint32_t profile = 0;
    int fds[2] = { NO_FD, NO_FD };
    size_t n_fds = 0;
    ssize_t n = seqsock_recv(CHANNEL_FD, &profile, sizeof(profile), fds, 2, &n_fds);
    if (n == sizeof(profile) && n_fds == 2 && profile < FILTER_PROFILES)
        box_take(w, (enum filter_profile)profile, fds[0], fds[1]);
    else
        seqsock_close_all(fds, n_fds);
    if (n == 0) {
        w->is_alone = true;
        (void)close(CHANNEL_FD);
    }
}

/* Gives every box its next share of answers, and reports what has waited long enough. */
static void on_time(struct watcher *w, int64_t now_us)
{
    bool is_tick = now_us >= w->tick_us;
    w->has_lines = false;
    if (is_tick) {
        w->has_waiting = false;
        w->tick_us = now_us + CALL_WATCH_TICK_MS * 1000;
    }
    for (struct watched *b = w->boxes; b; b = b->next) {
        if (is_tick)
            b->answers = CALL_WATCH_ANSWERS;
        if (is_tick && b->is_waiting)
            box_poll(w, b, true);
        if (b->n_lines > 0 && now_us >= b->next_us)
            box_report(b, now_us);
        w->has_lines |= b->n_lines > 0;
    }
}

static void watch_run(struct watcher *w)
{
    struct epoll_event events[BATCH], channel = { .events = EPOLLIN, .data.ptr = NULL };
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, CHANNEL_FD, &channel) < 0)
        return;
    while (!w->is_alone || w->boxes) {
        int timeout = w->has_waiting ? CALL_WATCH_TICK_MS : w->has_lines ? CALL_WATCH_PERIOD / 4 : -1;
        int n = epoll_wait(w->epoll, events, BATCH, timeout);
        int64_t now_us = clock_mono_us();
        /* Ends last, and alone: a box that is dropped may have another event in the batch. */
        struct watched *gone = NULL;
        for (int i = 0; i < n && !gone; i++) {
            uintptr_t what = (uintptr_t)events[i].data.u64;
            if (what == 0)
                on_channel(w);
            else if (what & 1)
                gone = (struct watched *)(what & ~(uintptr_t)1);
            else if (!(events[i].events & EPOLLIN))
                gone = (struct watched *)what; /* the last process with this filter */
            else
                on_box(w, (struct watched *)what);
        }
        if (gone)
            box_drop(w, gone);
        if (now_us >= w->tick_us || w->has_lines)
            on_time(w, now_us);
    }
}

/* --- start --- */

/* Root, like every user, reads the names of processes; nothing else is needed. */
static int watch_confine(void)
{
    static const char *const calls[] = { "ioctl", "epoll_wait", "epoll_pwait", "epoll_ctl", "pread64",
                                         "lseek", "fstat",      "newfstatat",  NULL };
    struct err err = ERR_INIT;
    struct confine_who nobody = { .uid = NOBODY, .gid = NOBODY };
    if (geteuid() != 0)
        nobody = (struct confine_who){ .uid = geteuid(), .gid = getegid() };
    int r = confine_identity(&nobody, 0, &err);
    return r < 0 ? r : syscall_allowlist_enter(calls, true);
}

__attribute__((noreturn)) static void watch_main(const struct call_watch *from, int channel)
{
    struct rlimit files;
    struct watcher w = { .filters = from->filters };
    (void)prctl(PR_SET_NAME, "iii-calls"); /* for ps only */
    (void)setsid();                        /* fails only for a group leader, which is fine */
    /* Nothing of the launcher stays open: its lock, its mounts, its folders, the daemon's socket. */
    bool is_out = from->mounts < 0 || setns(from->mounts, CLONE_NEWNS) == 0;
    int keep = fcntl(channel, F_DUPFD_CLOEXEC, 10), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_set = is_out && chdir("/") == 0 && keep >= 0 && null >= 0 && dup2(null, 0) >= 0 && dup2(null, 1) >= 0 &&
                  dup2(null, 2) >= 0 && dup3(keep, CHANNEL_FD, O_CLOEXEC) >= 0 && proc_close_from(CHANNEL_FD + 1) >= 0;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* two for each box; as many as there may be */
    }
    w.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!is_set || w.epoll < 0 || watch_confine() < 0)
        _exit(1); /* the launcher's next message fails, and so the box's denied calls are answered ENOSYS */
    watch_run(&w);
    _exit(0);
}

static int watch_start(struct call_watch *w)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        watch_main(w, ends[1]);
    int r = pid < 0 ? -errno : 0;
    (void)close(ends[1]); /* the child has it */
    if (r < 0) {
        (void)close(ends[0]);
        return r;
    }
    w->channel = ends[0];
    w->pid = pid;
    return 0;
}

void call_watch_init(struct call_watch *w, const struct filter *filters)
{
    *w = (struct call_watch){ .channel = NO_FD, .filters = filters };
    w->mounts = geteuid() == 0 ? open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC) : NO_FD;
}

static void watch_reap(struct call_watch *w)
{
    if (w->channel >= 0)
        (void)close(w->channel); /* nothing is buffered */
    w->channel = NO_FD;
    if (w->pid > 0)
        (void)waitpid(w->pid, NULL, WNOHANG); /* it exits when it has read the end of the channel */
    w->pid = 0;
}

int call_watch_add(struct call_watch *w, enum filter_profile profile, int listener, int report)
{
    uint32_t number = profile;
    struct iovec parts[2] = { { &number, sizeof(number) }, { NULL, 0 } };
    const int fds[2] = { listener, report };
    int r = -EPIPE;
    for (int i = 0; i < 2 && r < 0; i++) {
        r = w->channel >= 0 ? 0 : watch_start(w);
        if (r < 0)
            return r;
        r = seqsock_send(w->channel, parts, fds, 2);
        if (r < 0)
            watch_reap(w); /* it died: those that it had are answered ENOSYS, new ones get a new process */
    }
    return r;
}

void call_watch_done(struct call_watch *w)
{
    watch_reap(w);
    if (w->mounts >= 0)
        (void)close(w->mounts); /* only a handle */
    w->mounts = NO_FD;
}
