/* A guest that lies: a fake peer on a socketpair sends what an honest agent never would. The link must end with a clear
 * error, every open call must fail exactly once and before on_gone, and nothing else may happen. */
#include "guest/link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "guest/link_core.h"
#include "hostile_rig.h"

#define STARTED "\1\0\0\0"
#define BURN_US 1000 /* as much as a rest takes */
#define BURNS   200

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct rig *r = arg;
    r->outputs++;
    note(r);
    CHECK(data != NULL && len > 0 && (fd == 1 || fd == 2));
}

static void on_exit_of(void *arg, const struct guest_exit *ex)
{
    struct rig *r = arg;
    r->done++;
    note(r);
    CHECK(ex->code >= 0);
}

static void on_stats(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    struct rig *r = arg;
    r->entries = n;
    CHECK(err || st);
    on_done(arg, err);
}

static void on_processes(void *arg, const struct guest_process *p, size_t n, uint64_t total, const struct err *err)
{
    struct rig *r = arg;
    r->entries = n;
    CHECK(err || p || total);
    on_done(arg, err);
}

static void on_bytes(void *arg, const char *data, size_t len, const struct err *err)
{
    struct rig *r = arg;
    r->entries = len;
    CHECK(err || data);
    on_done(arg, err);
}

static void on_job(void *arg, const struct guest_job *job, const struct err *err)
{
    CHECK(err || job);
    on_done(arg, err);
}

static void on_writable(void *arg)
{
    struct rig *r = arg;
    r->writable++;
    note(r);
}

static const struct guest_exec_events exec_events = { .on_output = on_output,
                                                      .on_exit = on_exit_of,
                                                      .on_failed = on_done };
static const struct guest_read_events read_events = { .on_data = on_data, .on_done = on_done };
static const struct guest_tunnel_events tunnel_events = { .on_data = on_data, .on_closed = on_done };

static bool is_taken(const struct rig *r)
{
    int waiting = -1;
    return ioctl(r->peer, SIOCOUTQ, &waiting) == 0 && waiting == 0;
}

static void send_error(struct rig *r, uint32_t stream, uint32_t sys, const char *step)
{
    uint8_t mem[512];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, sys);
    proto_put_str(&w, step);
    send_frame(r, stream, PROTO_ERROR, 0, mem, w.len);
}

static void send_exit(struct rig *r, uint32_t stream, uint32_t code)
{
    uint8_t mem[64];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_exit(&w, &(struct proto_exit){ .code = code });
    send_frame(r, stream, PROTO_EXEC_EXIT, 0, mem, w.len);
}

static void start_exec(struct rig *r)
{
    const char *argv[] = { "x", NULL };
    struct guest_exec_plan plan = { .argv = argv, .flags = GUEST_EXEC_STDIN };
    struct err err = ERR_INIT;
    CHECK_INT(guest_exec_start(r->g, &plan, &exec_events, r, &r->x, &err), 0);
}

static void discard_input(struct rig *r)
{
    static char mem[256 * 1024];
    while (read(r->peer, mem, sizeof(mem)) > 0)
        ;
}

TEST(frames_that_no_exec_gets_end_the_link)
{
    static const struct {
        uint32_t stream;
        uint16_t type, flags;
        const char *payload;
        size_t len;
    } cases[] = {
        { 1, 999, 0, "", 0 },                                  /* unknown type */
        { 1, PROTO_PING, 0, "", 0 },                           /* the host's own */
        { 1, PROTO_DONE, 0, "", 0 },                           /* not an end of an exec */
        { 1, PROTO_EXEC_STARTED, PROTO_MORE, STARTED, 4 },     /* no long message */
        { 1, PROTO_EXEC_STARTED, 4, STARTED, 4 },              /* unknown flag */
        { 1, PROTO_EXEC_STARTED, 0, STARTED, 3 },              /* cut short */
        { 1, PROTO_EXEC_STARTED, 0, STARTED "x", 5 },          /* too long */
        { 1, PROTO_EXEC_STARTED, 0, "\0\0\0\0", 4 },           /* pid 0 */
        { 1, PROTO_EXEC_STARTED, 0, "\377\377\377\377", 4 },   /* negative pid */
        { 1, PROTO_EXEC_OUTPUT, 0, "\1x", 2 },                 /* before it started */
        { 1, PROTO_CREDIT, 0, "\1\0\0\0", 4 },                 /* nothing was sent */
        { 1, PROTO_CREDIT, 0, "\0\0\0\0", 4 },                 /* no credit at all */
        { 0, PROTO_HANDSHAKE, 0, "iiiG\1\0\0\0\0\0\0\0", 12 }, /* twice */
        { 0, PROTO_DONE, 0, "", 0 },                           /* nothing to be done */
        { 99, PROTO_EXEC_STARTED, 0, STARTED, 4 },             /* a stream nobody opened */
        { 1, PROTO_FS_DATA, 0, "x", 1 },                       /* another call's */
        { 0, PROTO_JOB_EXIT, 0, "\0\0\0\0\0", 5 },             /* no exit block */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        start_exec(&r);
        send_frame(&r, cases[i].stream, cases[i].type, cases[i].flags, cases[i].payload, cases[i].len);
        check_broken(&r);
        if (tap_bad)
            printf("# in case %zu\n", i);
        rig_done(&r);
    }
}

