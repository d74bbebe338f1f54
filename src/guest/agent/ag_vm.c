#include "guest/agent/ag_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/agent/ag_file.h"
#include "guest/agent/boxroot.h"
#include "guest/proto_vm.h"
#include "os/seqsock.h"

#define READ_BYTES  4096
#define GARBAGE_MAX (256u * 1024) /* read at one go without a hello: then others have their turn */
#define VMSTAT_MAX  16384
#define DOORS_MAX   16u /* connections whose hello has not come yet */

/* A stream whose hello has not come yet: the serial port, or one connection. */
struct door {
    struct ag_vm *vm;
    struct door *next; /* of connections */
    struct ag_watch watch;
    struct proto_vm scan;
};

struct ag_vm {
    struct agent *agent;
    int control, port_fd;
    struct door port; /* its watch has no descriptor while a link has it, or without a serial channel */
    struct ag_watch listener;
    struct door *doors;
    size_t n_doors;
    uint64_t oom_kills;
    int counts[VM_COUNTS];
};

/* What needs privilege is done by the warden, the rest here. Blocks until it is: no host is being served meanwhile. */
static void ask_warden(struct ag_vm *vm, const struct vmhello *h, struct vmhello_reply *ret)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)h, sizeof(*h) }, { NULL, 0 } };
    size_t n_fds = 0;
    int r = seqsock_send(vm->control, parts, NULL, 0);
    ssize_t n = r < 0 ? r : seqsock_recv(vm->control, ret, sizeof(*ret), NULL, 0, &n_fds);
    if (n != (ssize_t)sizeof(*ret))
        abort(); /* without a warden there is no machine */
}

int ag_vm_set_clock(struct ag_vm *vm, uint64_t wall_us)
{
    struct vmhello h = { .what = VMHELLO_CLOCK, .realtime_ns = wall_us * 1000 };
    struct vmhello_reply reply;
    ask_warden(vm, &h, &reply);
    return reply.result;
}

static void name_box(const char *hostname);

int ag_vm_set_name(struct ag_vm *vm, const char *name)
{
    struct vmhello h = { .what = VMHELLO_NAME };
    struct vmhello_reply reply;
    if (strlen(name) >= sizeof(h.hostname))
        return -ENAMETOOLONG;
    memcpy(h.hostname, name, strlen(name));
    ask_warden(vm, &h, &reply);
    if (reply.result >= 0)
        name_box(name);
    return reply.result;
}

/* The number behind `word` in a file of the kernel's; "" is its only one. 0 or -ENOSYS. */
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

int ag_vm_usage(struct ag_vm *vm, struct vm_usage *ret)
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

