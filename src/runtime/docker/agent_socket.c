#include "runtime/docker/agent_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "os/proc.h"
#include "os/write_all.h"

#define AGENT      "guest"
#define TAG_BYTES  8
#define STAT_MAX   1024
#define START_WORD 20 /* words of /proc/PID/stat after the name, up to the start time */

extern const unsigned char guest_blob[];
size_t guest_blob_size(void);

struct docker_agent_socket {
    struct loop *loop;
    char *path; /* absolute */
    int fd;
    char tag[2 * TAG_BYTES + 1];
};

struct docker_agent_socket_wait {
    struct docker_agent_socket *agent_socket;
    char box_id[IDENT_MAX];
    int listen_fd;
    struct watch *watch;
    struct docker_agent_socket_caller only;
    docker_agent_socket_fn *fn;
    void *arg;
};

/* Written beside and renamed: a container may be executing the old one. */
static int put_file(int dir_fd, const char *name, const void *data, size_t len, mode_t mode)
{
    CLEANUP(free_p) char *fresh = xasprintf("%s.new", name);
    (void)unlinkat(dir_fd, fresh, 0);
    CLEANUP(close_fd_p) int fd = openat(dir_fd, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return -errno;
    int r = write_all_write(fd, data, len);
    if (r == 0 && (fchmod(fd, mode) < 0 || renameat(dir_fd, fresh, dir_fd, name) < 0))
        r = -errno;
    return r;
}

static int read_tag(struct docker_agent_socket *d)
{
    CLEANUP(close_fd_p) int fd = openat(d->fd, "tag", O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, d->tag, sizeof(d->tag) - 1) == (ssize_t)sizeof(d->tag) - 1 &&
        strspn(d->tag, "0123456789abcdef") == sizeof(d->tag) - 1)
        return 0;
    unsigned char bytes[TAG_BYTES];
    ident_random(bytes, sizeof(bytes));
    ident_hex(bytes, sizeof(bytes), d->tag);
    return put_file(d->fd, "tag", d->tag, sizeof(d->tag) - 1, 0600);
}

int docker_agent_socket_new(struct loop *l, const char *folder, struct docker_agent_socket **ret, struct err *err)
{
    struct docker_agent_socket *d = xzalloc(sizeof(*d));
    d->loop = l;
    d->path = xasprintf("%s/docker", folder);
    d->fd = NO_FD;
    int r = mkdir(d->path, 0700) < 0 && errno != EEXIST ? -errno : 0;
    if (r == 0)
        d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (r == 0 && d->fd < 0)
        r = -errno;
    if (r == 0)
        r = put_file(d->fd, AGENT, guest_blob, guest_blob_size(), 0555);
    if (r == 0)
        r = read_tag(d);
    if (r < 0) {
        (void)err_sys(err, r, "prepare %s", d->path);
        (void)docker_agent_socket_free(d);
        return r;
    }
    *ret = d;
    return 0;
}

struct docker_agent_socket *docker_agent_socket_free(struct docker_agent_socket *d)
{
    if (!d)
        return NULL;
    if (d->fd >= 0)
        (void)close(d->fd);
    free(d->path);
    free(d);
    return NULL;
}

const char *docker_agent_socket_tag(const struct docker_agent_socket *d)
{
    return d->tag;
}

char *docker_agent_socket_folder(const struct docker_agent_socket *d, const char *box_id)
{
    return xasprintf("%s/%s", d->path, box_id);
}