TEST(frames_that_a_started_exec_does_not_get_end_the_link)
{
    static const struct {
        uint16_t type;
        const char *payload;
        size_t len;
    } cases[] = {
        { PROTO_EXEC_STARTED, STARTED, 4 }, /* twice */
        { PROTO_EXEC_OUTPUT, "\3x", 2 },    /* a third descriptor */
        { PROTO_EXEC_OUTPUT, "\1", 1 },     /* no bytes */
        { PROTO_EXEC_EXIT, "", 0 },         /* no block */
        { PROTO_TUNNEL_EOF, "", 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        start_exec(&r);
        send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
        send_frame(&r, 1, cases[i].type, 0, cases[i].payload, cases[i].len);
        check_broken(&r);
        rig_done(&r);
    }
}

static void on_usage(void *arg, const struct guest_usage *usage, const struct err *err)
{
    if (usage)
        CHECK(usage->pids == 7 && usage->memory_bytes == 1u << 20 && usage->oom_kills == 2);
    on_done(arg, err);
}

TEST(what_a_instance_uses_is_three_numbers_or_ends_the_link)
{
    static const char good[] = "\7\0\0\0"
                               "\0\0\20\0\0\0\0\0"
                               "\2\0\0\0\0\0\0";
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_usage(r.g, on_usage, &r), 0);
    send_frame(&r, 1, PROTO_USAGE_REPLY, 0, good, 20);
    wait_for(&r, &r.done, 1);
    CHECK_INT(r.failed, 0);
    rig_done(&r);
    static const struct {
        uint16_t type, flags;
        size_t len;
    } bad[] = { { PROTO_USAGE_REPLY, 0, 19 }, { PROTO_USAGE_REPLY, PROTO_MORE, 20 }, { PROTO_DONE, 0, 0 } };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_usage(r.g, on_usage, &r), 0);
        send_frame(&r, 1, bad[i].type, bad[i].flags, good, bad[i].len);
        check_broken(&r);
        rig_done(&r);
    }
}

TEST(an_exit_code_no_kernel_gives_ends_the_link)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
    send_exit(&r, 1, 256);
    check_broken(&r);
    rig_done(&r);
}

TEST(the_first_frame_must_be_a_handshake_of_our_version)
{
    static const char *const handshakes[] = { "iiiG\2\0\0\0\0\0\0\0", "iiix\1\0\0\0\0\0\0\0", NULL };
    for (size_t i = 0; i < 3; i++) {
        struct rig r;
        rig_init(&r);
        start_exec(&r);
        if (handshakes[i])
            send_frame(&r, 0, PROTO_HANDSHAKE, 0, handshakes[i], 12);
        else
            send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
        check_broken(&r);
        if (i == 0)
            CHECK(strstr(r.gone_err.msg, "version") != NULL);
        rig_done(&r);
    }
}

TEST(an_oversized_length_ends_the_link_at_once)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    uint8_t header[PROTO_HEADER];
    proto_header_put(header, &(struct proto_header){ PROTO_PAYLOAD_MAX + 1, 1, PROTO_EXEC_OUTPUT, 0 });
    CHECK_INT(write(r.peer, header, sizeof(header)), sizeof(header));
    check_broken(&r);
    CHECK(strstr(r.gone_err.msg, "65536") != NULL);
    rig_done(&r);
}

