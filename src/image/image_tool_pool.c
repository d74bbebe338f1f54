/* Theory of operation. One child always waits for a call. A child that has served a plain call waits for another, up to
 * SPARES_MAX of them, for as long as calls keep coming: a snapshot makes several, and a fork costs more than most of
 * them. A child that has parsed untrusted bytes exits after its call. The parent reads nothing of a call. */
#include "image/image_tool_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "image/docker_credentials.h"
#include "os/confine.h"
#include "os/seqsock.h"

#define KIDS_MAX   32 /* known children; further ones exit after their call */
#define SPARES_MAX 3
#define QUIET_MS   1000    /* after this pause, children that have served exit */
#define RULES_US   1000000 /* paths may appear and vanish: after this time the rules are rebuilt for the next child */
#define UNRULED    (-EOPNOTSUPP) /* the kernel has no landlock, or the site configured a program */

/* Identifies Docker's configuration file: what a child may read depends on it. All zero: none. */
struct stamp {
    dev_t dev;
    ino_t ino;
    struct timespec changed;
};

struct kid {
    int sock;
    bool is_idle, has_served;
    struct stamp stamp; /* the configuration its rules were made for */
};

struct spares {
    const char *data_dir;
    int control;
    image_tool_pool_fn *fn;
    void *arg;
    struct kid kids[KIDS_MAX];
    size_t n;
    int rules; /* landlock rules for the next child: a descriptor, or the error */
    struct stamp rules_stamp;
    int64_t rules_us; /* when they were made */
    struct err rules_err;
};

/* --- confinement of a child --- */

static struct stamp stamp_now(void)
{
    struct stat st;
    CLEANUP(free_p) char *path = docker_credentials_path();
    if (!path || stat(path, &st) < 0)
        return (struct stamp){ 0 };
    return (struct stamp){ .dev = st.st_dev, .ino = st.st_ino, .changed = st.st_ctim };
}

static bool is_stamp(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static void drop_rules(struct spares *s)
{
    if (s->rules >= 0)
        (void)close(s->rules); /* only a handle */
    s->rules = UNRULED;
}

static void renew_rules(struct spares *s, const struct stamp *now)
{
    int64_t at = clock_mono_us();
    if (s->rules_us && is_stamp(now, &s->rules_stamp) && at - s->rules_us < RULES_US)
        return;
    CLEANUP(free_p) char *images = xasprintf("%s/images", s->data_dir);
    CLEANUP(free_p) char *boxes = xasprintf("%s/boxes", s->data_dir);
    CLEANUP(free_p) char *docker = docker_credentials_path();
    const struct confine_place places[] = {
        { images, CONFINE_UNPACK },
        { boxes, CONFINE_UNPACK }, /* the same rights: landlock denies moving a file to where more is allowed */
        { "/dev/null", CONFINE_WRITE },
        { docker ? docker : "/dev/null", CONFINE_READ },
        { "/etc", CONFINE_READ },
        { "/usr", CONFINE_READ },
        { "/lib", CONFINE_READ },
        { "/lib64", CONFINE_READ },
        { "/run/systemd/resolve", CONFINE_READ },
        { "/run/NetworkManager", CONFINE_READ },
        { "/run/resolvconf", CONFINE_READ },
        { "/proc", CONFINE_READ },
        { "/dev/urandom", CONFINE_READ }
    };
    drop_rules(s);
    s->rules_err = (struct err)ERR_INIT;
    if (!docker_credentials_has_helper()) /* a credential helper may need any file */
        s->rules = confine_files_prepare(places, sizeof(places) / sizeof(*places), &s->rules_err);
    s->rules_stamp = *now;
    s->rules_us = at;
}

/* --- life of a child --- */

/* Receives a socket over sock; NO_FD at end of file. */
static int receive_socket(int sock, char *ret_byte)
{
    int fd = NO_FD;
    size_t n_fds = 0;
    ssize_t n = seqsock_recv(sock, ret_byte, 1, &fd, 1, &n_fds);
    return n > 0 && n_fds == 1 ? fd : NO_FD;
}

/* Serves calls until its socket closes. */
static void child_run(struct spares *s, int pair_end)
{
    struct err err = s->rules_err;
    char byte = 'i';
    (void)signal(SIGCHLD, SIG_DFL); /* a child may have children: credential helpers */
    for (size_t i = 0; i < s->n; i++)
        (void)close(s->kids[i].sock); /* those of other children */
    int sock = s->control;            /* the tool's: ours takes its place */
    if (dup2(pair_end, sock) < 0 || fcntl(sock, F_SETFD, FD_CLOEXEC) < 0)
        return;
    (void)close(pair_end);
    int r = s->rules >= 0 ? confine_files_enter(s->rules, &err) : s->rules == UNRULED ? 0 : s->rules;
    drop_rules(s);
    int call;
    while ((call = receive_socket(sock, &byte)) >= 0) {
        bool is_reusable = s->fn(s->arg, call, r, &err);
        (void)close(call); /* all replies were sent */
        byte = 'i';
        if (!is_reusable || send(sock, &byte, 1, MSG_NOSIGNAL) != 1)
            return;
    }
}

/* --- the parent --- */

static void kid_forget(struct spares *s, size_t i)
{
    (void)close(s->kids[i].sock); /* closing ends the child, now or after its call */
    s->kids[i] = s->kids[--s->n];
}

/* NULL when the system is out of processes or descriptors, or the limit of children is reached: the next call tries
 * again. */
static struct kid *make_kid(struct spares *s)
{
    int pair[2];
    if (s->n == KIDS_MAX || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return NULL;
    struct stamp now = stamp_now();
    renew_rules(s, &now);
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(pair[0]);
        child_run(s, pair[1]);
        _exit(0);
    }
    (void)close(pair[1]);
    if (pid < 0) {
        (void)close(pair[0]);
        return NULL;
    }
    s->kids[s->n] = (struct kid){ .sock = pair[0], .is_idle = true, .stamp = now };
    return &s->kids[s->n++];
}

/* Prefers children that have served: the fresh ones are for calls that need one. */
static struct kid *find_idle(struct spares *s, char byte)
{
    struct kid *found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        struct kid *k = &s->kids[i];
        if (k->is_idle && (byte == IMAGE_TOOL_POOL_PLAIN || !k->has_served) && (!found || k->has_served))
            found = k;
    }
    return found;
}

