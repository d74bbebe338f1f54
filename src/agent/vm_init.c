#include "agent/vm_init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/box_root.h"
#include "agent/vm_drive.h"
#include "agent/vm_nic.h"
#include "agent/vm_root.h"
#include "guest/proto_vm.h"
#include "os/seqsock.h"

struct state {
    struct vm_init *with;
    struct box_root box; /* holds shm, and the failed step */
    bool has_entered;
    bool is_note; /* the request came on the port for notes */
    uint8_t token[sizeof(((struct vm_handshake *)0)->token)];
};

/* Reboots, which all our VMMs treat as power-off: not all of them support a power-off. */
_Noreturn void vm_init_end(const char *fmt, ...)
{
    char text[300];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    (void)dprintf(STDERR_FILENO, "iii-guest: %s\n", text);
    sync();
    (void)reboot(RB_AUTOBOOT);
    for (;;)
        (void)pause();
}

int vm_init_write(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    (void)close(fd); /* errors were reported by write */
    return r;
}

/* Mixed in and used at once: otherwise clones of one snapshot would generate the same numbers. */
static int add_entropy(struct box_root *b, const struct vm_handshake *h)
{
    struct {
        int bits, bytes;
        uint8_t seed[sizeof(h->seed)];
    } pool = { .bits = 8 * sizeof(h->seed), .bytes = sizeof(h->seed) };
    memcpy(pool.seed, h->seed, sizeof(pool.seed));
    int fd = open("/dev/random", O_RDWR | O_NOCTTY | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;
    if (r >= 0 && (ioctl(fd, RNDADDENTROPY, &pool) < 0 || ioctl(fd, RNDRESEEDCRNG) < 0))
        r = -errno;
    if (fd >= 0)
        (void)close(fd);
    explicit_bzero(pool.seed, sizeof(pool.seed));
    return r < 0 ? box_root_fail(b, r, "add entropy") : 0;
}

static int set_clock(struct box_root *b, const struct vm_handshake *h)
{
    struct timespec now = { .tv_sec = (time_t)(h->realtime_ns / 1000000000u),
                            .tv_nsec = (long)(h->realtime_ns % 1000000000u) };
    return clock_settime(CLOCK_REALTIME, &now) < 0 ? box_root_fail(b, -errno, "set the clock") : 0;
}

static int limit_processes(struct box_root *b, int group, uint32_t most)
{
    char text[16] = "max";
    if (group < 0)
        return most ? box_root_fail(b, -ENOSYS, "limit processes to %u: this kernel has no pids controller", most) : 0;
    if (most)
        (void)snprintf(text, sizeof(text), "%u", most);
    int r = vm_init_write(group, "pids.max", text);
    return r < 0 ? box_root_fail(b, r, "limit processes to %s", text) : 0;
}

static int set_name(struct box_root *b, const struct vm_handshake *h)
{
    if (sethostname(h->hostname, strnlen(h->hostname, sizeof(h->hostname))) < 0)
        return box_root_fail(b, -errno, "set the host name");
    return 0;
}

static int identity_take(struct state *s, const struct vm_handshake *h)
{
    struct box_root *b = &s->box;
    int r = add_entropy(b, h);
    if (r >= 0)
        r = set_name(b, h);
    if (r >= 0)
        r = set_clock(b, h);
    if (r >= 0)
        r = limit_processes(b, s->with->group, h->pids_max);
    struct rlimit files = { h->nofile, h->nofile };
    if (r >= 0 && prlimit(s->with->agent, RLIMIT_NOFILE, &files, NULL) < 0)
        r = box_root_fail(b, -errno, "limit descriptors to %u", h->nofile);
    if (r >= 0)
        r = box_root_shm(b, h->shm_mb);
    if (r >= 0)
        r = vm_nic_reset(b);
    for (unsigned i = 0; r >= 0 && i < VM_HANDSHAKE_NICS; i++)
        r = vm_nic_set(b, &h->nic[i]);
    if (r < 0)
        return r;
    memcpy(s->token, h->token, sizeof(s->token));
    s->has_entered = true;
    return 0;
}

static bool is_token(const struct state *s, const uint8_t *token)
{
    uint8_t differ = 0;
    for (size_t i = 0; i < sizeof(s->token); i++)
        differ |= s->token[i] ^ token[i];
    return differ == 0;
}

static int handshake_take(struct state *s, const struct vm_handshake *h)
{
    if (proto_vm_is_inner(h) && !s->is_note) /* only the agent sends these, and they need no token */
        return h->what == VM_HANDSHAKE_NAME ? set_name(&s->box, h) : set_clock(&s->box, h);
    const char *why = proto_vm_complaint(h);
    if (why)
        return box_root_fail(&s->box, -EINVAL, "handshake with a %s", why);
    if (proto_vm_is_note(h) != s->is_note)
        return box_root_fail(&s->box, -EINVAL, "handshake and note use separate ports");
    if (h->what == VM_HANDSHAKE_ENTER)
        return identity_take(s, h);
    if (!s->has_entered)
        return box_root_fail(&s->box, -ENOTCONN, "this VM has no identity yet: there is nothing to rejoin");
    if (!is_token(s, h->token))
        return box_root_fail(&s->box, -EACCES, "the token belongs to another VM");
    if (h->what == VM_HANDSHAKE_PLUG || h->what == VM_HANDSHAKE_UNPLUG)
        return vm_nic_do(&s->box, h);
    return s->is_note ? vm_drive_do(&s->box, h, s->with->agent) : set_clock(&s->box, h);
}

/* --- requests --- */

static void reply_to(struct state *s, struct vm_handshake *h, struct vm_handshake_reply *ret)
{
    *ret =
        (struct vm_handshake_reply){ .magic = VM_HANDSHAKE_MAGIC, .version = VM_HANDSHAKE_VERSION, .nonce = h->nonce };
    s->box.why[0] = '\0';
    ret->result = handshake_take(s, h);
    (void)snprintf(ret->text, sizeof(ret->text), "%s", s->box.why);
    explicit_bzero(h, sizeof(*h));
}

static void on_control(struct state *s)
{
    static struct vm_handshake handshake;
    struct vm_handshake_reply reply;
    size_t n_fds = 0;
    ssize_t n = seqsock_recv(s->with->control, &handshake, sizeof(handshake), NULL, 0, &n_fds);
    if (n == 0) {
        int status = 0;
        if (waitpid(s->with->agent, &status, 0) == s->with->agent && WIFSIGNALED(status))
            vm_init_end("the agent was killed by signal %d%s", WTERMSIG(status),
                        WTERMSIG(status) == SIGKILL ? " (is the VM out of memory?)" : "");
        vm_init_end("the agent exited with status %d", WEXITSTATUS(status));
    }
    if (n != (ssize_t)sizeof(handshake))
        vm_init_end("the agent sent something that is not a handshake");
    s->is_note = false;
    reply_to(s, &handshake, &reply);
    struct iovec parts[2] = { { &reply, sizeof(reply) }, { NULL, 0 } };
    (void)seqsock_send(s->with->control, parts, NULL, 0); /* the loop notices an agent that is gone */
}

static void note_take(void *arg, struct vm_handshake *note, struct vm_handshake_reply *ret)
{
    struct state *s = arg;
    s->is_note = true;
    reply_to(s, note, ret);
}

_Noreturn void vm_init_run(struct vm_init *w)
{
    static struct state s;
    struct vm_root_ready ready;
    size_t n_fds = 0;
    struct epoll_event e;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    s = (struct state){ .with = w, .box = BOX_ROOT_INIT };
    (void)reboot(RB_DISABLE_CAD); /* disables Ctrl-Alt-Del */
    /* Blocks: there is nothing else to do before the agent's first message. */
    ssize_t got = seqsock_recv(w->control, &ready, sizeof(ready), &s.box.shm, 1, &n_fds);
    if (got != (ssize_t)sizeof(ready))
        vm_init_end("the agent exited before its root was created");
    ready.text[sizeof(ready.text) - 1] = '\0';
    if (ready.result < 0 || n_fds != 1)
        vm_init_end("%s: %s", ready.text, strerror(-ready.result));
    (void)vm_nic_reset(&s.box); /* repeated by the handshake, where it must succeed */
    struct epoll_event control = { .events = EPOLLIN, .data.fd = w->control };
    int r = epoll_ctl(epoll, EPOLL_CTL_ADD, w->control, &control) < 0 ? -errno : 0;
    if (r >= 0)
        r = vm_notes_watch(&w->notes, epoll, note_take, &s);
    if (r < 0)
        vm_init_end("watch the ports: %s", strerror(-r));
    for (;;) {
        int n = epoll_wait(epoll, &e, 1, -1);
        if (n < 0 && errno != EINTR)
            vm_init_end("wait: %s", strerror(errno));
        if (n > 0 && e.data.fd == w->control)
            on_control(&s);
        else if (n > 0)
            vm_notes_event(&w->notes, e.data.fd);
    }
}
