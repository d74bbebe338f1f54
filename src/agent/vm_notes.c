#include "agent/vm_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/vm_sockets.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define NOTE_BYTES 2048
#define BACKLOG    4

void vm_notes_take(struct vm_notes *n, int listener)
{
    n->epoll = n->port = -EBADF;
    n->listener = listener;
    n->next = 0;
    proto_vm_init(&n->scan, sizeof(struct vm_handshake));
    for (unsigned i = 0; i < VM_NOTES_LINKS; i++)
        n->links[i].fd = -EBADF;
}

int vm_notes_serial(struct vm_notes *n, const char *path)
{
    vm_notes_take(n, -EBADF);
    n->port = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return n->port < 0 ? -errno : 0;
}

int vm_notes_vsock(struct vm_notes *n)
{
    struct sockaddr_vm addr = { .svm_family = AF_VSOCK,
                                .svm_port = VM_HANDSHAKE_NOTES_PORT,
                                .svm_cid = VMADDR_CID_ANY };
    int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, BACKLOG) < 0)
        return -errno; /* the VM ends with it */
    vm_notes_take(n, fd);
    return 0;
}

static int note_watch(const struct vm_notes *n, int fd, uint32_t events)
{
    struct epoll_event e = { .events = events, .data.fd = fd };
    return fd >= 0 && epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

/* The serial port is edge-triggered: without a host it would be ready all the time. */
int vm_notes_watch(struct vm_notes *n, int epoll, vm_notes_fn *fn, void *arg)
{
    n->epoll = epoll;
    n->fn = fn;
    n->arg = arg;
    int r = note_watch(n, n->port, EPOLLIN | EPOLLET);
    return r < 0 ? r : note_watch(n, n->listener, EPOLLIN);
}

static void note_feed(struct vm_notes *n, struct proto_vm *scan, int fd, const uint8_t *data, size_t len)
{
    struct vm_handshake_reply reply;
    for (size_t at = 0; at < len;) {
        at += proto_vm_feed(scan, data + at, len - at);
        if (!proto_vm_is_whole(scan))
            continue;
        n->fn(n->arg, &scan->msg.handshake, &reply);
        proto_vm_init(scan, sizeof(struct vm_handshake));
        /* Never blocks: a host that has no room for it, or is gone, asks again. */
        if (fd == n->port)
            (void)!write(fd, &reply, sizeof(reply));
        else
            (void)send(fd, &reply, sizeof(reply), MSG_NOSIGNAL);
    }
}

static void hang_up(struct vm_notes_link *l)
{
    if (l->fd >= 0)
        (void)close(l->fd); /* also removes it from epoll */
    l->fd = -EBADF;
}

/* No process of the box can make such a socket; peers other than the host are rejected. */
static void notes_on_connection(struct vm_notes *n)
{
    struct sockaddr_vm from = { 0 };
    socklen_t len = sizeof(from);
    int fd = accept4(n->listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct vm_notes_link *l = &n->links[n->next];
    bool is_untrusted = from.svm_family == AF_VSOCK && from.svm_cid != VMADDR_CID_HOST;
    if (is_untrusted || note_watch(n, fd, EPOLLIN) < 0) {
        (void)close(fd); /* the host sees the end of file and connects again */
        return;
    }
    hang_up(l);
    l->fd = fd;
    proto_vm_init(&l->scan, sizeof(struct vm_handshake));
    n->next = (n->next + 1) % VM_NOTES_LINKS;
}

void vm_notes_event(struct vm_notes *n, int fd)
{
    struct vm_notes_link *l = n->links;
    uint8_t data[NOTE_BYTES];
    ssize_t got;

    if (fd < 0)
        return;
    if (fd == n->port) { /* reads everything there is; 0 is a port without a host */
        while ((got = read(fd, data, sizeof(data))) > 0)
            note_feed(n, &n->scan, fd, data, (size_t)got);
        return;
    }
    if (fd == n->listener) {
        notes_on_connection(n);
        return;
    }
    while (l < n->links + VM_NOTES_LINKS && l->fd != fd)
        l++;
    if (l == n->links + VM_NOTES_LINKS)
        return;
    got = read(fd, data, sizeof(data));
    if (got > 0)
        note_feed(n, &l->scan, fd, data, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        hang_up(l); /* also after a restore, which ends all connections */
}
