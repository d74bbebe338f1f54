/* Commands, durable commands and processes through a real agent. */
#include "agent_rig.h"

#include "guest/proto.h"

static void on_started(void *arg, int pid)
{
    struct rig *r = arg;
    r->pid = pid;
    r->opens++;
    rig_wake(r);
}

static void on_output(void *arg, int fd, const char *data, size_t len)
{
    struct rig *r = arg;
    CHECK_INT(buf_add(fd == 1 ? &r->out : &r->log, data, len), 0);
    if (r->does_credit)
        guest_exec_credit(r->x, len);
    rig_wake(r);
}

static void on_exit_of(void *arg, const struct guest_exit *ex)
{
    struct rig *r = arg;
    r->exit = *ex;
    r->exits++;
    rig_wake(r);
}

static void on_failed(void *arg, const struct err *err)
{
    rig_on_done(arg, err);
}

static const struct guest_exec_events events = {
    .on_started = on_started, .on_output = on_output, .on_exit = on_exit_of, .on_failed = on_failed
};

static void start(struct rig *r, const char *script, unsigned flags, const char *tag)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct guest_exec_plan plan = { .argv = argv, .cwd = r->dir, .flags = flags, .tag = tag, .cols = 80, .rows = 24 };
    struct err err = ERR_INIT;
    buf_clear(&r->out);
    buf_clear(&r->log);
    CHECK_INT(guest_exec_start(r->g, &plan, &events, r, &r->x, &err), 0);
}

/* Runs the loop until the output holds text. */
static void wait_for_text(struct rig *r, const char *text)
{
    struct timer *t = timer_new(r->loop, RIG_WAIT_MS, 0, rig_timeout, r);
    while (!strstr(buf_text(&r->out), text) && !r->is_timed_out && !r->exits && !r->gone)
        loop_run(r->loop);
    CHECK(!r->is_timed_out);
    timer_free(t);
}

static void run(struct rig *r, const char *script, unsigned flags)
{
    start(r, script, flags, NULL);
    rig_wait(r, &r->exits, r->exits + 1);
}

TEST(a_command_gives_both_outputs_and_its_code)
{
    struct rig r;
    rig_init(&r);
    run(&r, "echo out; echo err >&2; exit 3", 0);
    CHECK_STR(buf_text(&r.out), "out\n");
    CHECK_STR(buf_text(&r.log), "err\n");
    CHECK_INT(r.exit.code, 3);
    CHECK_INT(r.exit.signal, 0);
    CHECK(r.pid > 0);
    run(&r, "echo out; echo err >&2", GUEST_EXEC_MERGE);
    CHECK_STR(buf_text(&r.out), "out\nerr\n");
    run(&r, "pwd", 0);
    CHECK(strncmp(buf_text(&r.out), r.dir, strlen(r.dir)) == 0);
    run(&r, "kill -9 $$", 0);
    CHECK_INT(r.exit.code, 137);
    CHECK_INT(r.exit.signal, 9);
    rig_done(&r);
}

TEST(a_missing_program_never_starts)
{
    struct rig r;
    rig_init(&r);
    const char *argv[] = { "/no/such/program", NULL };
    struct guest_exec_plan plan = { .argv = argv };
    struct err err = ERR_INIT;
    CHECK_INT(guest_exec_start(r.g, &plan, &events, &r, &r.x, &err), 0);
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, ERR_NOT_FOUND);
    CHECK_INT(r.exits, 0);
    rig_done(&r);
}

TEST(environment_and_large_arguments_arrive)
{
    static char big[120000];
    struct rig r;
    rig_init(&r);
    memset(big, 'x', sizeof(big) - 1);
    const char *argv[] = { "sh", "-c", "printf '%s %s' \"$A\" ${#1}", "sh", big, NULL };
    const char *env[] = { "PATH=/usr/bin:/bin", "A=b c", NULL };
    struct guest_exec_plan plan = { .argv = argv, .env = env };
    struct err err = ERR_INIT;
    CHECK_INT(guest_exec_start(r.g, &plan, &events, &r, &r.x, &err), 0);
    rig_wait(&r, &r.exits, 1);
    CHECK_STR(buf_text(&r.out), "b c 119999");
    rig_done(&r);
}

static void write_more(void *arg)
{
    static char data[65536];
    struct rig *r = arg;
    size_t left = 1000000 - (size_t)r->eofs;
    for (size_t n = 1; left && n; left -= n) {
        n = guest_exec_write(r->x, data, left < sizeof(data) ? left : sizeof(data));
        r->eofs += (int)n;
    }
    if (!left)
        guest_exec_close_stdin(r->x);
}