TEST(output_beyond_the_window_ends_the_link)
{
    static char chunk[32769] = { 1 };
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
    for (int i = 0; i < 8; i++) { /* just the window: fine */
        send_frame(&r, 1, PROTO_EXEC_OUTPUT, 0, chunk, sizeof(chunk));
        wait_for(&r, &r.outputs, i + 1);
    }
    CHECK_INT(r.gone, 0);
    send_frame(&r, 1, PROTO_EXEC_OUTPUT, 0, "\1x", 2);
    check_broken(&r);
    CHECK_INT(r.outputs, 8);
    rig_done(&r);
}

TEST(credited_output_goes_on_for_ever)
{
    static char chunk[65536] = { 1 };
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
    for (int i = 0; i < 40; i++) {
        send_frame(&r, 1, PROTO_EXEC_OUTPUT, 0, chunk, sizeof(chunk));
        wait_for(&r, &r.outputs, i + 1);
        guest_exec_credit(r.x, sizeof(chunk) - 1);
        guest_exec_credit(r.x, 1000000); /* more than it got: does not count */
        discard_input(&r);
    }
    send_exit(&r, 1, 0);
    wait_for(&r, &r.done, 1);
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

TEST(a_frame_may_come_byte_by_byte)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    uint8_t frame[PROTO_HEADER];
    proto_header_put(frame, &(struct proto_header){ 0, 1, PROTO_DONE, 0 });
    for (size_t i = 0; i < sizeof(frame); i++) {
        CHECK_INT(write(r.peer, frame + i, 1), 1);
        loopturn_ms(r.loop, 1);
    }
    wait_for(&r, &r.done, 1);
    CHECK_INT(r.failed, 0);
    rig_done(&r);
}

TEST(frames_under_way_for_a_dropped_call_are_ignored)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    guest_exec_drop(r.x);
    send_frame(&r, 1, PROTO_EXEC_STARTED, 0, STARTED, 4);
    send_exit(&r, 1, 0);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    send_frame(&r, 2, PROTO_DONE, 0, "", 0);
    wait_for(&r, &r.done, 1);
    CHECK_INT(r.failed + r.gone + r.outputs, 0);
    rig_done(&r);
}

TEST(every_open_call_fails_once_when_the_agent_leaves)
{
    struct rig r;
    const char *paths[] = { "/a" };
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    for (int i = 0; i < 100; i++)
        CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    CHECK_INT(guest_fs_stat(r.g, paths, 1, on_stats, &r), 0);
    CHECK_INT(guest_fs_read(r.g, "/a", 0, 0, &read_events, &r, &r.reader), 0);
    CHECK_INT(guest_fs_write(r.g, "/a", 0, false, on_done, &r, &r.writer), 0);
    CHECK_INT(guest_tunnel_open(r.g, false, NULL, 80, &tunnel_events, &r, &r.tunnel), 0);
    CHECK_INT(guest_processes(r.g, on_processes, &r), 0);
    CHECK_INT(guest_job_state(r.g, "t", on_job, &r), 0);
    CHECK_INT(guest_job_log(r.g, "t", 0, 10, on_bytes, &r), 0);
    close(r.peer);
    r.peer = -1;
    wait_for(&r, &r.gone, 1);
    CHECK_INT(r.failed, 108);
    CHECK_INT(r.late_calls, 0);
    CHECK_INT(r.gone, 1);
    CHECK(strstr(r.gone_err.msg, "exited") != NULL);
    rig_done(&r);
}

TEST(a_send_to_a_closed_peer_fails_the_call_later_not_inside_it)
{
    struct rig r;
    rig_init(&r);
    close(r.peer);
    r.peer = -1;
    r.is_inside_call = true;
    int n = guest_ping(r.g, on_done, &r);
    r.is_inside_call = false;
    CHECK_INT(n, 0);
    wait_for(&r, &r.gone, 1);
    CHECK_INT(r.failed, 1);
    CHECK_INT(r.late_calls, 0);
    rig_done(&r);
}

TEST(freeing_the_link_fails_open_calls_without_on_gone)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    r.is_inside_call = true;
    r.g = guest_link_free(r.g);
    r.is_inside_call = false;
    CHECK_INT(r.failed, 0);
    wait_for(&r, &r.failed, 2);
    CHECK_INT(r.call_err.code, ERR_GONE);
    CHECK_INT(r.late_calls + r.gone, 0);
    rig_done(&r);
}

