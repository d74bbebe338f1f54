/* What the link puts on the wire: every request has its type and layout, long ones are cut, limits are refused. The
 * peer is only read, it never answers. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/link.h"
#include "guest/link_core.h"
#include "loopturn.h"
#include "mutepeer.h"

struct rig {
    struct loop *loop;
    struct guest_link *g;
    int peer, failed;
};

static void on_done(void *arg, const struct err *err)
{
    ((struct rig *)arg)->failed += err != NULL;
}

static void on_stats(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    CHECK(!st && !n);
    on_done(arg, err);
}

static void on_gone(void *arg, const struct err *err)
{
    CHECK(!arg || !err); /* never: the tests free the link themselves */
}

static const struct guest_exec_events exec_events = { .on_failed = on_done };

static void rig_init(struct rig *r)
{
    *r = (struct rig){ 0 };
    r->peer = mutepeer_new(on_gone, r, &r->loop, &r->g);
}

static void rig_done(struct rig *r)
{
    guest_link_free(r->g);
    loop_free(r->loop);
    close(r->peer);
}

/* The next n bytes at the peer; the loop runs while more has to be sent. */
static bool read_bytes(struct rig *r, uint8_t *mem, size_t n)
{
    size_t at = 0;
    for (int turn = 0; at < n && turn < 20000; turn++) {
        ssize_t got = read(r->peer, mem + at, n - at);
        at += got > 0 ? (size_t)got : 0;
        if (got > 0)
            continue;
        loopturn_ms(r->loop, 1);
    }
    return at == n;
}

/* Reads one frame; its payload is in mem. */
static struct proto_header read_frame(struct rig *r, uint8_t *mem)
{
    uint8_t header[PROTO_HEADER];
    struct proto_header h = { 0 };
    CHECK(read_bytes(r, header, sizeof(header)));
    CHECK_INT(proto_header_get(header, &h), 0);
    CHECK(read_bytes(r, mem, h.length));
    return h;
}

static uint8_t mem[PROTO_PAYLOAD_MAX];

static void check_frame(struct rig *r, uint32_t stream, uint16_t type)
{
    struct proto_header h = read_frame(r, mem);
    CHECK_STR(proto_name(h.type), proto_name(type));
    CHECK_INT(h.stream, stream);
    CHECK_INT(h.flags, 0);
    CHECK_INT(proto_check(PROTO_FROM_HOST, h.type, mem, h.length), 0);
}

TEST(every_simple_request_has_its_type_and_layout)
{
    struct rig r;
    rig_init(&r);
    check_frame(&r, 0, PROTO_HANDSHAKE);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    check_frame(&r, 1, PROTO_PING);
    CHECK_INT(guest_set_hostname(r.g, "box", on_done, &r), 0);
    check_frame(&r, 2, PROTO_HOSTNAME);
    CHECK_STR((const char *)mem + 4, "box");
    CHECK_INT(guest_reseed(r.g, "seed", 4, on_done, &r), 0);
    check_frame(&r, 3, PROTO_RESEED);
    CHECK(memcmp(mem + 8, "seed", 4) == 0);
    CHECK_INT(guest_interrupt(r.g, on_done, &r), 0);
    check_frame(&r, 4, PROTO_PROC_INTERRUPT);
    CHECK_INT(guest_kill(r.g, 2, 9, on_done, &r), 0);
    check_frame(&r, 5, PROTO_PROC_KILL);
    CHECK_INT(guest_fs_chmod(r.g, "/a", NULL, "0:0", true, on_done, &r), 0);
    check_frame(&r, 6, PROTO_FS_CHMOD);
    CHECK_INT(guest_fs_mkdir(r.g, "/a", true, 0755, on_done, &r), 0);
    check_frame(&r, 7, PROTO_FS_MKDIR);
    CHECK_INT(guest_fs_remove(r.g, "/a", true, true, on_done, &r), 0);
    check_frame(&r, 8, PROTO_FS_REMOVE);
    CHECK_INT(guest_job_signal(r.g, "t", 15, on_done, &r), 0);
    check_frame(&r, 9, PROTO_JOB_SIGNAL);
    CHECK_INT(guest_job_forget(r.g, "t", on_done, &r), 0);
    check_frame(&r, 10, PROTO_JOB_FORGET);
    rig_done(&r);
    CHECK_INT(r.failed, 10);
}

