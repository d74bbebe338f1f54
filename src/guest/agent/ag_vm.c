#include "guest/agent/ag_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/agent/boxroot.h"
#include "guest/proto_vm.h"
#include "os/seqsock.h"

#define READ_BYTES  4096
#define GARBAGE_MAX (1024u * 1024) /* read at one go without a hello: then the port is emptied by opening it again */
#define REOPEN_MS   100
#define DOORS_MAX   16u /* connections whose hello has not come yet */

/* A stream whose hello has not come yet: the serial port, or one connection. */
struct door {
    struct ag_vm *vm;
    struct door *next; /* of connections */
    struct ag_watch watch;
    struct proto_vm scan;
    bool is_dirty; /* something was read since it was opened */
};

struct ag_vm {
    struct agent *agent;
    int control, dev_dir;
    const char *port_name;
    struct door port; /* its watch has no descriptor while a link has it, or without a serial channel */
    struct ag_timer reopen;
    struct ag_watch listener;
    struct door *doors;
    size_t n_doors;
};

static void open_port(struct ag_vm *vm);

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
    ask_warden(vm, &hello, &reply);
    if (reply.result >= 0 && hello.what == VMHELLO_ENTER) {
        make_workdir(&hello, &reply);
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

/* Looks for hellos in what came. 1: the door's descriptor is a link now. */
static int feed(struct door *d, const uint8_t *data, size_t len)
{
    d->is_dirty = true;
    for (size_t at = 0; at < len;) {
        at += proto_vm_feed(&d->scan, data + at, len - at);
        if (!proto_vm_is_whole(&d->scan))
            continue;
        int fd = d->watch.fd;
        ag_loop_unwatch(&d->vm->agent->loop, &d->watch);
        d->watch.fd = -EBADF;
        if (answer(d, fd, data + at, len - at) >= 0)
            return 1;
        d->watch.fd = fd;
    }
    return 0;
}

/* --- serial port --- */
static void watch_port(struct ag_vm *vm)
{
    if (ag_loop_watch(&vm->agent->loop, &vm->port.watch, EPOLLIN | EPOLLET) < 0) {
        ag_loop_close(&vm->agent->loop, &vm->port.watch);
        ag_loop_arm(&vm->agent->loop, &vm->reopen, REOPEN_MS);
    }
}

/* Every change is reported once, so everything there is has to be read. */
static void on_port(struct ag_watch *w, uint32_t events)
{
    struct door *d = (struct door *)((char *)w - offsetof(struct door, watch));
    uint8_t data[READ_BYTES];
    size_t total = 0;
    ssize_t n;

    (void)events;
    do {
        n = read(w->fd, data, sizeof(data));
        if (n > 0 && feed(d, data, (size_t)n) > 0)
            return;
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < GARBAGE_MAX);
    bool has_host = n < 0 && (errno == EAGAIN || errno == EINTR);
    if (has_host || (n == 0 && !d->is_dirty)) {
        watch_port(d->vm); /* no more than it was, unless a hello was refused */
        return;
    }
    ag_loop_close(&d->vm->agent->loop, w);
    open_port(d->vm);
}

static void open_port(struct ag_vm *vm)
{
    struct door *d = &vm->port;
    int fd = openat(vm->dev_dir, vm->port_name, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    proto_vm_init(&d->scan, sizeof(struct vmhello));
    d->is_dirty = false;
    if (fd < 0) {
        ag_loop_arm(&vm->agent->loop, &vm->reopen, REOPEN_MS);
        return;
    }
    d->watch = (struct ag_watch){ .fd = fd, .fn = on_port };
    watch_port(vm);
}

static void on_reopen(struct ag_timer *t)
{
    open_port((struct ag_vm *)((char *)t - offsetof(struct ag_vm, reopen)));
}

void ag_vm_link_ended(struct agent *a, int fd, const uint8_t *rest, size_t len)
{
    struct ag_vm *vm = a->vm;
    struct door *d = &vm->port;

    if (len == 0) {
        (void)close(fd);
        open_port(vm);
        return;
    }
    proto_vm_init(&d->scan, sizeof(struct vmhello));
    d->watch = (struct ag_watch){ .fd = fd, .fn = on_port };
    if (feed(d, rest, len) == 0)
        watch_port(vm);
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

int ag_vm_start(struct agent *a, const struct vm_boot *plan)
{
    struct ag_vm *vm = calloc(1, sizeof(*vm));
    if (!vm)
        return -ENOMEM;
    vm->agent = a;
    vm->control = plan->control;
    vm->dev_dir = plan->dev_dir;
    vm->port_name = plan->port;
    vm->port = (struct door){ .vm = vm, .watch.fd = -EBADF };
    vm->reopen.fn = on_reopen;
    vm->listener = (struct ag_watch){ .fd = plan->listen_fd, .fn = on_listener };
    a->vm = vm;
    if (vm->dev_dir >= 0)
        open_port(vm);
    return vm->listener.fd < 0 ? 0 : ag_loop_watch(&a->loop, &vm->listener, EPOLLIN);
}