static void free_link_when_done(void *arg, const struct err *err)
{
    struct rig *r = arg;
    on_done(arg, err);
    r->g = guest_link_free(r->g);
}

TEST(the_link_may_be_freed_inside_a_callback)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_ping(r.g, free_link_when_done, &r), 0);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    send_frame(&r, 1, PROTO_DONE, 0, "", 0);
    send_frame(&r, 2, PROTO_DONE, 0, "", 0);
    wait_for(&r, &r.failed, 1);
    CHECK_INT(r.done, 1);
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

/* --- long replies --- */

TEST(a_list_of_100000_entries_is_taken_and_one_more_is_not)
{
    static uint8_t mem[PROTO_PAYLOAD_MAX];
    for (int extra = 0; extra < 2; extra++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_fs_list(r.g, "/", on_stats, &r), 0);
        size_t len = put_entries(mem, "n", 1000);
        for (int i = 0; i < 100; i++) {
            send_frame(&r, 1, PROTO_FS_STATS, PROTO_MORE, mem, len);
            LOOPTURN_UNTIL(r.loop, is_taken(&r)); /* also after a rest */
        }
        send_frame(&r, 1, PROTO_FS_STATS, 0, mem, put_entries(mem, "n", extra));
        if (extra) {
            check_broken(&r);
        } else {
            wait_for(&r, &r.done, 1);
            CHECK_INT(r.entries, 100000);
        }
        rig_done(&r);
    }
}

TEST(names_that_lead_out_of_a_folder_end_the_link)
{
    static const char *const names[] = { "", ".", "..", "a/b", "../x" };
    uint8_t mem[PROTO_PAYLOAD_MAX];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_fs_list(r.g, "/", on_stats, &r), 0);
        send_frame(&r, 1, PROTO_FS_STATS, 0, mem, put_entries(mem, names[i], 1));
        check_broken(&r);
        rig_done(&r);
    }
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_fs_search(r.g, "/", "*", on_stats, &r), 0);
    send_frame(&r, 1, PROTO_FS_STATS, 0, mem, put_entries(mem, "relative", 1));
    check_broken(&r);
    rig_done(&r);
}

TEST(stat_answers_as_many_as_were_asked)
{
    uint8_t mem[PROTO_PAYLOAD_MAX];
    const char *paths[] = { "/a", "/b" };
    for (int n = 1; n <= 3; n++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_fs_stat(r.g, paths, 2, on_stats, &r), 0);
        send_frame(&r, 1, PROTO_FS_STATS, 0, mem, put_entries(mem, "/a", n));
        if (n == 2)
            wait_for(&r, &r.done, 1);
        else
            check_broken(&r);
        rig_done(&r);
    }
}

TEST(more_log_than_asked_for_ends_the_link)
{
    for (int extra = 0; extra < 2; extra++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_job_log(r.g, "t", 0, 10, on_bytes, &r), 0);
        send_frame(&r, 1, PROTO_JOB_LOG_REPLY, PROTO_MORE, "123456", 6);
        send_frame(&r, 1, PROTO_JOB_LOG_REPLY, 0, "78901", 4 + (size_t)extra);
        if (extra) {
            check_broken(&r);
        } else {
            wait_for(&r, &r.done, 1);
            CHECK_INT(r.entries, 10);
        }
        rig_done(&r);
    }
}

TEST(more_than_4096_processes_end_the_link)
{
    static uint8_t mem[PROTO_PAYLOAD_MAX];
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_processes(r.g, on_processes, &r), 0);
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u64(&w, 1);
    for (int i = 0; i < 1024; i++)
        proto_put_process(&w, &(struct proto_process){ .pid = 2, .state = 'S' });
    CHECK(!w.is_full);
    for (int i = 0; i < 4; i++) {
        send_frame(&r, 1, PROTO_PROC_LIST_REPLY, PROTO_MORE, mem, w.len);
        LOOPTURN_UNTIL(r.loop, is_taken(&r));
    }
    CHECK_INT(r.gone, 0);
    send_frame(&r, 1, PROTO_PROC_LIST_REPLY, 0, mem, w.len);
    check_broken(&r);
    rig_done(&r);
}

/* --- streams of files and tunnels --- */