/* One name, not a path: it may come from a label in the engine. */
static bool is_name(const char *box_id)
{
    size_t len = strspn(box_id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return len && len < IDENT_MAX && !box_id[len] && strchr(box_id, '_');
}

void docker_agent_socket_remove(struct docker_agent_socket *d, const char *box_id)
{
    if (!is_name(box_id))
        return;
    CLEANUP(close_fd_p) int fd = openat(d->fd, box_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)unlinkat(fd, "sock", 0); /* may not exist */
    (void)unlinkat(fd, AGENT, 0);
    (void)unlinkat(d->fd, box_id, AT_REMOVEDIR); /* only we write here; the next sweep removes what is left */
}

void docker_agent_socket_each(struct docker_agent_socket *d, void (*fn)(void *arg, const char *box_id, bool is_waiting),
                              void *arg)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir));) {
        char sock[IDENT_MAX + sizeof("/sock")];
        if (!is_name(e->d_name))
            continue;
        (void)snprintf(sock, sizeof(sock), "%.*s/sock", IDENT_MAX, e->d_name);
        fn(arg, e->d_name, faccessat(d->fd, sock, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    }
    (void)closedir(dir);
}

struct sweep {
    struct docker_agent_socket *agent_socket;
    bool (*is_kept)(void *arg, const char *box_id);
    void *arg;
};

static void sweep_one(void *arg, const char *box_id, bool is_waiting)
{
    const struct sweep *s = arg;
    (void)is_waiting;
    if (!s->is_kept(s->arg, box_id))
        docker_agent_socket_remove(s->agent_socket, box_id);
}

void docker_agent_socket_sweep(struct docker_agent_socket *d, bool (*is_kept)(void *arg, const char *box_id), void *arg)
{
    struct sweep s = { .agent_socket = d, .is_kept = is_kept, .arg = arg };
    docker_agent_socket_each(d, sweep_one, &s);
}

/* --- a connection --- */

static void wait_on_connection(void *arg, int events)
{
    struct docker_agent_socket_wait *w = arg;
    (void)events;
    struct docker_agent_socket_caller c = { .fd = accept4(w->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) };
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);
    if (c.fd < 0)
        return;
    if (getsockopt(c.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0) {
        c.pid = peer.pid;
        c.since = proc_start_time(peer.pid);
    }
    if (w->only.pid && (c.pid != w->only.pid || c.since != w->only.since)) {
        (void)close(c.fd); /* a process in the container that is not its agent */
        return;
    }
    w->fn(w->arg, &c); /* frees w */
}

static int listen_in(int dir_fd)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    CLEANUP(close_fd_p) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* through the descriptor: the path of a data folder may be longer than a socket address */
    (void)snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/sock", dir_fd);
    (void)unlinkat(dir_fd, "sock", 0);
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || fchmodat(dir_fd, "sock", 0666, 0) < 0 ||
        listen(fd, 4) < 0)
        return -errno;
    return steal_fd(&fd);
}

/* The data folder above it denies access to other users of the host. An agent that runs stays; a container that is
 * started again gets ours. */
static int open_folder(struct docker_agent_socket *d, const char *box_id, bool is_running)
{
    if (mkdirat(d->fd, box_id, 0755) < 0 && errno != EEXIST)
        return -errno;
    CLEANUP(close_fd_p) int fd = openat(d->fd, box_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0755) < 0)
        return -errno;
    if (!is_running)
        (void)unlinkat(fd, AGENT, 0); /* absent in a new one */
    if (linkat(d->fd, AGENT, fd, AGENT, 0) < 0 && errno != EEXIST)
        return -errno;
    return steal_fd(&fd);
}

int docker_agent_socket_open(struct docker_agent_socket *d, const char *box_id,
                             const struct docker_agent_socket_caller *only, docker_agent_socket_fn *fn, void *arg,
                             struct docker_agent_socket_wait **ret, struct err *err)
{
    struct docker_agent_socket_wait *w = xzalloc(sizeof(*w));
    *w = (struct docker_agent_socket_wait){ .agent_socket = d, .listen_fd = NO_FD, .fn = fn, .arg = arg };
    if (only)
        w->only = *only;
    (void)snprintf(w->box_id, sizeof(w->box_id), "%s", box_id);
    CLEANUP(close_fd_p) int dir_fd = open_folder(d, box_id, only);
    int r = dir_fd < 0 ? dir_fd : 0;
    if (r == 0)
        r = w->listen_fd = listen_in(dir_fd);
    if (r >= 0)
        r = watch_new(d->loop, w->listen_fd, LOOP_READ, wait_on_connection, w, &w->watch);
    if (r < 0) {
        (void)docker_agent_socket_close(w);
        return err_sys(err, r, "listen for the agent of %s", box_id);
    }
    *ret = w;
    return 0;
}

struct docker_agent_socket_wait *docker_agent_socket_close(struct docker_agent_socket_wait *w)
{
    if (!w)
        return NULL;
    watch_free(w->watch);
    if (w->listen_fd >= 0) {
        CLEANUP(close_fd_p)
        int fd = openat(w->agent_socket->fd, w->box_id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            (void)unlinkat(fd, "sock", 0); /* no other process of the container may connect */
        (void)close(w->listen_fd);
    }
    free(w);
    return NULL;
}
