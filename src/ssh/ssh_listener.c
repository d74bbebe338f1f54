/* Theory of operation. One poll() loop: the server's control socket, the listening socket, and the deaths of children.
 * A connection that is accepted gets a slot, a socket pair whose other end goes to the server, and a forked process.
 * Limits are kept here, before any byte of the client is read: connections in all, from one address, and not logged in
 * yet; when the first is reached, the oldest that has not logged in is cut for the new one. A child says that its
 * client has logged in by a byte of shared memory, and is cut by a shutdown of its socket, so that this process needs
 * no right to signal. */
#include "ssh/ssh_listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "os/confine_listener.h"
#include "ssh/ssh_hostkey.h"
#include "ssh/ssh_session.h"
#include "ssh/ssh_wire.h"

enum {
    CONNECTIONS_MAX = 1000,
    PER_ADDRESS_PARTS = 4, /* one address gets at most a quarter, but never fewer than ADDRESS_MIN */
    ADDRESS_MIN = 16,
    LAST_MS = 2000, /* for children to exit after the server's end */
    MEMORY_BYTES = 512 << 20,
};

struct slot {
    pid_t pid; /* 0: free */
    int fd;    /* of the client, to cut it */
    uint64_t number;
    unsigned char address[16];
};

struct process {
    ssh_bind bind;
    int listener;
    int deaths; /* signalfd of SIGCHLD */
    unsigned max;
    struct slot *slots;
    volatile unsigned char *is_in; /* one byte for each slot, shared with the children */
    uint64_t accepted;
};

/* What this process and its children need once the key is loaded. None opens or executes. */
static const char *const allowed_calls[] = {
    "readv",           "writev",          "recvfrom",     "sendto",
    "accept4",         "accept",          "shutdown",     "socketpair",
    "setsockopt",      "getsockopt",      "ioctl",        "getsockname",
    "getpeername",     "clone",           "clone3",       "fork",
    "wait4",           "waitid",          "prctl",        "getppid",
    "set_robust_list", "rt_sigaction",    "gettimeofday", "time",
    "alarm",           "setitimer",       "getitimer",    "clock_nanosleep",
    "nanosleep",       "set_tid_address", "rseq",         "getrusage",
    "select",          "pselect6",        NULL,
};

/* --- slots --- */

static void slot_free(struct process *d, unsigned i)
{
    (void)close(d->slots[i].fd);
    d->slots[i].pid = 0;
    d->is_in[i] = 0;
}

static void reap(struct process *d)
{
    struct signalfd_siginfo info;
    pid_t pid;
    (void)!read(d->deaths, &info, sizeof(info)); /* how many is told by waitpid() */
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (unsigned i = 0; i < d->max; i++)
            if (d->slots[i].pid == pid)
                slot_free(d, i);
}

static unsigned count_of(const struct process *d, const unsigned char *address)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->max; i++)
        n += d->slots[i].pid && (!address || memcmp(d->slots[i].address, address, sizeof(d->slots[i].address)) == 0);
    return n;
}

/* Cuts the oldest connection that has not logged in; its slot becomes free when its process has exited. */
static void cut_oldest(struct process *d)
{
    struct slot *oldest = NULL;
    for (unsigned i = 0; i < d->max; i++)
        if (d->slots[i].pid && !d->is_in[i] && (!oldest || d->slots[i].number < oldest->number))
            oldest = &d->slots[i];
    if (oldest)
        (void)shutdown(oldest->fd, SHUT_RDWR);
}

/* A free slot for a client of this address, or max: refused. */
static unsigned slot_for(struct process *d, const unsigned char *address)
{
    unsigned most = d->max / PER_ADDRESS_PARTS > ADDRESS_MIN ? d->max / PER_ADDRESS_PARTS : ADDRESS_MIN;
    if (count_of(d, address) >= most)
        return d->max;
    if (count_of(d, NULL) + 1 >= d->max)
        cut_oldest(d); /* so that the next one finds a slot */
    for (unsigned i = 0; i < d->max; i++)
        if (d->slots[i].pid == 0)
            return i;
    return d->max;
}