TEST(a_file_longer_than_asked_for_ends_the_link)
{
    uint8_t mem[PROTO_PAYLOAD_MAX];
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_fs_read(r.g, "/a", 0, 3, &read_events, &r, &r.reader), 0);
    send_frame(&r, 1, PROTO_FS_OPENED, 0, mem, put_entries(mem, "/a", 1));
    send_frame(&r, 1, PROTO_FS_DATA, 0, "1234", 4);
    check_broken(&r);
    CHECK_INT(r.outputs, 0);
    rig_done(&r);
}

TEST(a_write_is_not_done_before_its_end)
{
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_fs_write(r.g, "/a", 0, false, on_done, &r, &r.writer), 0);
    send_frame(&r, 1, PROTO_DONE, 0, "", 0);
    check_broken(&r);
    rig_done(&r);
}

TEST(tunnel_frames_out_of_order_end_the_link)
{
    static const struct {
        uint16_t first, second;
        bool is_udp;
    } cases[] = {
        { PROTO_TUNNEL_DATA, 0, false }, /* before it opened */
        { PROTO_TUNNEL_EOF, 0, false },  /* the same */
        { PROTO_DONE, 0, false },        /* the same */
        { PROTO_TUNNEL_OPENED, PROTO_TUNNEL_OPENED, false },
        { PROTO_TUNNEL_OPENED, PROTO_TUNNEL_DATA, false }, /* empty on TCP */
        { PROTO_TUNNEL_OPENED, PROTO_TUNNEL_EOF, true },   /* UDP has none */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        CHECK_INT(guest_tunnel_open(r.g, cases[i].is_udp, NULL, 80, &tunnel_events, &r, &r.tunnel), 0);
        send_frame(&r, 1, cases[i].first, 0, "", 0);
        if (cases[i].second)
            send_frame(&r, 1, cases[i].second, 0, "", 0);
        check_broken(&r);
        rig_done(&r);
    }
}

TEST(listeners_that_cannot_be_end_the_link)
{
    static const struct proto_listener bad[] = {
        { .port = 0, .address = "127.0.0.1", .program = "" },
        { .port = 80, .address = "", .program = "" },
        { .port = 80, .address = "localhost", .program = "" },
        { .port = 80, .address = "127.0.0.1 ", .program = "" },
        { .port = 80,
          .address = "::1",
          .program = "a name that is longer than the kernel's, by far more than it is"
                     "...." },
    };
    uint8_t mem[PROTO_FRAME_MAX];
    struct proto_writer w;
    for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        struct rig r;
        rig_init(&r);
        mutepeer_handshake(r.peer);
        proto_writer_init(&w, mem, sizeof(mem));
        if (i < sizeof(bad) / sizeof(bad[0]))
            proto_put_listener(&w, &bad[i]);
        else /* more than any sandbox shows */
            for (uint16_t port = 1; port <= PROTO_LISTENERS_MAX + 1; port++)
                proto_put_listener(&w, &(struct proto_listener){ .port = port, .address = "::", .program = "" });
        CHECK_INT(guest_ping(r.g, on_done, &r), 0); /* told of the end */
        send_frame(&r, 0, PROTO_LISTENING, 0, mem, w.len);
        check_broken(&r);
        rig_done(&r);
    }
}

TEST(errors_of_the_guest_become_kinds)
{
    static const struct {
        uint32_t sys;
        enum err_code code;
    } cases[] = { { ENOENT, ERR_NOT_FOUND }, { EACCES, ERR_FORBIDDEN }, { EEXIST, ERR_CONFLICT },
                  { ENOSPC, ERR_NO_SPACE },  { EISDIR, ERR_INVALID },   { ESRCH, ERR_NOT_FOUND },
                  { EROFS, ERR_FORBIDDEN },  { 0, ERR_INTERNAL },       { 70000, ERR_INTERNAL } };
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(guest_fs_move(r.g, "/a", "/b", on_done, &r), 0);
        send_error(&r, i + 1, cases[i].sys, "open /a");
        wait_for(&r, &r.failed, (int)i + 1);
        CHECK_INT(r.call_err.code, cases[i].code);
        CHECK(strncmp(r.call_err.msg, "open /a: ", 9) == 0);
    }
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

/* --- a guest that does not read --- */

