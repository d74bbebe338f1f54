/* A guest that does not answer: a peer on a socketpair that says as much as it has to and then nothing. Every call ends
 * by itself, once, and the link goes on. */
#include "guest/link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/link_core.h"
#include "mutepeer.h"

#define ANSWER_MS 200
#define GRACE_MS  100
#define LONG_MS   500
#define WAIT_MS   20000

struct rig {
    struct loop *loop;
    struct guest_link *g;
    int peer;
    int gone, done, failed, exits;
    struct err err;
    struct guest_exit exit;
    struct guest_exec *x;
    struct guest_reader *reader;
    struct guest_writer *writer;
    bool is_freeing, is_over, is_late;
};

static void on_gone(void *arg, const struct err *err)
{
    struct rig *r = arg;
    (void)err;
    r->gone++;
}

static void on_done(void *arg, const struct err *err)
{
    struct rig *r = arg;
    if (r->is_over)
        return;
    r->done += !err;
    r->failed += !!err;
    if (err)
        r->err = *err;
    if (r->is_freeing)
        r->g = guest_link_free(r->g);
    r->is_freeing = false;
    loop_stop(r->loop);
}

static void on_exit_of(void *arg, const struct guest_exit *ex)
{
    struct rig *r = arg;
    r->exits++;
    r->exit = *ex;
    loop_stop(r->loop);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    (void)arg, (void)fd, (void)data, (void)len; /* kept: nothing is credited */
}

static void on_data(void *arg, const char *data, size_t len)
{
    (void)arg, (void)data, (void)len;
}

static void on_late(void *arg)
{
    struct rig *r = arg;
    r->is_late = true;
    loop_stop(r->loop);
}

static void rig_init(struct rig *r)
{
    *r = (struct rig){ 0 };
    r->peer = mutepeer_new(on_gone, r, &r->loop, &r->g);
    guest_link_patience(r->g, ANSWER_MS, GRACE_MS);
    mutepeer_handshake(r->peer);
}

static void rig_done(struct rig *r)
{
    r->is_over = true;
    CHECK_INT(r->gone, 0);
    guest_link_free(r->g);
    loop_free(r->loop);
    (void)close(r->peer);
}

static void run_for(struct rig *r, int64_t ms)
{
    struct timer *t = timer_new(r->loop, ms, 0, on_late, r);
    r->is_late = false;
    loop_run(r->loop);
    timer_free(t);
}

static void wait_for(struct rig *r, const int *count, int n)
{
    r->is_late = false;
    while (*count < n && !r->is_late)
        run_for(r, WAIT_MS);
    CHECK_INT(*count, n);
}

static void send_frame(struct rig *r, uint32_t stream, uint16_t type, const void *payload, size_t len)
{
    mutepeer_send(r->peer, (struct proto_header){ (uint32_t)len, stream, type, 0 }, payload);
}

static const struct guest_exec_events exec_events = { .on_output = on_output,
                                                      .on_exit = on_exit_of,
                                                      .on_failed = on_done };

static void start_exec(struct rig *r, uint32_t timeout_ms, unsigned flags)
{
    const char *argv[] = { "x", NULL };
    struct guest_exec_plan plan = { .argv = argv, .timeout_ms = timeout_ms, .flags = flags, .tag = "t" };
    struct err err = ERR_INIT;
    CHECK_INT(guest_exec_start(r->g, &plan, &exec_events, r, &r->x, &err), 0);
}

TEST(a_command_that_was_begun_has_timed_out)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r, 100, 0);
    send_frame(&r, 1, PROTO_EXEC_STARTED, "\1\0\0\0", 4);
    int64_t begun = loop_now_ms(r.loop);
    wait_for(&r, &r.exits, 1);
    CHECK(r.exit.is_timeout && r.exit.is_silent && r.exit.code == 137);
    CHECK(loop_now_ms(r.loop) - begun >= 100 + GRACE_MS - 1);
    send_frame(&r, 1, PROTO_EXEC_EXIT,
               "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 44);
    run_for(&r, 20); /* what comes after all is ignored, and the link goes on */
    CHECK(r.exits == 1 && r.failed == 0 && r.gone == 0);
    rig_done(&r);
}

TEST(a_command_that_was_never_begun_fails)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r, 100, 0);
    wait_for(&r, &r.failed, 1);
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    CHECK_INT(mutepeer_heard(r.peer, PROTO_DROP), 1); /* should it listen after all */
    start_exec(&r, 0, GUEST_EXEC_PTY);
    wait_for(&r, &r.failed, 2);
    start_exec(&r, 50, GUEST_EXEC_LOG);
    wait_for(&r, &r.failed, 3);
    CHECK_INT(r.exits, 0);
    rig_done(&r);
}

TEST(without_a_limit_it_goes_on_once_begun)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r, 0, GUEST_EXEC_PTY);
    send_frame(&r, 1, PROTO_EXEC_STARTED, "\1\0\0\0", 4);
    run_for(&r, 3 * (int64_t)ANSWER_MS);
    CHECK(r.is_late && r.failed == 0 && r.exits == 0);
    guest_exec_drop(r.x);
    rig_done(&r);
}

TEST(output_that_nobody_takes_is_not_the_guests_fault)
{
    struct rig r;
    rig_init(&r);
    start_exec(&r, 50, 0);
    send_frame(&r, 1, PROTO_EXEC_STARTED, "\1\0\0\0", 4);
    send_frame(&r, 1, PROTO_EXEC_OUTPUT, "\1abc", 4);
    run_for(&r, 50 + GRACE_MS + ANSWER_MS + 150);
    CHECK(r.is_late && r.exits == 0);
    guest_exec_credit(r.x, 3);
    wait_for(&r, &r.exits, 1);
    rig_done(&r);
}

