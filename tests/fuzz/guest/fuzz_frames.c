/* The host's end of a link fed with the bytes of a hostile guest. The first byte says whether a good hello goes before
 * them (bit 0) and whether the link's user drops calls in the middle (bit 1). One call of each kind is open, streams 1
 * to OPENED. Each must end exactly once, and the link must be gone at the end. */
#include "guest/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/proto.h"

#define OPENED    9
#define INPUT_MAX (96u * 1024) /* fits the socket's buffer, so that one write is enough */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    struct loop *loop;
    struct guest_link *g;
    int ended, gone, dropped;
    bool does_drop;
    struct guest_exec *x;
    struct guest_reader *reader;
    struct guest_tunnel *tunnel;
};

static void on_gone(void *arg, const struct err *err)
{
    struct target *t = arg;
    if (err->code == ERR_NONE || t->ended + t->dropped != OPENED)
        abort();
    t->gone++;
    loop_stop(t->loop);
}

static void on_done(void *arg, const struct err *err)
{
    struct target *t = arg;
    (void)err;
    t->ended++;
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct target *t = arg;
    if ((fd != 1 && fd != 2) || !data || !len)
        abort();
    guest_exec_credit(t->x, len / 2);
    if (t->does_drop) {
        guest_exec_drop(t->x);
        t->dropped++;
    }
}

static void on_exit_of(void *arg, const struct guest_exit *ex)
{
    if (ex->code < 0 || ex->code > 255)
        abort();
    on_done(arg, NULL);
}

static void on_read(void *arg, const char *data, size_t len)
{
    struct target *t = arg;
    (void)data;
    guest_reader_credit(t->reader, len);
    if (t->does_drop) {
        guest_reader_drop(t->reader);
        t->dropped++;
    }
}

static void on_tunnel(void *arg, const char *data, size_t len)
{
    struct target *t = arg;
    (void)data;
    guest_tunnel_credit(t->tunnel, len);
    if (t->does_drop) {
        guest_tunnel_drop(t->tunnel);
        t->dropped++;
    }
}

static void on_stats(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (strchr(st[i].path, '/') && st[i].path[0] != '/')
            abort();
    on_done(arg, err);
}

static void on_processes(void *arg, const struct guest_process *p, size_t n, uint64_t total, const struct err *err)
{
    (void)total;
    for (size_t i = 0; i < n; i++)
        if (p[i].pid < 1 || !p[i].command)
            abort();
    on_done(arg, err);
}

static void on_bytes(void *arg, const char *data, size_t len, const struct err *err)
{
    if (len > 100 || (!data && !err))
        abort();
    on_done(arg, err);
}

static void on_job(void *arg, const struct guest_job *job, const struct err *err)
{
    if (job && job->log_start > job->log_bytes)
        abort();
    on_done(arg, err);
}

static void on_job_exit(void *arg, const char *tag, const struct guest_exit *ex)
{
    (void)arg;
    if (!tag[0] || strlen(tag) > 63 || ex->signal > 64)
        abort();
}

static int open_calls(struct target *t)
{
    static const char *const argv[] = { "x", NULL };
    static const char *const paths[] = { "/a", "/b" };
    struct guest_exec_plan plan = { .argv = argv, .flags = GUEST_EXEC_STDIN };
    struct guest_exec_events exec = { .on_output = on_output, .on_exit = on_exit_of, .on_failed = on_done };
    struct guest_read_events read = { .on_data = on_read, .on_done = on_done };
    struct guest_tunnel_events tunnel = { .on_data = on_tunnel, .on_closed = on_done };
    int r = guest_exec_start(t->g, &plan, &exec, t, &t->x, NULL);
    r |= guest_fs_read(t->g, "/a", 0, 1000, &read, t, &t->reader);
    r |= guest_tunnel_open(t->g, false, NULL, 80, &tunnel, t, &t->tunnel);
    r |= guest_fs_stat(t->g, paths, 2, on_stats, t);
    r |= guest_fs_list(t->g, "/", on_stats, t);
    r |= guest_processes(t->g, on_processes, t);
    r |= guest_job_state(t->g, "tag", on_job, t);
    r |= guest_job_log(t->g, "tag", 0, 100, on_bytes, t);
    r |= guest_ping(t->g, on_done, t);
    guest_on_job_exit(t->g, on_job_exit, t);
    return r;
}

static void send_all(int fd, const uint8_t *data, size_t size)
{
    uint8_t mem[32];
    struct proto_writer w;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_handshake(&w, 0);
    int n = proto_frame_end(&w, 0, PROTO_HANDSHAKE, 0);
    if ((data[0] & 1) && send(fd, mem, (size_t)n, MSG_NOSIGNAL) != n)
        abort();
    if (size > 1 && send(fd, data + 1, size - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        abort();
    (void)shutdown(fd, SHUT_WR); /* so the link sees an end after the last byte */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target t = { .does_drop = size > 0 && (data[0] & 2) };
    int fds[2];
    if (size < 1 || size > INPUT_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return 0;
    if (loop_new(&t.loop, NULL) < 0 || guest_link_new(t.loop, fds[0], on_gone, &t, &t.g) < 0 || open_calls(&t) != 0)
        abort();
    send_all(fds[1], data, size);
    loop_run(t.loop); /* until on_gone */
    if (t.gone != 1)
        abort();
    guest_link_free(t.g);
    loop_free(t.loop);
    close(fds[1]);
    return 0;
}