TEST(requests_are_refused_when_8_mib_wait)
{
    static char data[PROTO_PUT_MAX];
    struct rig r;
    rig_init(&r);
    int taken = 0;
    int n = 0;
    for (; taken < 20 && (n = guest_fs_put(r.g, "/a", data, sizeof(data), 0, on_done, &r)) == 0;)
        taken++;
    CHECK_INT(n, -EBUSY);
    CHECK(taken >= 7 && taken <= 9);
    const char *argv[] = { "x", NULL };
    static char big[512 * 1024];
    memset(big, 'x', sizeof(big) - 1);
    const char *env[] = { big, big, NULL };
    struct guest_exec_plan plan = { .argv = argv, .env = env };
    struct err err = ERR_INIT;
    CHECK(guest_exec_start(r.g, &plan, &exec_events, &r, &r.x, &err) < 0);
    CHECK_INT(err.code, ERR_CAPACITY);
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

TEST(small_frames_to_a_guest_that_never_reads_end_the_link)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r);
    for (int i = 0; i < 1200000; i++)
        guest_exec_resize(r.x, 80, 24);
    wait_for(&r, &r.gone, 1);
    CHECK_INT(r.failed, 1);
    CHECK(strstr(r.gone_err.msg, "does not read") != NULL);
    rig_done(&r);
}

TEST(input_stops_at_the_window_and_goes_on_after_credit)
{
    static char data[GUEST_WINDOW + 100];
    struct rig r;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    start_exec(&r);
    guest_exec_on_writable(r.x, on_writable, &r);
    size_t n = guest_exec_write(r.x, data, sizeof(data));
    CHECK_INT(n, GUEST_WINDOW);
    CHECK_INT(guest_exec_write(r.x, data, 1), 0);
    send_frame(&r, 1, PROTO_CREDIT, 0, "\0\1\0\0", 4);
    wait_for(&r, &r.writable, 1);
    CHECK_INT(guest_exec_write(r.x, data, sizeof(data)), 256);
    guest_exec_close_stdin(r.x);
    CHECK_INT(guest_exec_write(r.x, data, 1), 0);
    CHECK_INT(r.gone, 0);
    rig_done(&r);
}

TEST(data_waits_while_the_queue_is_long_and_goes_on_when_it_drains)
{
    static char data[PROTO_PUT_MAX];
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_fs_put(r.g, "/a", data, sizeof(data), 0, on_done, &r), 0);
    CHECK_INT(guest_fs_put(r.g, "/b", data, sizeof(data), 0, on_done, &r), 0);
    CHECK_INT(guest_fs_write(r.g, "/c", 0, false, on_done, &r, &r.writer), 0);
    guest_writer_on_writable(r.writer, on_writable, &r);
    CHECK_INT(guest_writer_send(r.writer, data, 10), 0);
    for (int i = 0; i < 10000 && !r.writable; i++) {
        discard_input(&r);
        loopturn_ms(r.loop, 1);
    }
    CHECK_INT(r.writable, 1);
    CHECK_INT(guest_writer_send(r.writer, data, 10), 10);
    guest_writer_drop(r.writer);
    rig_done(&r);
}

TEST(a_datagram_is_taken_whole_or_not_at_all)
{
    static char data[PROTO_PAYLOAD_MAX + 1];
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_tunnel_open(r.g, true, NULL, 53, &tunnel_events, &r, &r.tunnel), 0);
    for (int i = 0; i < 4; i++)
        CHECK_INT(guest_tunnel_send(r.tunnel, data, 65000), 65000);
    CHECK_INT(guest_tunnel_send(r.tunnel, data, 65000), 0);
    CHECK_INT(guest_tunnel_send(r.tunnel, data, 100), 100);
    CHECK_INT(guest_tunnel_send(r.tunnel, data, sizeof(data)), sizeof(data)); /* no UDP packet: lost */
    rig_done(&r);
}

static void send_job_exit(struct rig *r)
{
    uint8_t mem[128];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_str(&w, "job1");
    proto_put_exit(&w, &(struct proto_exit){ .code = 7 });
    send_frame(r, 0, PROTO_JOB_EXIT, 0, mem, w.len);
}

static void on_job_exit(void *arg, const char *tag, const struct guest_exit *ex)
{
    struct rig *r = arg;
    (void)snprintf(r->tag, sizeof(r->tag), "%s", tag);
    r->entries = (size_t)ex->code;
    r->done++;
    note(r);
}

