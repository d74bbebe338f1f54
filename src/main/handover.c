#include "main/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/version.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "guest/proto.h"
#include "main/data_dir.h"
#include "os/seqsock.h"
#include "store/store.h"

#define MAGIC    0x69696954u /* "Tiii" */
#define WORD_MS  10000       /* for one reply */
#define READY_MS 120000      /* the new server is killed after half of it */
#define READY_S  60          /* half of what the old server waits */
#define CLOSE_MS 60000       /* for the old server, beyond the time of its requests */
#define LOCK_US  10000000

struct handover_note handover_note(enum handover_type type)
{
    struct handover_note n = { .magic = MAGIC, .version = HANDOVER_VERSION, .type = type, .schema = STORE_SCHEMA };
    (void)snprintf(n.program, sizeof(n.program), "%s", API_VERSION);
    return n;
}

int handover_send(int conn, const struct handover_note *note, struct err *err)
{
    struct iovec parts[2] = { { (void *)(uintptr_t)note, sizeof(*note) }, { NULL, 0 } };
    int r = seqsock_send(conn, parts, NULL, 0);
    return r < 0 ? err_sys(err, r, "talk to the other server") : 0;
}

int handover_receive(int conn, struct handover_note *ret, struct err *err)
{
    size_t n_fds = 0;
    ssize_t got = seqsock_recv(conn, ret, sizeof(*ret), NULL, 0, &n_fds);
    if (got == 0 || got == -ECONNRESET)
        return -EPIPE;
    if (got == -EAGAIN)
        return -EAGAIN;
    if (got != (ssize_t)sizeof(*ret) || ret->magic != MAGIC)
        return err_set(
            err, ERR_CONFLICT, got < 0 ? (int)-got : 0,
            "the other server does not support our takeover protocol: stop it with --keep and start this one");
    ret->program[sizeof(ret->program) - 1] = ret->text[sizeof(ret->text) - 1] = '\0';
    if (ret->version != HANDOVER_VERSION)
        return err_set(err, ERR_CONFLICT, 0,
                       "the other server (%s) uses takeover protocol %u, this one (%s) %u: stop it with --keep and "
                       "start this one",
                       ret->program, ret->version, API_VERSION, HANDOVER_VERSION);
    return 0;
}

static int handover_check(const struct handover_note *offer, struct err *err)
{
    if (offer->schema > STORE_SCHEMA)
        return err_set(
            err, ERR_CONFLICT, 0,
            "the running server (%s) keeps its state in schema %u, this one (%s) supports up to %u: it is older",
            offer->program, offer->schema, API_VERSION, STORE_SCHEMA);
    if (offer->agent_oldest && (offer->agent_oldest < PROTO_OLDEST || offer->agent_oldest > PROTO_VERSION))
        return err_set(err, ERR_CONFLICT, 0,
                       "a running sandbox of the server (%s) has an agent with protocol %u, this one (%s) supports "
                       "%u to %u: delete such sandboxes first",
                       offer->program, offer->agent_oldest, API_VERSION, PROTO_OLDEST, PROTO_VERSION);
    return 0;
}

socklen_t handover_address(const char *dir, int dir_fd, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/" HANDOVER_SOCKET, dir);
    if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
        n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" HANDOVER_SOCKET, dir_fd);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + 1);
}

static void set_patience(int conn, int64_t ms)
{
    struct timeval t = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
    (void)setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)); /* on failure the other server's own limits apply */
    (void)setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

/* NO_FD: no server listens there. */
static int dial(const char *dir, int *ret, struct err *err)
{
    struct sockaddr_un addr;
    CLEANUP(close_fd_p) int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(close_fd_p) int conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (dir_fd < 0 || conn < 0)
        return err_sys(err, -errno, "find a server on %s", dir);
    socklen_t len = handover_address(dir, dir_fd, &addr);
    *ret = NO_FD;
    if (connect(conn, (struct sockaddr *)&addr, len) == 0)
        *ret = steal_fd(&conn);
    else if (errno != ENOENT && errno != ECONNREFUSED)
        return err_set(err, ERR_CONFLICT, errno, "reach the server on %s", dir);
    return 0;
}

