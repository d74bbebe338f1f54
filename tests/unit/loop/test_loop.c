/* The event loop: watches, timers, deferred calls, work, signals, process ends. */
#include "loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

static struct loop *loop;
static char order[64];
static size_t order_len;

static void note(char c)
{
    if (order_len < sizeof order - 1)
        order[order_len++] = c;
    order[order_len] = '\0';
}

static void begin(void)
{
    struct err err = ERR_INIT;
    if (loop_new(&loop, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    order_len = 0;
    order[0] = '\0';
}

static void end(void)
{
    loop = loop_free(loop);
}

static void stop(void *arg)
{
    (void)arg;
    loop_stop(loop);
}

static void run_for(int64_t ms)
{
    struct timer *t = timer_new(loop, ms, 0, stop, NULL);
    loop_run(loop);
    (void)timer_free(t);
}

static struct watch *self_watch;

static void free_own_watch(void *arg, int events)
{
    (void)arg;
    CHECK(events & LOOP_READ);
    note('w');
    self_watch = watch_free(self_watch);
}

TEST(a_watch_may_be_freed_in_its_own_callback)
{
    begin();
    int fds[2];
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    CHECK_INT(watch_new(loop, fds[0], LOOP_READ, free_own_watch, NULL, &self_watch), 0);
    CHECK_INT(write(fds[1], "x", 1), 1);
    run_for(10);
    run_for(10);
    CHECK_STR(order, "w");
    close(fds[0]);
    close(fds[1]);
    end();
}

static struct timer *self_timer;

static void free_own_timer(void *arg)
{
    (void)arg;
    note('t');
    self_timer = timer_free(self_timer);
}

TEST(a_timer_may_be_freed_in_its_own_callback)
{
    begin();
    self_timer = timer_new(loop, 0, 1, free_own_timer, NULL);
    run_for(20);
    CHECK_STR(order, "t");
    end();
}

static void note_arg(void *arg)
{
    note(*(const char *)arg);
}

TEST(timers_repeat_stop_and_start_anew)
{
    begin();
    struct timer *t = timer_new(loop, -1, 0, note_arg, (void *)(uintptr_t) "x"); /* not started */
    run_for(10);
    CHECK_STR(order, "");
    timer_set(t, 0, 0);
    run_for(10);
    run_for(10);
    CHECK_STR(order, "x");
    timer_set(t, 1, 1);
    for (int i = 0; i < 2000 && order_len < 4; i++)
        run_for(5);
    CHECK(order_len >= 4);
    timer_set(t, -1, 0);
    size_t before = order_len;
    run_for(10);
    CHECK_INT(order_len, before);
    (void)timer_free(t);
    end();
}

static void defer_more(void *arg)
{
    note('1');
    loop_defer(loop, note_arg, arg);
    note('2');
}

TEST(deferred_calls_run_in_order_after_the_current_one)
{
    begin();
    loop_defer(loop, note_arg, (void *)(uintptr_t) "a");
    loop_defer(loop, defer_more, (void *)(uintptr_t) "c");
    loop_defer(loop, note_arg, (void *)(uintptr_t) "b");
    CHECK_STR(order, "");
    run_for(5);
    run_for(5);
    CHECK_STR(order, "a12bc");
    end();
}

static void defer_for_ever(void *arg)
{
    loop_defer(loop, defer_for_ever, arg);
}

TEST(deferring_for_ever_does_not_starve_timers)
{
    begin();
    loop_defer(loop, defer_for_ever, NULL);
    int64_t start = clock_mono_us();
    run_for(20);
    CHECK(clock_mono_us() - start < 20000000);
    CHECK(loop_now_ms(loop) > 0);
    /* loop_free() gives up on it as well */
    end();
}

TEST(many_deferred_calls_keep_their_order)
{
    begin();
    static char letters[40];
    for (int i = 0; i < 40; i++) {
        letters[i] = (char)('A' + i);
        loop_defer(loop, note_arg, &letters[i]);
    }
    static char skipped[200];
    for (int i = 0; i < 200; i++) { /* past the first size of the queue */
        skipped[i] = '.';
        loop_defer(loop, note_arg, &skipped[i]);
    }
    run_for(5);
    CHECK(strncmp(order, letters, 40) == 0);
    CHECK(order[40] == '.');
    end();
}

static void work(void *arg)
{
    usleep(2000);
    *(int *)arg += 1;
}

static void work_done(void *arg)
{
    *(int *)arg += 10;
    loop_stop(loop);
}

TEST(work_runs_on_a_thread_and_ends_on_the_loop)
{
    begin();
    int n = 0;
    CHECK_INT(loop_work(loop, work, work_done, &n), 0);
    loop_run(loop);
    CHECK_INT(n, 11);
    CHECK_INT(loop_work(loop, work, work_done, &n), 0); /* loop_free() waits for it */
    end();
    CHECK_INT(n, 22);
}

static int hup_events;

static void on_hup(void *arg, int events)
{
    hup_events |= events;
    watch_set(*(struct watch **)arg, 0);
    loop_stop(loop);
}

TEST(a_hang_up_is_seen_without_reading)
{
    begin();
    int fds[2];
    struct watch *w = NULL;
    hup_events = 0;
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    CHECK_INT(watch_new(loop, fds[0], LOOP_HUP, on_hup, &w, &w), 0);
    CHECK_INT(write(fds[1], "unread", 6), 6);
    run_for(5);
    CHECK_INT(hup_events, 0);
    close(fds[1]);
    run_for(20000);
    CHECK(hup_events & LOOP_HUP);
    (void)watch_free(w);
    close(fds[0]);
    end();
}

static int pipe_events;

static void on_pipe(void *arg, int events)
{
    pipe_events = events;
    note('p');
    if (order_len == 3)
        watch_set(*(struct watch **)arg, 0);
}

TEST(an_error_is_told_until_the_watch_stops)
{
    begin();
    int fds[2];
    struct watch *w = NULL;
    CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_INT(watch_new(loop, fds[1], LOOP_WRITE, on_pipe, &w, &w), 0);
    close(fds[0]);              /* the write end now reports an error */
    for (int i = 0; i < 3; i++) /* a turn each at least */
        run_for(20);
    CHECK_STR(order, "ppp");
    CHECK(pipe_events & LOOP_WRITE);
    (void)watch_free(w);
    close(fds[1]);
    end();
}

TEST(a_regular_file_cannot_be_watched)
{
    begin();
    struct watch *w = NULL;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(watch_new(loop, fd, LOOP_READ, on_pipe, NULL, &w) < 0);
    CHECK(!w);
    close(fd);
    end();
}

TEST(signals_reach_their_handler)
{
    begin();
    CHECK_INT(loop_on_signal(loop, SIGUSR1, note_arg, (void *)(uintptr_t) "s"), 0);
    CHECK(loop_on_signal(loop, SIGKILL, note_arg, NULL) < 0);
    raise(SIGUSR1);
    for (int i = 0; i < 2000 && !order_len; i++)
        run_for(5);
    CHECK_STR(order, "s");
    end();
}

TEST(the_end_of_a_process_is_told_once)
{
    begin();
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct watch *w = NULL;
    CHECK_INT(loop_on_exit(loop, pidfd, note_arg, (void *)(uintptr_t) "e", &w), 0);
    for (int i = 0; i < 2000 && !order_len; i++)
        run_for(5);
    run_for(10);
    CHECK_STR(order, "e");
    CHECK_INT(waitpid(pid, NULL, 0), pid); /* it was not reaped by the loop */
    (void)watch_free(w);
    close(pidfd);
    end();
}

TEST(whoever_is_busy_alone_is_told_so)
{
    static const char who[2];
    bool is_seen = false;
    begin();
    for (int i = 0; i < 100; i++)
        CHECK(!loop_others_are_busy(loop, &who[0]));
    for (int i = 0; i < 1000 && !is_seen; i++) { /* the other call is remembered for milliseconds */
        (void)loop_others_are_busy(loop, &who[1]);
        is_seen = loop_others_are_busy(loop, &who[0]);
    }
    CHECK(is_seen);
    run_for(20);
    CHECK(!loop_others_are_busy(loop, &who[0]));
    end();
}

int main(void)
{
    RUN(a_watch_may_be_freed_in_its_own_callback);
    RUN(a_timer_may_be_freed_in_its_own_callback);
    RUN(timers_repeat_stop_and_start_anew);
    RUN(deferred_calls_run_in_order_after_the_current_one);
    RUN(deferring_for_ever_does_not_starve_timers);
    RUN(many_deferred_calls_keep_their_order);
    RUN(work_runs_on_a_thread_and_ends_on_the_loop);
    RUN(a_hang_up_is_seen_without_reading);
    RUN(an_error_is_told_until_the_watch_stops);
    RUN(a_regular_file_cannot_be_watched);
    RUN(signals_reach_their_handler);
    RUN(the_end_of_a_process_is_told_once);
    RUN(whoever_is_busy_alone_is_told_so);
    return tap_done();
}