static void send_service(struct rig *r, uint8_t state, uint32_t pid, uint32_t code, uint64_t age_ms)
{
    uint8_t mem[128];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_str(&w, "web");
    proto_put_u8(&w, state);
    proto_put_u32(&w, pid);
    proto_put_u32(&w, 4);
    proto_put_u8(&w, code != 0);
    proto_put_u32(&w, code);
    proto_put_u64(&w, age_ms);
    proto_put_str(&w, "why");
    send_frame(r, 0, PROTO_SERVICE_STATE, 0, mem, w.len);
}

static void on_service(void *arg, const struct guest_service *s)
{
    struct rig *r = arg;
    CHECK_STR(s->name, "web");
    CHECK_STR(s->error, "why");
    CHECK_INT(s->restarts, 4);
    CHECK_INT(s->age_ms, 9);
    r->entries = (size_t)s->state * 1000 + (size_t)(s->code + 1);
    r->done++;
    note(r);
}

TEST(states_of_services_are_told_and_checked)
{
    static const struct {
        uint32_t state, pid, code;
        uint64_t age_ms;
    } wrong[] = { { 0, 1, 0, 9 },
                  { PROTO_SERVICE_LAST + 1, 1, 0, 9 },
                  { 1, 0x80000000u, 0, 9 },
                  { 1, 1, 256, 9 },
                  { 1, 1, 0, LIMIT_MAX(WHOLE) + 1ull } };
    struct rig r;
    rig_init(&r);
    guest_on_service(r.g, on_service, &r);
    mutepeer_handshake(r.peer);
    send_service(&r, PROTO_SERVICE_RUNNING, 7, 0, 9);
    wait_for(&r, &r.done, 1);
    CHECK_INT(r.entries, PROTO_SERVICE_RUNNING * 1000); /* none has exited: code -1 */
    send_service(&r, PROTO_SERVICE_FAILED, 0, 255, 9);
    wait_for(&r, &r.done, 2);
    CHECK_INT(r.entries, PROTO_SERVICE_FAILED * 1000 + 256);
    rig_done(&r);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        rig_init(&r);
        mutepeer_handshake(r.peer);
        start_exec(&r);
        send_service(&r, (uint8_t)wrong[i].state, wrong[i].pid, wrong[i].code, wrong[i].age_ms);
        check_broken(&r);
        rig_done(&r);
    }
}

TEST(services_need_an_agent_that_has_them)
{
    const char *argv[] = { "true", NULL };
    struct guest_service_plan plan = { .name = "web", .exec.argv = argv };
    struct err err = ERR_INIT;
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_service_define(r.g, &plan, on_done, &r, &err), -EOPNOTSUPP);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_INT(guest_service_act(r.g, "web", PROTO_ACT_STOP, on_done, &r), -EOPNOTSUPP);
    rig_done(&r);
}

TEST(the_end_of_a_durable_command_is_told)
{
    struct rig r;
    rig_init(&r);
    guest_on_job_exit(r.g, on_job_exit, &r);
    mutepeer_handshake(r.peer);
    send_job_exit(&r);
    wait_for(&r, &r.done, 1);
    CHECK_STR(r.tag, "job1");
    CHECK_INT(r.entries, 7);
    rig_done(&r);
}

static int64_t burnt_us;

/* Of this thread alone: time that other processes take is not burnt. */
static int64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* always there on Linux */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Costs a while, and the next one is there already. */
static void burn(void *arg, const char *tag, const struct guest_exit *ex)
{
    struct rig *r = arg;
    int64_t begun = cpu_us(), now;
    CHECK(*tag && ex);
    while ((now = cpu_us()) < begun + BURN_US)
        ;
    burnt_us += now - begun;
    if (++r->done < BURNS)
        send_job_exit(r);
    note(r);
}

TEST(frames_that_cost_much_leave_half_of_the_time_to_others)
{
    struct rig r;
    rig_init(&r);
    guest_on_job_exit(r.g, burn, &r);
    mutepeer_handshake(r.peer);
    int64_t begun = clock_mono_us();
    burnt_us = 0;
    send_job_exit(&r);
    wait_for(&r, &r.done, BURNS);
    CHECK(clock_mono_us() - begun >= burnt_us * 3 / 2); /* whatever else this host does only adds to it */
    rig_done(&r);
}