static int handover_ask(const char *dir, int *ret_conn, struct handover_note *ret_offer, struct err *err)
{
    CLEANUP(close_fd_p) int conn = NO_FD;
    struct handover_note ask = handover_note(HANDOVER_ASK);
    int r = dial(dir, &conn, err);
    if (r < 0 || conn < 0) {
        *ret_conn = NO_FD;
        return r;
    }
    set_patience(conn, WORD_MS);
    r = handover_send(conn, &ask, err);
    if (r == 0 || r == -EPIPE) /* a server that refuses may have said so before it read our message */
        r = handover_receive(conn, ret_offer, err);
    if (r == -EAGAIN || r == -EPIPE)
        return err_set(err, ERR_CONFLICT, -r, "the running server does not answer a takeover; it continues");
    if (r == 0 && ret_offer->type != HANDOVER_OFFER)
        r = err_set(err, ERR_CONFLICT, 0, "the running server rejects the takeover: %s", ret_offer->text);
    if (r == 0)
        r = handover_check(ret_offer, err);
    if (r == 0)
        *ret_conn = steal_fd(&conn);
    return r;
}

static int handover_go(int conn, int64_t wait_ms, struct inherit *to, struct err *err)
{
    struct handover_note go = handover_note(HANDOVER_GO);
    set_patience(conn, wait_ms);
    int r = handover_send(conn, &go, err);
    if (r == 0)
        r = inherit_receive(to, conn, err);
    if (r == -EPIPE || r == -ECONNRESET)
        return 1;
    if (r == -EAGAIN)
        return err_set(err, ERR_TIMEOUT, 0, "the running server did not hand over within %lld ms; it continues",
                       (long long)wait_ms);
    return r;
}

/* The kernel closes the connection of a server that was killed before its lock. */
static int take_free_lock(const char *dir, struct inherit *to, struct err *err)
{
    int fd = NO_FD, r;
    for (int64_t end_us = clock_mono_us() + LOCK_US; (r = data_dir_lock(dir, &fd, err)) < 0;) {
        if (err->code != ERR_CONFLICT || clock_mono_us() > end_us)
            return r;
        (void)usleep(10000);
    }
    inherit_add(to, INHERIT_LOCK, fd);
    return 0;
}

int handover_begin(const struct settings *s, const char *dir, struct inherit *to, int *ret_conn, struct err *err)
{
    CLEANUP(close_fd_p) int conn = NO_FD;
    CLEANUP(free_p) char *db = xasprintf("%s/state.db", dir);
    struct handover_note offer;
    struct stat st;
    char count[16];
    *ret_conn = NO_FD;
    int r = handover_ask(dir, &conn, &offer, err);
    if (r < 0 || conn < 0)
        return r;
    /* As the file's owner: in a folder of several owners root may not open what it does not own. */
    bool is_others = geteuid() == 0 && stat(db, &st) == 0 && st.st_uid != 0;
    if (is_others) {
        (void)setfsgid(st.st_gid); /* these two only return the former value */
        (void)setfsuid(st.st_uid);
    }
    r = store_probe(db, err);
    if (is_others) {
        (void)setfsuid(0);
        (void)setfsgid(0);
    }
    if (r < 0)
        return err_wrap(err, r, "not taking over, the running server continues");
    (void)snprintf(count, sizeof(count), "%u", offer.sandboxes);
    log_event(LOG_INFO, "takeover.begin", "from", offer.program, "sandboxes", count, NULL);
    (void)alarm(READY_S + (unsigned)(s->takeover_grace_ms / 1000));
    r = handover_go(conn, s->takeover_grace_ms + CLOSE_MS, to, err);
    if (r > 0) {
        log_event(LOG_WARN, "takeover.alone", "why", "the other server exited before it handed over", NULL);
        (void)close(steal_fd(&conn));
        r = take_free_lock(dir, to, err);
    }
    if (r == 0)
        *ret_conn = steal_fd(&conn);
    return r;
}

void handover_ready(int *conn)
{
    struct handover_note done = handover_note(HANDOVER_DONE);
    (void)alarm(0);
    if (*conn < 0)
        return;
    (void)handover_send(*conn, &done, NULL); /* a server that has exited needs no message */
    (void)close(steal_fd(conn));
}

bool handover_finish(int conn, const struct inherit *what, struct err *err)
{
    struct handover_note note = { 0 };
    if (fcntl(conn, F_SETFL, 0) < 0)
        return err_sys(err, -errno, "hand over") == 0;
    set_patience(conn, READY_MS);
    if (inherit_send(what, conn, err) < 0)
        return false;
    int r = handover_receive(conn, &note, err);
    if (r == -EPIPE || r == -EAGAIN)
        (void)err_set(err, ERR_UPSTREAM, -r, "the new server exited before it was ready");
    return r == 0 && note.type == HANDOVER_DONE;
}