static void make_workdir(const struct vmhello *h, struct vmhello_reply *reply)
{
    struct boxroot b = BOXROOT_INIT;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r = root < 0 ? boxroot_fail(&b, -errno, "open /") : boxroot_workdir(&b, root, h->workdir);
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

/* The name where programs look for it, as in a native box: a clone still has that of whom it was copied from. */
static void name_box(const char *hostname)
{
    char text[sizeof(((struct vmhello *)0)->hostname) + 128];
    (void)snprintf(text, sizeof(text), "%s\n", hostname);
    write_etc("/etc/hostname", text);
    (void)snprintf(text, sizeof(text), "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t%s\n", hostname);
    write_etc("/etc/hosts", text);
}

/* Whoever answers for every name server. */
static void name_server(uint32_t a)
{
    char text[48];
    (void)snprintf(text, sizeof(text), "nameserver %u.%u.%u.%u\n", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
    (void)unlink("/etc/resolv.conf"); /* of an image it may be a link to nowhere */
    write_etc("/etc/resolv.conf", text);
}

/* Answers the hello that is whole. 0: the descriptor is a link now; else it is still the door's. */
static int answer(struct door *d, int fd, const uint8_t *rest, size_t len)
{
    struct ag_vm *vm = d->vm;
    struct vmhello hello = d->scan.msg.hello;
    struct vmhello_reply reply;

    proto_vm_next(&d->scan);
    if (hello.what == VMHELLO_PROBE && !proto_vm_complaint(&hello)) {
        reply = (struct vmhello_reply){ .version = VMHELLO_VERSION, .nonce = hello.nonce };
        memcpy(reply.magic, VMHELLO_MAGIC, VMHELLO_MAGIC_LEN);
        (void)!write(fd, &reply, sizeof(reply)); /* a host that does not hear it asks again */
        return -EAGAIN;
    }
    if (proto_vm_is_inner(&hello))
        hello.what = 0; /* ours alone: the warden would believe it without a token */
    ask_warden(vm, &hello, &reply);
    if (reply.result >= 0 && hello.what == VMHELLO_ENTER) {
        make_workdir(&hello, &reply);
        name_box(hello.hostname);
        if (hello.nic[0].gateway)
            name_server(hello.nic[0].gateway);
        ag_conn_break_all(vm->agent); /* links of whom this machine was before */
    }
    explicit_bzero(&hello, sizeof(hello));
    if (reply.result < 0) {
        (void)!write(fd, &reply, sizeof(reply)); /* a host that does not hear it asks again */
        return reply.result;
    }
    struct ag_conn_begin begin = {
        .first = &reply, .first_len = sizeof(reply), .rest = rest, .rest_len = len, .is_port = d == &vm->port
    };
    return ag_conn_begin(vm->agent, fd, &begin);
}

/* The bytes of a host that has just come may be here before the news of its coming. A link would take that for its end,
 * so the hello has to wait for the news. */
static bool has_news(const struct door *d)
{
    struct pollfd p = { .fd = d->watch.fd, .events = POLLIN };
    return d != &d->vm->port || (poll(&p, 1, 0) >= 0 && !(p.revents & POLLHUP));
}

/* Looks for hellos in what came. 1: the door's descriptor is a link now. */
static int feed(struct door *d, const uint8_t *data, size_t len)
{
    for (size_t at = 0;;) {
        at += proto_vm_feed(&d->scan, data + at, len - at);
        if (!proto_vm_is_whole(&d->scan) || !has_news(d))
            return 0;
        int fd = d->watch.fd;
        ag_loop_unwatch(&d->vm->agent->loop, &d->watch);
        d->watch.fd = -EBADF;
        if (answer(d, fd, data + at, len - at) >= 0)
            return 1;
        d->watch.fd = fd;
    }
}

/* --- serial port --- */
static void on_port(struct ag_watch *w, uint32_t events);

/* Told of every change once: without a host the port would report its hang-up over and over. That a host has come shows
 * in EPOLLOUT. */
static void watch_port(struct ag_vm *vm)
{
    vm->port.watch.fd = vm->port_fd;
    vm->port.watch.fn = on_port;
    ag_loop_unwatch(&vm->agent->loop, &vm->port.watch); /* what is there already is to be told again */
    if (ag_loop_watch(&vm->agent->loop, &vm->port.watch, EPOLLIN | EPOLLOUT | EPOLLET) < 0)
        ag_loop_stop(&vm->agent->loop); /* nobody can ever reach us again */
}

static void on_port(struct ag_watch *w, uint32_t events)
{
    struct door *d = (struct door *)((char *)w - offsetof(struct door, watch));
    uint8_t data[READ_BYTES];
    size_t total = 0;
    ssize_t n;

    (void)events;
    if (feed(d, (const uint8_t *)"", 0) > 0) /* one that was waiting */
        return;
    do {
        n = read(w->fd, data, sizeof(data));
        if (n > 0 && feed(d, data, (size_t)n) > 0)
            return;
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < GARBAGE_MAX);
    if (n == 0 && !proto_vm_is_whole(&d->scan)) /* no host, and all that the last one sent was read */
        proto_vm_init(&d->scan, sizeof(struct vmhello));
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        ag_loop_stop(&d->vm->agent->loop); /* the port is gone */
    if (n > 0 || !w->is_added)
        watch_port(d->vm);
}

void ag_vm_link_ended(struct agent *a, const uint8_t *rest, size_t len)
{
    struct ag_vm *vm = a->vm;

    proto_vm_init(&vm->port.scan, sizeof(struct vmhello));
    watch_port(vm);
    if (len > 0)
        (void)feed(&vm->port, rest, len);
    if (vm->port.watch.fd >= 0 && !vm->port.watch.is_added)
        watch_port(vm); /* a hello was refused */
}

/* --- vsock --- */
static void free_door(struct door *d)
{
    struct door **at = &d->vm->doors;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    d->vm->n_doors--;
    ag_loop_close(&d->vm->agent->loop, &d->watch);
    free(d);
}

static void on_door(struct ag_watch *w, uint32_t events)
{
    struct door *d = (struct door *)((char *)w - offsetof(struct door, watch));
    uint8_t data[READ_BYTES];
    ssize_t n = read(w->fd, data, sizeof(data));

    (void)events;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || feed(d, data, (size_t)n) > 0 || ag_loop_watch(&d->vm->agent->loop, w, EPOLLIN) < 0)
        free_door(d);
}

static void on_listener(struct ag_watch *w, uint32_t events)
{
    struct ag_vm *vm = (struct ag_vm *)((char *)w - offsetof(struct ag_vm, listener));
    int fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct door *d = fd < 0 || vm->n_doors >= DOORS_MAX ? NULL : calloc(1, sizeof(*d));

    (void)events;
    if (!d) {
        if (fd >= 0)
            (void)close(fd); /* the host sees the end of file, and calls again */
        return;
    }
    d->vm = vm;
    d->next = vm->doors;
    vm->doors = d;
    vm->n_doors++;
    proto_vm_init(&d->scan, sizeof(struct vmhello));
    d->watch = (struct ag_watch){ .fd = fd, .fn = on_door };
    if (ag_loop_watch(&vm->agent->loop, &d->watch, EPOLLIN) < 0)
        free_door(d);
}

static uint64_t count_oom_kills(void)
{
    static char text[VMSTAT_MAX];
    if (ag_file_proc(AT_FDCWD, "/proc/vmstat", text, sizeof(text)) <= 0)
        return 0;
    const char *row = strstr(text, "\noom_kill ");
    return row ? strtoull(row + strlen("\noom_kill "), NULL, 10) : 0;
}

bool ag_vm_was_oom(struct agent *a)
{
    if (!a->vm)
        return false;
    uint64_t before = a->vm->oom_kills;
    a->vm->oom_kills = count_oom_kills();
    return a->vm->oom_kills > before;
}

int ag_vm_start(struct agent *a, const struct vm_boot *plan)
{
    struct ag_vm *vm = calloc(1, sizeof(*vm));
    if (!vm)
        return -ENOMEM;
    vm->agent = a;
    vm->control = plan->control;
    vm->port_fd = plan->port_fd;
    memcpy(vm->counts, plan->counts, sizeof(vm->counts));
    vm->port = (struct door){ .vm = vm, .watch.fd = -EBADF };
    proto_vm_init(&vm->port.scan, sizeof(struct vmhello));
    vm->listener = (struct ag_watch){ .fd = plan->listen_fd, .fn = on_listener };
    vm->oom_kills = count_oom_kills();
    a->vm = vm;
    if (vm->port_fd >= 0)
        watch_port(vm);
    return vm->listener.fd < 0 ? 0 : ag_loop_watch(&a->loop, &vm->listener, EPOLLIN);
}