static void on_stats(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    (void)st, (void)n;
    on_done(arg, err);
}

static void on_usage(void *arg, const struct guest_usage *usage, const struct err *err)
{
    (void)usage;
    on_done(arg, err);
}

/* What the host asks on its own account is no use of the sandbox, also while its answer is awaited. */
TEST(a_look_at_its_usage_is_no_use)
{
    struct rig r;
    rig_init(&r);
    int64_t used = guest_link_used_ms(r.g);
    run_for(&r, 5);
    CHECK_INT(guest_usage(r.g, on_usage, &r), 0);
    CHECK(!guest_link_is_busy(r.g));
    CHECK_INT(guest_link_used_ms(r.g), used);
    start_exec(&r, 0, GUEST_EXEC_PTY);
    CHECK(guest_link_is_busy(r.g));
    CHECK(guest_link_used_ms(r.g) > used);
    wait_for(&r, &r.failed, 2);
    CHECK(!guest_link_is_busy(r.g));
    rig_done(&r);
}

TEST(every_other_call_fails)
{
    static const struct guest_read_events read_events = { .on_data = on_data, .on_done = on_done };
    static const struct guest_tunnel_events tunnel_events = { .on_data = on_data, .on_closed = on_done };
    struct guest_tunnel *tunnel;
    struct rig r;
    int calls = 0;
    rig_init(&r);
    calls += guest_fs_list(r.g, "/", on_stats, &r) == 0;
    calls += guest_usage(r.g, on_usage, &r) == 0;
    calls += guest_ping(r.g, on_done, &r) == 0;
    calls += guest_fs_put(r.g, "/f", "x", 1, 0644, on_done, &r) == 0;
    calls += guest_fs_read(r.g, "/f", 0, 0, &read_events, &r, &r.reader) == 0;
    calls += guest_fs_write(r.g, "/f", 0644, false, on_done, &r, &r.writer) == 0;
    calls += guest_tunnel_open(r.g, false, NULL, 80, &tunnel_events, &r, &tunnel) == 0;
    guest_writer_end(r.writer);
    CHECK_INT(calls, 7);
    wait_for(&r, &r.failed, 7);
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    CHECK(guest_job_wait(r.g, "t", 0, on_done, &r) == 0);
    run_for(&r, 2 * (int64_t)ANSWER_MS);
    CHECK(r.is_late && r.failed == 7 && r.done == 0);
    rig_done(&r);
}

TEST(a_writer_waits_for_its_user)
{
    static char much[GUEST_WINDOW + 1];
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_fs_write(r.g, "/f", 0644, false, on_done, &r, &r.writer), 0);
    run_for(&r, 3 * (int64_t)ANSWER_MS);
    CHECK(r.is_late && r.failed == 0);
    CHECK(guest_writer_send(r.writer, much, sizeof(much)) < sizeof(much)); /* the window is full: the guest's turn */
    wait_for(&r, &r.failed, 1);
    CHECK_INT(r.err.code, ERR_TIMEOUT);
    rig_done(&r);
}

TEST(time_stands_still_with_the_sandbox)
{
    struct rig r;
    rig_init(&r);
    guest_link_patience(r.g, LONG_MS, GRACE_MS); /* far from the least time between two looks at the calls */
    CHECK_INT(guest_fs_put(r.g, "/f", "x", 1, 0644, on_done, &r), 0);
    guest_link_stand_still(r.g, true);
    run_for(&r, 2 * (int64_t)LONG_MS);
    CHECK(r.is_late && r.failed == 0);
    int64_t begun = loop_now_ms(r.loop);
    guest_link_stand_still(r.g, false);
    wait_for(&r, &r.failed, 1);
    CHECK(loop_now_ms(r.loop) - begun >= LONG_MS - 50); /* all of what it had left */
    rig_done(&r);
}

TEST(what_is_only_a_look_is_given_up_long_before_work_that_began_earlier)
{
    struct rig r;
    rig_init(&r);
    guest_link_patience(r.g, 10 * WAIT_MS, GRACE_MS);
    CHECK_INT(guest_fs_put(r.g, "/f", "x", 1, 0644, on_done, &r), 0);
    CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    wait_for(&r, &r.failed, 1);
    rig_done(&r);
}

TEST(a_link_may_be_freed_by_who_is_told)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 20; i++)
        CHECK_INT(guest_ping(r.g, on_done, &r), 0);
    r.is_freeing = true;
    wait_for(&r, &r.failed, 20); /* all the others with the link */
    CHECK(!r.g);
    rig_done(&r);
}

int main(void)
{
    RUN(a_command_that_was_begun_has_timed_out);
    RUN(a_command_that_was_never_begun_fails);
    RUN(without_a_limit_it_goes_on_once_begun);
    RUN(output_that_nobody_takes_is_not_the_guests_fault);
    RUN(a_look_at_its_usage_is_no_use);
    RUN(every_other_call_fails);
    RUN(a_writer_waits_for_its_user);
    RUN(time_stands_still_with_the_sandbox);
    RUN(what_is_only_a_look_is_given_up_long_before_work_that_began_earlier);
    RUN(a_link_may_be_freed_by_who_is_told);
    return tap_done();
}