/* --- connections --- */

static void describe_peer(const struct sockaddr_storage *from, unsigned char address[16], char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *four = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
    bool is_six = from->ss_family == AF_INET6;
    memset(address, 0, 16);
    /* an IPv6 client has at least a /64 to itself */
    memcpy(address, is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr, is_six ? 8 : 4);
    (void)inet_ntop(from->ss_family, is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr, host,
                    sizeof(host));
    (void)snprintf(text, size, is_six ? "[%s]:%u" : "%s:%u", host, ntohs(is_six ? six->sin6_port : four->sin_port));
}

__attribute__((noreturn)) static void be_session(struct process *d, unsigned i, int fd, int control, pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    (void)prctl(PR_SET_NAME, "iii-ssh-conn");
    (void)close(SSH_WIRE_FD);
    (void)close(d->listener);
    for (unsigned k = 0; k < d->max; k++)
        if (d->slots[k].pid)
            (void)close(d->slots[k].fd);
    ssh_session_serve(&(struct ssh_session_start){
        .fd = fd, .control = control, .bind = d->bind, .is_in = (volatile unsigned char *)&d->is_in[i] });
    _exit(0); /* the kernel closes the rest */
}

/* The server gets its end of the connection's socket, and a process serves the client. */
static void admit(struct process *d, int fd, const struct sockaddr_storage *from)
{
    struct ssh_wire_msg m = { .kind = SSH_WIRE_CONN };
    unsigned char address[16];
    int pair[2];
    describe_peer(from, address, m.text, sizeof(m.text));
    unsigned i = slot_for(d, address);
    if (i == d->max || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        (void)close(fd);
        return;
    }
    d->is_in[i] = 0;
    pid_t self = getpid();
    pid_t pid = fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 || ssh_wire_send(SSH_WIRE_FD, &m, pair[0]) < 0 ? -1 : fork();
    if (pid == 0) {
        (void)close(pair[0]);
        be_session(d, i, fd, pair[1], self);
    }
    (void)close(pair[0]);
    (void)close(pair[1]); /* both are others' now */
    if (pid < 0) {
        (void)close(fd);
        return;
    }
    d->slots[i] = (struct slot){ .pid = pid, .fd = fd, .number = ++d->accepted };
    memcpy(d->slots[i].address, address, sizeof(address));
}

static void accept_one(struct process *d)
{
    struct sockaddr_storage from = { 0 };
    socklen_t len = sizeof(from);
    int fd = accept4(d->listener, (struct sockaddr *)&from, &len, SOCK_CLOEXEC);
    if (fd >= 0)
        admit(d, fd, &from);
}

/* --- the process --- */

static void send_note(enum ssh_wire_kind kind, const char *text)
{
    struct ssh_wire_msg m = { .kind = (uint16_t)kind };
    (void)snprintf(m.text, sizeof(m.text), "%s", text);
    (void)ssh_wire_send(SSH_WIRE_FD, &m, NO_FD); /* a server that has exited also shows on the socket */
}

/* False: the server is gone. */
static bool take_message(struct process *d)
{
    struct ssh_wire_msg m;
    int fd = NO_FD, r = ssh_wire_receive(SSH_WIRE_FD, &m, &fd);
    if (r == 1 && m.kind == SSH_WIRE_LISTEN && d->listener < 0)
        d->listener = fd;
    else if (r == 1 && fd >= 0)
        (void)close(fd);
    return r >= 0;
}

static void listener_loop(struct process *d)
{
    for (;;) {
        struct pollfd p[3] = { { .fd = SSH_WIRE_FD, .events = POLLIN },
                               { .fd = d->deaths, .events = POLLIN },
                               { .fd = d->listener, .events = POLLIN } };
        int r = poll(p, d->listener < 0 ? 2 : 3, -1);
        if (r < 0 && errno != EINTR)
            return;
        if (r > 0 && p[1].revents)
            reap(d);
        if (r > 0 && p[0].revents && !take_message(d))
            return;
        if (r > 0 && p[2].revents & POLLIN)
            accept_one(d);
    }
}