TEST(a_megabyte_goes_in_and_comes_out)
{
    struct rig r;
    rig_init(&r);
    start(&r, "cat", GUEST_EXEC_STDIN, NULL);
    guest_exec_on_writable(r.x, write_more, &r);
    write_more(&r);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.out.len, 1000000);
    CHECK_INT(r.exit.code, 0);
    rig_done(&r);
}

TEST(a_reader_that_gives_no_credit_stops_the_command)
{
    struct rig r;
    rig_init(&r);
    r.does_credit = false;
    start(&r, "head -c 1000000 /dev/zero", 0, NULL);
    rig_wait_window(&r);
    CHECK_INT(r.exits, 0);
    r.does_credit = true;
    guest_exec_credit(r.x, r.out.len);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.out.len, 1000000);
    rig_done(&r);
}

TEST(signals_and_timeouts_end_a_command)
{
    struct rig r;
    rig_init(&r);
    start(&r, "sleep 50 & sleep 50", 0, NULL);
    rig_wait(&r, &r.opens, 1);
    guest_exec_signal(r.x, SIGTERM);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.exit.signal, SIGTERM);
    const char *argv[] = { "sleep", "50", NULL };
    struct guest_exec_plan plan = { .argv = argv, .timeout_ms = 100 };
    struct err err = ERR_INIT;
    CHECK_INT(guest_exec_start(r.g, &plan, &events, &r, &r.x, &err), 0);
    rig_wait(&r, &r.exits, 2);
    CHECK(r.exit.is_timeout);
    CHECK(r.exit.wall_us >= 90000);
    rig_done(&r);
}

TEST(a_terminal_has_its_size)
{
    struct rig r;
    rig_init(&r);
    start(&r, "stty size; read x; stty size", GUEST_EXEC_PTY, NULL);
    wait_for_text(&r, "\n");
    guest_exec_resize(r.x, 100, 30);
    CHECK_INT(guest_exec_write(r.x, "x\n", 2), 2);
    rig_wait(&r, &r.exits, 1);
    CHECK(strstr(buf_text(&r.out), "24 80") != NULL);
    CHECK(strstr(buf_text(&r.out), "30 100") != NULL);
    CHECK_INT(r.log.len, 0);
    rig_done(&r);
}

TEST(a_dropped_command_dies_with_its_tree)
{
    struct rig r;
    rig_init(&r);
    start(&r, "sleep 50 & echo $!; wait", 0, NULL);
    wait_for_text(&r, "\n");
    int child = (int)strtol(buf_text(&r.out), NULL, 10);
    CHECK(child > 1 && kill(child, 0) == 0);
    guest_exec_drop(r.x);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    char path[64];
    char state = 'S';
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", child);
    for (int i = 0; i < 2000 && state != 0 && state != 'Z'; i++) {
        FILE *f = fopen(path, "re");
        state = 0; /* no file: reaped */
        if (f) {
            if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
                state = 0;
            (void)fclose(f);
        }
        (void)usleep(10000);
    }
    CHECK(state == 0 || state == 'Z');
    CHECK_INT(r.exits, 0);
    rig_done(&r);
}

/* --- durable commands --- */

static struct guest_job last_job;
static char last_tag[64];

static void on_job(void *arg, const struct guest_job *job, const struct err *err)
{
    if (job)
        last_job = *job;
    rig_on_done(arg, err);
}

static void on_log(void *arg, const char *data, size_t len, const struct err *err)
{
    struct rig *r = arg;
    buf_clear(&r->out);
    CHECK_INT(buf_add(&r->out, data, len), 0);
    rig_on_done(arg, err);
}

static int n_waited;

static void on_waited(void *arg, const struct err *err)
{
    CHECK(!err);
    n_waited++;
    rig_wake(arg);
}

static void on_job_exit(void *arg, const char *tag, const struct guest_exit *ex)
{
    struct rig *r = arg;
    (void)snprintf(last_tag, sizeof(last_tag), "%s", tag);
    r->exit = *ex;
    r->eofs++;
    rig_wake(r);
}

