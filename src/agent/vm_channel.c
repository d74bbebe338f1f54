/* Theory of operation. A struct candidate is a stream without a handshake yet: the serial port, or one vsock
 * connection. Its bytes go through a proto_vm scan. A complete handshake is passed to the VM's init process over the
 * control socket, which takes the identity; on success the descriptor becomes a link (conn.c) with the reply as its
 * first bytes, else the reply has the error and the candidate keeps waiting.
 *
 * struct agent_vm_channel owns the port, the listener and the candidates. The port is lent to a link and comes back by
 * agent_vm_channel_link_ended(); it is never closed. At most CANDIDATES_MAX connections wait; further ones are closed,
 * and the host tries again.
 *
 * A handshake for a new identity breaks all links of the former one. Without the init process or the port the agent
 * cannot be reached any more and ends, and the VM with it. */
#include "agent/vm_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/box_root.h"
#include "agent/file.h"
#include "guest/proto_vm.h"
#include "os/seqsock.h"

#define READ_BYTES     4096
#define GARBAGE_MAX    (256u * 1024) /* bytes read in one turn without a handshake; then others have their turn */
#define VMSTAT_MAX     16384
#define CANDIDATES_MAX 16u /* connections without a handshake yet */

/* A stream without a handshake yet: the serial port, or one connection. */
struct candidate {
    struct agent_vm_channel *vm;
    struct candidate *next; /* in the list of connections */
    struct agent_watch watch;
    struct proto_vm scan;
};

struct agent_vm_channel {
    struct agent *agent;
    int control, port_fd;
    struct candidate port; /* its watch has no descriptor while a link uses it, or without a serial channel */
    struct agent_watch listener;
    struct candidate *candidates;
    size_t n_candidates;
    uint64_t oom_kills;
    int counts[VM_COUNTS];
};

/* The init process does what needs privilege, the rest is done here. Blocks until it has replied: no host is served
 * meanwhile. */
static void ask_init(struct agent_vm_channel *vm, const struct vm_handshake *h, struct vm_handshake_reply *ret)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)h, sizeof(*h) }, { NULL, 0 } };
    size_t n_fds = 0;
    int r = seqsock_send(vm->control, parts, NULL, 0);
    ssize_t n = r < 0 ? r : seqsock_recv(vm->control, ret, sizeof(*ret), NULL, 0, &n_fds);
    if (n != (ssize_t)sizeof(*ret))
        abort(); /* without an init process there is no VM */
}

int agent_vm_channel_set_clock(struct agent_vm_channel *vm, uint64_t wall_us)
{
    struct vm_handshake h = { .what = VM_HANDSHAKE_CLOCK, .realtime_ns = wall_us * 1000 };
    struct vm_handshake_reply reply;
    ask_init(vm, &h, &reply);
    return reply.result;
}

static void name_box(const char *hostname);

int agent_vm_channel_set_name(struct agent_vm_channel *vm, const char *name)
{
    struct vm_handshake h = { .what = VM_HANDSHAKE_NAME };
    struct vm_handshake_reply reply;
    if (strlen(name) >= sizeof(h.hostname))
        return -ENAMETOOLONG;
    memcpy(h.hostname, name, strlen(name));
    ask_init(vm, &h, &reply);
    if (reply.result >= 0)
        name_box(name);
    return reply.result;
}

/* Reads the number behind `word` in a file of the kernel; "": the file's only number. 0 or -ENOSYS. */
static int read_count(int fd, const char *word, uint64_t *ret)
{
    char text[512];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, word);
    if (n <= 0 || !at)
        return -ENOSYS;
    *ret = strtoull(at + strlen(word), NULL, 10);
    return 0;
}

int agent_vm_channel_usage(struct agent_vm_channel *vm, struct vm_usage *ret)
{
    uint64_t pids = 0;
    *ret = (struct vm_usage){ 0 };
    int r = read_count(vm->counts[VM_COUNT_PIDS], "", &pids);
    if (r >= 0)
        r = read_count(vm->counts[VM_COUNT_MEMORY], "", &ret->memory_bytes);
    if (r >= 0)
        r = read_count(vm->counts[VM_COUNT_EVENTS], "oom_kill ", &ret->oom_kills);
    ret->pids = (uint32_t)pids;
    return r;
}

static void make_workdir(const struct vm_handshake *h, struct vm_handshake_reply *reply)
{
    struct box_root b = BOX_ROOT_INIT;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = root < 0 ? box_root_fail(&b, -errno, "open /") : box_root_workdir(&b, root, h->workdir);
    if (root >= 0)
        (void)close(root);
    reply->result = r;
    memcpy(reply->text, b.why, sizeof(b.why));
}