static size_t count_idle(const struct spares *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->kids[i].is_idle;
    return n;
}

/* Replaces a child that was killed; without any the server sees its call's socket close. */
static void kid_assign(struct spares *s, int call, char byte)
{
    struct iovec parts[2] = { { &byte, 1 }, { NULL, 0 } };
    struct stamp now = stamp_now();
    for (size_t i = s->n; i-- > 0;)
        if (s->kids[i].is_idle && !is_stamp(&now, &s->kids[i].stamp))
            kid_forget(s, i); /* its rules are outdated */
    for (int tries = 0; tries <= SPARES_MAX; tries++) {
        struct kid *k = find_idle(s, byte);
        if (!k && !(k = make_kid(s)))
            return;
        k->is_idle = false;
        k->has_served = true;
        if (seqsock_send(k->sock, parts, &call, 1) >= 0)
            return;
        kid_forget(s, (size_t)(k - s->kids));
    }
}

void image_tool_pool_run(const char *data_dir, int control, image_tool_pool_fn *fn, void *arg)
{
    struct spares s = { .data_dir = data_dir, .control = control, .fn = fn, .arg = arg, .rules = UNRULED };
    for (bool is_over = false; !is_over;) {
        struct pollfd set[KIDS_MAX + 1] = { { .fd = control, .events = POLLIN } };
        if (count_idle(&s) == 0)
            (void)make_kid(&s);
        size_t n = s.n, n_used = 0; /* n_used: idle ones that have served */
        for (size_t i = 0; i < n; i++) {
            set[i + 1] = (struct pollfd){ .fd = s.kids[i].sock, .events = POLLIN };
            n_used += s.kids[i].is_idle && s.kids[i].has_served;
        }
        int ready = poll(set, n + 1, n_used ? QUIET_MS : -1);
        for (size_t i = n; i-- > 0;) {
            char byte;
            if (ready == 0 && s.kids[i].is_idle && s.kids[i].has_served)
                kid_forget(&s, i); /* no call came for QUIET_MS */
            if (ready <= 0 || !set[i + 1].revents)
                continue;
            if (recv(s.kids[i].sock, &byte, 1, MSG_DONTWAIT) == 1 && count_idle(&s) < SPARES_MAX)
                s.kids[i].is_idle = true;
            else
                kid_forget(&s, i); /* it has exited, or there are enough children */
        }
        if (ready > 0 && set[0].revents) {
            char byte = 0;
            CLEANUP(close_fd_p) int call = receive_socket(control, &byte); /* passed on to the child */
            if (call >= 0)
                kid_assign(&s, call, byte);
            is_over = call < 0;
        }
    }
    while (s.n)
        kid_forget(&s, 0);
    drop_rules(&s);
}