TEST(a_durable_command_has_state_log_and_an_end)
{
    struct rig r;
    rig_init(&r);
    guest_on_job_exit(r.g, on_job_exit, &r);
    start(&r, "echo begin; read x; echo got $x; exit 4", GUEST_EXEC_LOG | GUEST_EXEC_STDIN, rig_tag(&r, "job1"));
    rig_wait(&r, &r.opens, 1);
    CHECK_INT(rig_result(&r, guest_job_state(r.g, rig_tag(&r, "job1"), on_job, &r)), 0);
    CHECK(last_job.is_running);
    CHECK_INT(last_job.pid, r.pid);
    CHECK_INT(rig_result(&r, guest_job_input(r.g, rig_tag(&r, "job1"), "word\n", 5, true, rig_on_done, &r)), 0);
    rig_wait(&r, &r.eofs, 1);
    CHECK_STR(last_tag, rig_tag(&r, "job1"));
    CHECK_INT(r.exit.code, 4);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(rig_result(&r, guest_job_state(r.g, rig_tag(&r, "job1"), on_job, &r)), 0);
    CHECK(!last_job.is_running);
    CHECK_INT(last_job.exit.code, 4);
    CHECK_INT(last_job.log_bytes, 15);
    CHECK_INT(rig_result(&r, guest_job_log(r.g, rig_tag(&r, "job1"), 6, 100, on_log, &r)), 0);
    CHECK_STR(buf_text(&r.out), "got word\n");
    CHECK_INT(rig_result(&r, guest_job_forget(r.g, rig_tag(&r, "job1"), rig_on_done, &r)), 0);
    CHECK_INT(rig_result(&r, guest_job_state(r.g, rig_tag(&r, "job1"), on_job, &r)), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(a_durable_command_can_be_signalled)
{
    struct rig r;
    rig_init(&r);
    start(&r, "exec sleep 50", GUEST_EXEC_LOG, rig_tag(&r, "job2"));
    rig_wait(&r, &r.opens, 1);
    CHECK_INT(rig_result(&r, guest_job_signal(r.g, rig_tag(&r, "job2"), SIGINT, rig_on_done, &r)), 0);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.exit.signal, SIGINT);
    CHECK_INT(rig_result(&r, guest_job_signal(r.g, "no such job", SIGINT, rig_on_done, &r)), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(a_wait_ends_when_the_log_grows_or_the_command_ends)
{
    struct rig r;
    rig_init(&r);
    start(&r, "read x; echo $x; read y", GUEST_EXEC_LOG | GUEST_EXEC_STDIN, rig_tag(&r, "job4"));
    rig_wait(&r, &r.opens, 1);
    CHECK_INT(guest_job_wait(r.g, rig_tag(&r, "job4"), 0, on_waited, &r), 0);
    CHECK_INT(guest_job_wait(r.g, rig_tag(&r, "job4"), 3, on_waited, &r), 0);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(n_waited, 0);
    CHECK_INT(rig_result(&r, guest_job_input(r.g, rig_tag(&r, "job4"), "ab\n", 3, false, rig_on_done, &r)), 0);
    rig_wait(&r, &n_waited, 1);
    /* It has grown already. */
    CHECK_INT(rig_result(&r, guest_job_wait(r.g, rig_tag(&r, "job4"), 2, rig_on_done, &r)), 0);
    CHECK_INT(n_waited, 1);
    CHECK_INT(rig_result(&r, guest_job_input(r.g, rig_tag(&r, "job4"), "", 0, true, rig_on_done, &r)), 0);
    rig_wait(&r, &n_waited, 2);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(rig_result(&r, guest_job_wait(r.g, rig_tag(&r, "job4"), 99, rig_on_done, &r)), 0);
    CHECK_INT(rig_result(&r, guest_job_wait(r.g, "nobody", 0, rig_on_done, &r)), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(marked_lines_say_where_they_came_from_and_stay_whole)
{
    struct rig r;
    rig_init(&r);
    start(&r, "echo a; printf b; read x; echo c >&2; read x; printf d",
          GUEST_EXEC_LOG | GUEST_EXEC_MARKS | GUEST_EXEC_STDIN, rig_tag(&r, "marked"));
    rig_wait(&r, &r.opens, 1);
    for (uint64_t lines = 0; lines < 2; lines++) { /* each goes on when the line before it is in the log */
        CHECK_INT(rig_result(&r, guest_job_wait(r.g, rig_tag(&r, "marked"), lines * 3, rig_on_done, &r)), 0);
        CHECK_INT(rig_result(&r, guest_job_input(r.g, rig_tag(&r, "marked"), "\n", 1, false, rig_on_done, &r)), 0);
    }
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(rig_result(&r, guest_job_log(r.g, rig_tag(&r, "marked"), 0, 100, on_log, &r)), 0);
    CHECK_STR(buf_text(&r.out), "\001a\n\002c\n\001bd\n");
    /* 40,001 characters of two bytes after one of one: cut between characters, a mark and an end for each piece. */
    start(&r, "printf x; head -c 40001 /dev/zero | sed 's/\\x00/\xc3\xa4/g'", GUEST_EXEC_LOG | GUEST_EXEC_MARKS,
          rig_tag(&r, "long"));
    rig_wait(&r, &r.exits, 2);
    CHECK_INT(rig_result(&r, guest_job_log(r.g, rig_tag(&r, "long"), 0, 100000, on_log, &r)), 0);
    CHECK_INT(r.out.len, 1 + 2 * 40001 + 3 * 2);
    const char *text = buf_text(&r.out);
    for (size_t at = 0, end = 0; at < r.out.len; at = end + 1) {
        end = (size_t)(strchr(text + at, '\n') - text);
        CHECK_INT(text[at], 1);
        CHECK((unsigned char)text[end - 1] == 0xa4);
    }
    rig_done(&r);
}

TEST(a_long_log_comes_in_several_frames)
{
    struct rig r;
    rig_init(&r);
    start(&r, "head -c 500000 /dev/zero | tr '\\0' x", GUEST_EXEC_LOG, rig_tag(&r, "job3"));
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(rig_result(&r, guest_job_log(r.g, rig_tag(&r, "job3"), 0, PROTO_PUT_MAX, on_log, &r)), 0);
    CHECK_INT(r.out.len, 500000);
    CHECK_INT(rig_result(&r, guest_job_log(r.g, rig_tag(&r, "job3"), 500000, 100, on_log, &r)), 0);
    CHECK_INT(r.out.len, 0);
    rig_done(&r);
}

/* --- processes and the box --- */

static void on_processes(void *arg, const struct guest_process *p, size_t n, uint64_t total, const struct err *err)
{
    struct rig *r = arg;
    r->writable = 0;
    for (size_t i = 0; i < n; i++)
        r->writable += strstr(p[i].command, "sleep 51") != NULL;
    CHECK(err || total > 0);
    rig_on_done(arg, err);
}

TEST(processes_are_listed_and_killed)
{
    struct rig r;
    rig_init(&r);
    start(&r, "exec sleep 51", 0, NULL);
    rig_wait(&r, &r.opens, 1);
    for (int i = 0; i < 2000 && !r.writable; i++) { /* started is told before the program has its new name */
        CHECK_INT(rig_result(&r, guest_processes(r.g, on_processes, &r)), 0);
        (void)usleep(r.writable ? 0 : 10000);
    }
    CHECK(r.writable >= 1);
    CHECK_INT(rig_result(&r, guest_kill(r.g, r.pid, SIGKILL, rig_on_done, &r)), 0);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.exit.signal, SIGKILL);
    CHECK_INT(rig_result(&r, guest_kill(r.g, 4194300, SIGKILL, rig_on_done, &r)), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(interrupt_reaches_running_commands)
{
    struct rig r;
    rig_init(&r);
    start(&r, "exec sleep 50", 0, NULL);
    rig_wait(&r, &r.opens, 1);
    CHECK_INT(rig_result(&r, guest_interrupt(r.g, rig_on_done, &r)), 0);
    rig_wait(&r, &r.exits, 1);
    CHECK_INT(r.exit.signal, SIGINT);
    rig_done(&r);
}

TEST(many_commands_at_once_all_end)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 50; i++)
        start(&r, "exit 0", 0, NULL);
    rig_wait(&r, &r.exits, 50);
    CHECK_INT(r.exits, 50);
    CHECK_INT(r.failed, 0);
    rig_done(&r);
}

TEST(the_agent_answers_pings)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 100; i++)
        CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    rig_done(&r);
}

int main(void)
{
    if (!rig_program()) {
        printf("1..0 # SKIP III_GUEST names no agent program\n");
        return 0;
    }
    RUN(the_agent_answers_pings);
    RUN(a_command_gives_both_outputs_and_its_code);
    RUN(a_missing_program_never_starts);
    RUN(environment_and_large_arguments_arrive);
    RUN(a_megabyte_goes_in_and_comes_out);
    RUN(a_reader_that_gives_no_credit_stops_the_command);
    RUN(signals_and_timeouts_end_a_command);
    RUN(a_terminal_has_its_size);
    RUN(a_dropped_command_dies_with_its_tree);
    RUN(a_durable_command_has_state_log_and_an_end);
    RUN(a_durable_command_can_be_signalled);
    RUN(a_wait_ends_when_the_log_grows_or_the_command_ends);
    RUN(marked_lines_say_where_they_came_from_and_stay_whole);
    RUN(a_long_log_comes_in_several_frames);
    RUN(processes_are_listed_and_killed);
    RUN(interrupt_reaches_running_commands);
    RUN(many_commands_at_once_all_end);
    return tap_done();
}