TEST(an_exec_and_what_is_sent_to_it)
{
    const char *argv[] = { "sh", "-c", "x", NULL };
    struct guest_exec_plan plan = { .argv = argv, .flags = GUEST_EXEC_PTY, .cols = 80, .rows = 24 };
    struct guest_exec *x = NULL;
    struct err err = ERR_INIT;
    struct rig r;
    rig_init(&r);
    check_frame(&r, 0, PROTO_HANDSHAKE);
    CHECK_INT(guest_exec_start(r.g, &plan, &exec_events, &r, &x, &err), 0);
    check_frame(&r, 1, PROTO_EXEC_START);
    guest_exec_resize(x, 100, 30);
    check_frame(&r, 1, PROTO_EXEC_RESIZE);
    CHECK_INT(guest_exec_write(x, "in", 2), 2);
    check_frame(&r, 1, PROTO_EXEC_STDIN);
    guest_exec_signal(x, 2);
    check_frame(&r, 1, PROTO_EXEC_SIGNAL);
    guest_exec_close_stdin(x);
    guest_exec_close_stdin(x); /* told once */
    check_frame(&r, 1, PROTO_EXEC_STDIN_CLOSE);
    guest_exec_drop(x);
    check_frame(&r, 1, PROTO_DROP);
    rig_done(&r);
    CHECK_INT(r.failed, 0);
}

TEST(a_long_request_is_cut_into_full_frames)
{
    static char data[PROTO_PUT_MAX];
    struct rig r;
    rig_init(&r);
    memset(data, 'z', sizeof(data));
    check_frame(&r, 0, PROTO_HANDSHAKE);
    CHECK_INT(guest_fs_put(r.g, "/a", data, sizeof(data), 0644, on_done, &r), 0);
    size_t total = 0;
    struct proto_header h = { .flags = PROTO_MORE };
    for (int i = 0; i < 100 && (h.flags & PROTO_MORE); i++) {
        h = read_frame(&r, mem);
        CHECK_INT(h.type, PROTO_FS_PUT);
        CHECK_INT(h.stream, 1);
        CHECK(h.length == PROTO_PAYLOAD_MAX || !(h.flags & PROTO_MORE));
        CHECK(mem[h.length - 1] == 'z');
        total += h.length;
    }
    CHECK_INT(total, sizeof(data) + 4 + 3 + 4);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    check_frame(&r, 2, PROTO_PING);
    rig_done(&r);
}

TEST(a_command_above_4_mib_is_too_large)
{
    static char big[3u << 20];
    const char *argv[] = { "x", big, NULL, NULL };
    struct guest_exec_plan plan = { .argv = argv };
    struct guest_exec *x = NULL;
    struct err err = ERR_INIT;
    struct rig r;
    rig_init(&r);
    memset(big, 'x', sizeof(big) - 1);
    CHECK_INT(guest_exec_start(r.g, &plan, &exec_events, &r, &x, &err), 0);
    argv[2] = big;
    CHECK(guest_exec_start(r.g, &plan, &exec_events, &r, &x, &err) < 0);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    static const char *many[PROTO_ARGS_MAX + 2];
    for (size_t i = 0; i < PROTO_ARGS_MAX + 1; i++)
        many[i] = "x";
    plan.argv = many;
    CHECK(guest_exec_start(r.g, &plan, &exec_events, &r, &x, &err) < 0);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    many[PROTO_ARGS_MAX] = NULL;
    CHECK_INT(guest_exec_start(r.g, &plan, &exec_events, &r, &x, &err), 0);
    rig_done(&r);
}

TEST(more_than_4096_paths_or_65536_calls_are_refused)
{
    static const char *paths[PROTO_STAT_MAX + 1];
    struct rig r;
    rig_init(&r);
    for (size_t i = 0; i < PROTO_STAT_MAX + 1; i++)
        paths[i] = "/a";
    CHECK_INT(guest_fs_stat(r.g, paths, PROTO_STAT_MAX + 1, on_stats, &r), -EINVAL);
    CHECK_INT(guest_fs_stat(r.g, paths, PROTO_STAT_MAX, on_stats, &r), 0);
    for (size_t i = 1; i < LINK_STREAMS_MAX; i++)
        CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    CHECK_INT(guest_ping(r.g, on_done, &r), -EBUSY);
    rig_done(&r);
    CHECK_INT(r.failed, LINK_STREAMS_MAX);
}

int main(void)
{
    RUN(every_simple_request_has_its_type_and_layout);
    RUN(an_exec_and_what_is_sent_to_it);
    RUN(a_long_request_is_cut_into_full_frames);
    RUN(a_command_above_4_mib_is_too_large);
    RUN(more_than_4096_paths_or_65536_calls_are_refused);
    return tap_done();
}