TEST(bad_arguments_never_reach_the_wire)
{
    static char long_path[PROTO_PATH_MAX + 2];
    static char big[PROTO_PUT_MAX + 1];
    const char *relative[] = { "a" };
    const char *no_argv[] = { NULL };
    const char *argv[] = { "x", NULL };
    struct rig r;
    struct err err = ERR_INIT;
    rig_init(&r);
    memset(long_path, '/', sizeof(long_path) - 1);
    CHECK_INT(guest_fs_list(r.g, "relative", on_stats, &r), -EINVAL);
    CHECK_INT(guest_fs_list(r.g, long_path, on_stats, &r), -EINVAL);
    CHECK_INT(guest_fs_list(r.g, long_path + 1, on_stats, &r), 0);
    CHECK_INT(guest_fs_stat(r.g, relative, 1, on_stats, &r), -EINVAL);
    CHECK_INT(guest_fs_stat(r.g, relative, 0, on_stats, &r), -EINVAL);
    CHECK_INT(guest_fs_put(r.g, "/a", big, sizeof(big), 0, on_done, &r), -E2BIG);
    CHECK_INT(guest_job_input(r.g, "t", big, sizeof(big), true, on_done, &r), -E2BIG);
    CHECK_INT(guest_job_state(r.g, long_path, on_job, &r), -EINVAL);
    CHECK_INT(guest_kill(r.g, 1, 9, on_done, &r), -EINVAL);
    CHECK_INT(guest_kill(r.g, 2, 65, on_done, &r), -EINVAL);
    CHECK_INT(guest_tunnel_open(r.g, false, NULL, 0, &tunnel_events, &r, &r.tunnel), -EINVAL);
    struct guest_exec_plan plans[] = {
        { .argv = no_argv },
        { .argv = argv, .cwd = "relative" },
        { .argv = argv, .flags = 1024 },
        { .argv = argv, .flags = GUEST_EXEC_LOG },
        { .argv = argv, .cwd = long_path },
    };
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        CHECK(guest_exec_start(r.g, &plans[i], &exec_events, &r, &r.x, &err) < 0);
        CHECK_INT(err.code, ERR_INVALID);
    }
    rig_done(&r);
}

int main(void)
{
    RUN(frames_that_no_exec_gets_end_the_link);
    RUN(frames_that_a_started_exec_does_not_get_end_the_link);
    RUN(what_a_instance_uses_is_three_numbers_or_ends_the_link);
    RUN(an_exit_code_no_kernel_gives_ends_the_link);
    RUN(the_first_frame_must_be_a_handshake_of_our_version);
    RUN(an_oversized_length_ends_the_link_at_once);
    RUN(output_beyond_the_window_ends_the_link);
    RUN(credited_output_goes_on_for_ever);
    RUN(a_frame_may_come_byte_by_byte);
    RUN(frames_under_way_for_a_dropped_call_are_ignored);
    RUN(every_open_call_fails_once_when_the_agent_leaves);
    RUN(a_send_to_a_closed_peer_fails_the_call_later_not_inside_it);
    RUN(freeing_the_link_fails_open_calls_without_on_gone);
    RUN(the_link_may_be_freed_inside_a_callback);
    RUN(a_list_of_100000_entries_is_taken_and_one_more_is_not);
    RUN(names_that_lead_out_of_a_folder_end_the_link);
    RUN(stat_answers_as_many_as_were_asked);
    RUN(more_log_than_asked_for_ends_the_link);
    RUN(more_than_4096_processes_end_the_link);
    RUN(a_file_longer_than_asked_for_ends_the_link);
    RUN(a_write_is_not_done_before_its_end);
    RUN(tunnel_frames_out_of_order_end_the_link);
    RUN(listeners_that_cannot_be_end_the_link);
    RUN(errors_of_the_guest_become_kinds);
    RUN(requests_are_refused_when_8_mib_wait);
    RUN(small_frames_to_a_guest_that_never_reads_end_the_link);
    RUN(input_stops_at_the_window_and_goes_on_after_credit);
    RUN(data_waits_while_the_queue_is_long_and_goes_on_when_it_drains);
    RUN(a_datagram_is_taken_whole_or_not_at_all);
    RUN(states_of_services_are_told_and_checked);
    RUN(services_need_an_agent_that_has_them);
    RUN(the_end_of_a_durable_command_is_told);
    RUN(frames_that_cost_much_leave_half_of_the_time_to_others);
    RUN(bad_arguments_never_reach_the_wire);
    return tap_done();
}