static int fingerprint(ssh_key key, char *out, size_t size)
{
    unsigned char *hash = NULL;
    size_t len = 0;
    char text[BASE64_SIZE(SSH_WIRE_PRINT) + 1] = "";
    if (libssh.get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) < 0 || len != SSH_WIRE_PRINT)
        return -EINVAL;
    base64_encode(hash, len, text);
    libssh.clean_pubkey_hash(&hash);
    text[strcspn(text, "=")] = '\0';
    (void)snprintf(out, size, "SHA256:%s", text);
    return 0;
}

static int set_option(ssh_bind bind, enum ssh_bind_options_e option, const void *value, struct err *err)
{
    return libssh.bind_options_set(bind, option, value) == SSH_OK
               ? 0
               : err_set(err, ERR_INTERNAL, 0, "SSH listener: option %d: %s", (int)option, libssh.get_error(bind));
}

static int load_keys(struct process *d, char **argv, char *print, size_t size, struct err *err)
{
    static const bool no = false;
    ssh_key key = NULL;
    int r = ssh_library_load(err);
    if (r == 0)
        r = ssh_hostkey_load(argv[2], argv[3], &key, err);
    if (r == 0 && fingerprint(key, print, size) < 0)
        r = err_set(err, ERR_INTERNAL, 0, "SSH listener: fingerprint of the host key");
    d->bind = r == 0 ? libssh.bind_new() : NULL;
    if (r == 0)
        r = set_option(d->bind, SSH_BIND_OPTIONS_PROCESS_CONFIG, &no, err);
    if (r == 0)
        r = set_option(d->bind, SSH_BIND_OPTIONS_BANNER, "iii-sandbox", err);
    if (r == 0) /* without the exchange by groups, which reads a file, and without SHA-1 */
        r = set_option(d->bind, SSH_BIND_OPTIONS_KEY_EXCHANGE,
                       "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
                       "ecdh-sha2-nistp521,diffie-hellman-group16-sha512",
                       err);
    if (r == 0)
        r = set_option(d->bind, SSH_BIND_OPTIONS_IMPORT_KEY, key, err);
    return r;
}

int ssh_listener_main(int argc, char **argv)
{
    struct process d = { .listener = NO_FD };
    const struct rlimit memory = { MEMORY_BYTES, MEMORY_BYTES }; /* of each process */
    sigset_t child;
    char print[SSH_WIRE_TEXT_MAX] = "";
    struct err err = ERR_INIT;
    if (argc != 5)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)prctl(PR_SET_NAME, "iii-ssh"); /* for ps only */
    (void)setrlimit(RLIMIT_DATA, &memory);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    d.deaths = signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC);
    unsigned long max = strtoul(argv[4], NULL, 10);
    d.max = (unsigned)(max < 1 ? 1 : max > CONNECTIONS_MAX ? CONNECTIONS_MAX : max);
    d.slots = xzalloc(d.max * sizeof(*d.slots));
    d.is_in = mmap(NULL, CONNECTIONS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int r = d.is_in == MAP_FAILED ? err_sys(&err, -errno, "SSH listener: shared memory") : 0;
    if (r == 0)
        r = load_keys(&d, argv, print, sizeof(print), &err);
    if (r == 0)
        r = confine_listener_enter("SSH listener", allowed_calls, &err);
    if (r < 0) {
        send_note(SSH_WIRE_FAILED, err.msg);
        _exit(1);
    }
    send_note(SSH_WIRE_READY, print);
    listener_loop(&d);
    /* The server has closed the sockets of the connections, which ends them. */
    struct pollfd deaths = { .fd = d.deaths, .events = POLLIN };
    while (count_of(&d, NULL) > 0 && poll(&deaths, 1, LAST_MS) > 0)
        reap(&d);
    _exit(0); /* what is left is killed with this process */
}