static void write_etc(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return; /* the image has something else there */
    (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

/* Sets the name where programs look for it, as in a native box: a clone still has that of its source. */
static void name_box(const char *hostname)
{
    char text[sizeof(((struct vm_handshake *)0)->hostname) + 128];
    (void)snprintf(text, sizeof(text), "%s\n", hostname);
    write_etc("/etc/hostname", text);
    (void)snprintf(text, sizeof(text), "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t%s\n", hostname);
    write_etc("/etc/hosts", text);
}

/* Answers the complete handshake. 0: the descriptor is a link now; else the candidate still owns it. */
static int handshake_answer(struct candidate *d, int fd, const uint8_t *rest, size_t len)
{
    struct agent_vm_channel *vm = d->vm;
    struct vm_handshake handshake = d->scan.msg.handshake;
    struct vm_handshake_reply reply;

    proto_vm_next(&d->scan);
    if (handshake.what == VM_HANDSHAKE_PROBE && !proto_vm_complaint(&handshake)) {
        reply = (struct vm_handshake_reply){ .version = VM_HANDSHAKE_VERSION, .nonce = handshake.nonce };
        memcpy(reply.magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
        (void)!write(fd, &reply, sizeof(reply)); /* a host that misses it asks again */
        return -EAGAIN;
    }
    if (proto_vm_is_inner(&handshake))
        handshake.what = 0; /* reserved for the agent: the init process would accept it without a token */
    ask_init(vm, &handshake, &reply);
    if (reply.result >= 0 && handshake.what == VM_HANDSHAKE_ENTER) {
        make_workdir(&handshake, &reply);
        name_box(handshake.hostname);
        uint32_t a = handshake.nic[0].gateway; /* answers for every name server */
        if (a) {
            char text[48];
            (void)snprintf(text, sizeof(text), "nameserver %u.%u.%u.%u\n", a >> 24, a >> 16 & 255, a >> 8 & 255,
                           a & 255);
            (void)unlink("/etc/resolv.conf"); /* in an image it may be a dangling link */
            write_etc("/etc/resolv.conf", text);
        }
        agent_conn_break_all(vm->agent); /* links of the former identity */
    }
    explicit_bzero(&handshake, sizeof(handshake));
    if (reply.result < 0) {
        (void)!write(fd, &reply, sizeof(reply)); /* a host that misses it asks again */
        return reply.result;
    }
    struct agent_conn_begin begin = {
        .first = &reply, .first_len = sizeof(reply), .rest = rest, .rest_len = len, .is_port = d == &vm->port
    };
    return agent_conn_begin(vm->agent, fd, &begin);
}

/* The bytes of a new host may arrive before the event of its connection. A link would take that event for a hang-up,
 * so the handshake waits for it. */
static bool has_news(const struct candidate *d)
{
    struct pollfd p = { .fd = d->watch.fd, .events = POLLIN };
    return d != &d->vm->port || (poll(&p, 1, 0) >= 0 && !(p.revents & POLLHUP));
}

/* Scans received bytes for handshakes. 1: the candidate's descriptor is a link now. */
static int candidate_feed(struct candidate *d, const uint8_t *data, size_t len)
{
    for (size_t at = 0;;) {
        at += proto_vm_feed(&d->scan, data + at, len - at);
        if (!proto_vm_is_whole(&d->scan) || !has_news(d))
            return 0;
        int fd = d->watch.fd;
        agent_loop_unwatch(&d->vm->agent->loop, &d->watch);
        d->watch.fd = -EBADF;
        if (handshake_answer(d, fd, data + at, len - at) >= 0)
            return 1;
        d->watch.fd = fd;
    }
}

/* --- serial port --- */
static void port_on_ready(struct agent_watch *w, uint32_t events);

/* Edge-triggered: without a host a level-triggered port would report its hang-up over and over. EPOLLOUT shows that
 * a host has connected. */
static void watch_port(struct agent_vm_channel *vm)
{
    vm->port.watch.fd = vm->port_fd;
    vm->port.watch.fn = port_on_ready;
    agent_loop_unwatch(&vm->agent->loop, &vm->port.watch); /* so that pending events are reported again */
    if (agent_loop_watch(&vm->agent->loop, &vm->port.watch, EPOLLIN | EPOLLOUT | EPOLLET) < 0)
        agent_loop_stop(&vm->agent->loop); /* nobody can reach us any more */
}

static void port_on_ready(struct agent_watch *w, uint32_t events)
{
    struct candidate *d = (struct candidate *)((char *)w - offsetof(struct candidate, watch));
    uint8_t data[READ_BYTES];
    size_t total = 0;
    ssize_t n;

    (void)events;
    if (candidate_feed(d, (const uint8_t *)"", 0) > 0) /* a handshake that waited for the event */
        return;
    do {
        n = read(w->fd, data, sizeof(data));
        if (n > 0 && candidate_feed(d, data, (size_t)n) > 0)
            return;
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < GARBAGE_MAX);
    if (n == 0 && !proto_vm_is_whole(&d->scan)) /* no host, and all bytes of the last one were read */
        proto_vm_init(&d->scan, sizeof(struct vm_handshake));
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        agent_loop_stop(&d->vm->agent->loop); /* the port is gone */
    if (n > 0 || !w->is_added)
        watch_port(d->vm);
}

void agent_vm_channel_link_ended(struct agent *a, const uint8_t *rest, size_t len)
{
    struct agent_vm_channel *vm = a->vm;

    proto_vm_init(&vm->port.scan, sizeof(struct vm_handshake));
    watch_port(vm);
    if (len > 0)
        (void)candidate_feed(&vm->port, rest, len);
    if (vm->port.watch.fd >= 0 && !vm->port.watch.is_added)
        watch_port(vm); /* a handshake was refused */
}

/* --- vsock --- */
static void free_candidate(struct candidate *d)
{
    struct candidate **at = &d->vm->candidates;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    d->vm->n_candidates--;
    agent_loop_close(&d->vm->agent->loop, &d->watch);
    free(d);
}

static void on_candidate(struct agent_watch *w, uint32_t events)
{
    struct candidate *d = (struct candidate *)((char *)w - offsetof(struct candidate, watch));
    uint8_t data[READ_BYTES];
    ssize_t n = read(w->fd, data, sizeof(data));

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || candidate_feed(d, data, (size_t)n) > 0 || agent_loop_watch(&d->vm->agent->loop, w, EPOLLIN) < 0)
        free_candidate(d);
}

static void channel_on_connection(struct agent_watch *w, uint32_t events)
{
    struct agent_vm_channel *vm = (struct agent_vm_channel *)((char *)w - offsetof(struct agent_vm_channel, listener));
    int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct candidate *d = fd < 0 || vm->n_candidates >= CANDIDATES_MAX ? NULL : calloc(1, sizeof(*d));

    (void)events;
    if (!d) {
        if (fd >= 0)
            (void)close(fd); /* the host sees the end of file and connects again */
        return;
    }
    d->vm = vm;
    d->next = vm->candidates;
    vm->candidates = d;
    vm->n_candidates++;
    proto_vm_init(&d->scan, sizeof(struct vm_handshake));
    d->watch = (struct agent_watch){ .fd = fd, .fn = on_candidate };
    if (agent_loop_watch(&vm->agent->loop, &d->watch, EPOLLIN) < 0)
        free_candidate(d);
}

static uint64_t count_oom_kills(void)
{
    static char text[VMSTAT_MAX];
    if (agent_file_proc(AT_FDCWD, "/proc/vmstat", text, sizeof(text)) <= 0)
        return 0;
    const char *row = strstr(text, "\noom_kill ");
    return row ? strtoull(row + strlen("\noom_kill "), NULL, 10) : 0;
}

bool agent_vm_channel_was_oom(struct agent *a)
{
    if (!a->vm)
        return false;
    uint64_t before = a->vm->oom_kills;
    a->vm->oom_kills = count_oom_kills();
    return a->vm->oom_kills > before;
}

int agent_vm_channel_start(struct agent *a, const struct vm_boot *plan)
{
    struct agent_vm_channel *vm = calloc(1, sizeof(*vm));
    if (!vm)
        return -ENOMEM;
    vm->agent = a;
    vm->control = plan->control;
    vm->port_fd = plan->port_fd;
    memcpy(vm->counts, plan->counts, sizeof(vm->counts));
    vm->port = (struct candidate){ .vm = vm, .watch.fd = -EBADF };
    proto_vm_init(&vm->port.scan, sizeof(struct vm_handshake));
    vm->listener = (struct agent_watch){ .fd = plan->listen_fd, .fn = channel_on_connection };
    vm->oom_kills = count_oom_kills();
    a->vm = vm;
    if (vm->port_fd >= 0)
        watch_port(vm);
    return vm->listener.fd < 0 ? 0 : agent_loop_watch(&a->loop, &vm->listener, EPOLLIN);
}
