/* Every subject against a live server: III_URL is its address, III_TOKEN a token of an administrator. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "iii_sandbox.h"

#define TRIES 300 /* of 100 ms */

static iii_client *client;

static iii_sandbox *box_with(const struct iii_sandbox_create_options *options)
{
    struct iii_error err = { 0 };
    iii_sandbox *box = NULL;
    if (iii_create(client, options, &box, &err) != 0) {
        fprintf(stderr, "no sandbox: %s\n", err.message);
        exit(1);
    }
    return box;
}

static iii_sandbox *new_box(void)
{
    return box_with(&(struct iii_sandbox_create_options){ .image = "python" });
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){ 0, 100 * 1000 * 1000 }, NULL);
}

/* The output of a command that must succeed; the caller frees it. */
static char *output_of(const iii_sandbox *box, const char *line)
{
    III_AUTO struct iii_exec_result *r = NULL;
    struct iii_error err = { 0 };
    CHECK(iii_exec(box, line, NULL, &r, &err) == 0);
    if (err.code != 0)
        fprintf(stderr, "%s: %s\n", line, err.message);
    CHECK(r && r->exit_code == 0);
    return strdup(r ? r->stdout_ : "");
}

#define CHECK_OUTPUT(box, line, wanted)       \
    do {                                      \
        char *output_ = output_of(box, line); \
        CHECK_TEXT(output_, wanted);          \
        free(output_);                        \
    } while (0)

static void the_life_of_a_sandbox(void)
{
    struct iii_error err = { 0 };
    char id[64];
    {
        III_AUTO_SANDBOX iii_sandbox *box = new_box();
        III_AUTO struct iii_sandbox_page *page = NULL;
        snprintf(id, sizeof(id), "%s", iii_sandbox_id(box));
        CHECK_TEXT(iii_sandbox_details(box)->status, "running");
        CHECK(iii_sandbox_list(client, NULL, &page, NULL) == 0 && page->total >= 1);
        CHECK(iii_sandbox_pause(box, NULL, NULL) == 0 && iii_refresh(box, NULL) == 0);
        CHECK_TEXT(iii_sandbox_details(box)->status, "paused");
        CHECK(iii_exec(box, "true", NULL, NULL, &err) == III_CONFLICT);
        CHECK(iii_sandbox_resume(box, NULL, NULL) == 0);
        int64_t later = iii_sandbox_details(box)->expires_at + 60000;
        CHECK(iii_sandbox_renew(box, later, NULL, NULL) == 0 && iii_refresh(box, NULL) == 0);
        CHECK(iii_sandbox_details(box)->expires_at == later);
        III_AUTO struct iii_sandbox_metrics *metrics = NULL;
        CHECK(iii_metrics_sandbox(box, &metrics, NULL) == 0 && metrics->pids >= 1);
    }
    iii_sandbox *gone = NULL;
    CHECK(iii_connect(client, id, &gone, &err) == III_NOT_FOUND && !gone); /* the scope has killed it */
    {
        III_AUTO_SANDBOX iii_sandbox *box = new_box();
        snprintf(id, sizeof(id), "%s", iii_sandbox_id(box));
        iii_keep(box);
    }
    iii_sandbox *kept = NULL;
    CHECK(iii_connect(client, id, &kept, NULL) == 0);
    CHECK(iii_close(kept, NULL) == 0);
}

/* One of several, of the same name. */
static void connecting_by_name(void)
{
    struct iii_error err = { 0 };
    char name[64];
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    snprintf(name, sizeof(name), "c-%s", iii_sandbox_id(box));
    III_AUTO_SANDBOX iii_sandbox *first = NULL, *second = NULL, *third = NULL;

    CHECK(iii_connect_or_create(client, name, NULL, &first, &err) == 0);
    CHECK(iii_sandbox_pause(first, NULL, NULL) == 0);
    CHECK(iii_connect_or_create(client, name, NULL, &second, &err) == 0); /* resumes it */
    CHECK_TEXT(iii_sandbox_id(second), iii_sandbox_id(first));
    CHECK_TEXT(iii_sandbox_details(second)->status, "running");
    CHECK(iii_connect(client, name, &third, &err) == 0);
    CHECK_TEXT(iii_sandbox_id(third), iii_sandbox_id(first));
    CHECK(iii_sandbox_stop(first, NULL, NULL, &err) == 0);
    III_AUTO_SANDBOX iii_sandbox *fourth = NULL;
    CHECK(iii_connect_or_create(client, name, NULL, &fourth, &err) == 0); /* starts it */
    CHECK_TEXT(iii_sandbox_details(fourth)->status, "running");
    CHECK(iii_sandbox_kill(first, NULL, NULL) == 0); /* the scope would leave it */
}

struct seen {
    char out[256];
    int pieces, leave;
};

static int on_output(const char *data, size_t size, void *arg)
{
    struct seen *s = arg;
    strncat(s->out, data, size < 100 ? size : 100);
    s->pieces++;
    return s->leave;
}

static int on_chunk(const struct iii_exec_stream_chunk *event, void *arg)
{
    if (strcmp(event->type, "exit") == 0)
        snprintf(arg, 16, "%s", event->data);
    return 0;
}

static void commands(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_exec_result *r = NULL, *words = NULL;
    struct iii_error err = { 0 };
    char code[16] = "";

    CHECK(iii_exec(box, "echo out; echo err >&2; printf 'a\\0b'; exit 42", NULL, &r, NULL) == 0);
    CHECK(r->exit_code == 42 && r->stdout_len == 7 && memcmp(r->stdout_, "out\na\0b", 8) == 0);
    CHECK(iii_exit_of(r) == III_EXITED);
    CHECK_TEXT(r->stderr_, "err\n");
    CHECK(iii_cmd_run(box, III_WORDS("printf", "%s", "a b"), NULL, &words, NULL) == 0);
    CHECK_TEXT(words->stdout_, "a b");
    CHECK(iii_cmd_run_stream(box, III_SHELL("exit 3"), NULL, on_chunk, code, NULL) == 0);
    CHECK_TEXT(code, "3");
    CHECK(iii_exec(box, "/no/such/program", &(struct iii_exec_options){ .check = true }, NULL, &err) == III_COMMAND);
    CHECK(iii_exec_command(box, III_WORDS("/no/such/program"), NULL, NULL, &err) != 0 ||
          iii_exec_command(box, III_WORDS("/no/such/program"), &(struct iii_exec_options){ .check = true }, NULL,
                           &err) == III_COMMAND);

    III_AUTO struct iii_background_exec *job = NULL;
    CHECK(iii_cmd_background(box, III_SHELL("echo begun; sleep 600"), NULL, &job, NULL) == 0 && job->running);
    bool found = false;
    for (int i = 0; i < TRIES && !found; i++) {
        III_AUTO struct iii_background_logs *logs = NULL;
        CHECK(iii_cmd_background_logs(client, job->id, NULL, &logs, NULL) == 0);
        found = logs && strstr(logs->output, "begun");
        if (!found)
            pause_a_little();
    }
    CHECK(found);
    CHECK(iii_cmd_interrupt(box, NULL, NULL, NULL) == 0);
}

static void commands_with_options(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_exec_result *r = NULL, *failed = NULL, *late = NULL, *killed = NULL, *left = NULL, *raw = NULL;
    struct iii_error err = { 0 };
    struct seen seen = { 0 }, one = { .leave = 1 };
    unsigned char bytes[256];

    CHECK(iii_exec(box, "echo $A-$B; pwd; id -u; cat",
                   &(struct iii_exec_options){ III_ENV({ "A", "1" }, { "B", "2 3" }), .user = "1000", .cwd = "/tmp",
                                               .stdin_ = "typed", .on_stdout = on_output, .arg = &seen },
                   &r, &err) == 0);
    CHECK_TEXT(r ? r->stdout_ : err.message, "1-2 3\n/tmp\n1000\ntyped");
    CHECK_TEXT(seen.out, "1-2 3\n/tmp\n1000\ntyped");
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    CHECK(iii_exec(box, "od -An -v -tx1 | tr -d ' \\n' | wc -c",
                   &(struct iii_exec_options){ .stdin_ = bytes, .stdin_size = sizeof(bytes) }, &raw, NULL) == 0);
    CHECK_TEXT(raw->stdout_, "512\n");
    CHECK(iii_exec(box, "echo why >&2; exit 5", &(struct iii_exec_options){ .check = true }, &failed, &err) ==
          III_COMMAND);
    CHECK(failed && failed->exit_code == 5 && strstr(err.message, "exit code 5: why"));
    CHECK(iii_exec(box, "echo begun; sleep 600", &(struct iii_exec_options){ .timeout_s = 1 }, &late, &err) ==
          III_TIMED_OUT);
    CHECK(late && iii_exit_of(late) == III_OUT_OF_TIME);
    CHECK_TEXT(late->stdout_, "begun\n");
    CHECK(iii_exec(box, "kill -KILL $$", NULL, &killed, NULL) == 0 && iii_exit_of(killed) == III_KILLED);
    CHECK_TEXT(killed->signal, "KILL");
    CHECK(iii_exec(box, "echo a; sleep 600", &(struct iii_exec_options){ .on_stdout = on_output, .arg = &one }, &left,
                   NULL) == 0 &&
          one.pieces == 1);
    CHECK(left && left->exit_code == -1);
    CHECK_TEXT(left->stdout_, "a\n");
}

static int on_job_output(const struct iii_exec_output_event *event, void *arg)
{
    if (event->data)
        strncat(arg, event->data, 100);
    return 0;
}

static void durable_commands(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_durable_exec *job = NULL, *ended = NULL;
    III_AUTO struct iii_durable_exec_list *list = NULL;
    char output[256] = "";

    CHECK(iii_exec_start(box, III_SHELL("read line; echo got $line; exit 4"),
                         &(struct iii_exec_start_options){ .stdin_ = III_BOOL(true) }, &job, NULL) == 0);
    CHECK(iii_exec_input(client, job->id,
                         &(struct iii_exec_input_options){ .data = "words\n", .close = III_BOOL(true) }, NULL,
                         NULL) == 0);
    CHECK(iii_exec_output_events(client, job->id, &(struct iii_exec_output_options){ .follow = III_BOOL(true) },
                                 on_job_output, output, NULL) == 0);
    CHECK(strstr(output, "got words\n") != NULL);
    CHECK(iii_exec_get(client, job->id, &ended, NULL) == 0 && ended->exit_code && *ended->exit_code == 4);
    CHECK(iii_exec_list(box, &list, NULL) == 0 && list->execs_count == 1);
}

static void files(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_text *text = NULL;
    III_AUTO struct iii_file_info_list *list = NULL;
    III_AUTO struct iii_file_info_reply *info = NULL;
    III_AUTO unsigned char *back = NULL;
    unsigned char bytes[256];
    size_t size = 0;
    struct iii_error err = { 0 };

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    CHECK(iii_fs_write(box, "/workspace/a.txt",
                       "gr\xc3\xbc\xc3\x9f"
                       "e\n",
                       NULL, NULL) == 0);
    CHECK(iii_fs_read(box, "/workspace/a.txt", &text, NULL) == 0);
    CHECK_TEXT(text->value, "gr\xc3\xbc\xc3\x9f"
                            "e\n");
    CHECK(iii_write_file(box, "/workspace/raw", bytes, sizeof(bytes), NULL) == 0);
    CHECK(iii_read_file(box, "/workspace/raw", &back, &size, NULL) == 0);
    CHECK(size == sizeof(bytes) && memcmp(back, bytes, size) == 0);
    CHECK(iii_fs_mkdir(box, &(struct iii_fs_mkdir_options){ .path = "/workspace/deep/er" }, NULL, NULL) == 0);
    CHECK(iii_fs_move(box, &(struct iii_fs_move_move){ .from = "/workspace/raw", .to = "/workspace/deep/er/raw" }, 1,
                      NULL, NULL) == 0);
    CHECK(iii_fs_chmod(box, "/workspace/deep/er/raw", "750", NULL, NULL) == 0);
    CHECK(iii_fs_info(box, &(struct iii_fs_info_options){ .path = "/workspace/deep/er/raw" }, &info, NULL) == 0);
    CHECK_TEXT(info->items[0].permissions, "-rwxr-x---");
    CHECK(iii_fs_list(box, NULL, &list, NULL) == 0 && list->items_count == 2);
    CHECK(iii_fs_rmdir(box, &(struct iii_fs_rmdir_options){ .path = "/workspace/deep" }, NULL, NULL) == 0);
    CHECK(iii_fs_delete(box, "/workspace/a.txt", NULL, NULL) == 0);
    CHECK(iii_fs_read(box, "/workspace/a.txt", NULL, &err) == III_NOT_FOUND && err.status == 404);
    CHECK(iii_fs_read(box, "../etc/passwd", NULL, &err) == III_INVALID_ARGUMENT);
}

/* A file of a pattern that no piece repeats, made and compared without holding it. */
struct pattern {
    int64_t at, size;
    int64_t told, total;
    bool differs;
};

static unsigned char pattern_byte(int64_t at)
{
    return (unsigned char)((uint64_t)at * 2654435761u >> 16);
}

static int64_t give_pattern(void *buf, size_t size, void *arg)
{
    struct pattern *p = arg;
    size_t part = p->size - p->at < (int64_t)size ? (size_t)(p->size - p->at) : size;
    for (size_t i = 0; i < part; i++)
        ((unsigned char *)buf)[i] = pattern_byte(p->at + (int64_t)i);
    p->at += (int64_t)part;
    return (int64_t)part;
}

static int take_pattern(const void *data, size_t size, void *arg)
{
    struct pattern *p = arg;
    for (size_t i = 0; i < size; i++)
        p->differs |= ((const unsigned char *)data)[i] != pattern_byte(p->at + (int64_t)i);
    p->at += (int64_t)size;
    return p->size > 0 && p->at >= p->size ? 1 : 0;
}

static void on_progress(int64_t done, int64_t total, void *arg)
{
    struct pattern *p = arg;
    p->differs |= done < p->told;
    p->told = done;
    p->total = total;
}

static int64_t break_off(void *buf, size_t size, void *arg)
{
    (void)buf, (void)size, (void)arg;
    return -EIO;
}

static void streams_of_files(void)
{
    const int64_t size = 20 << 20;
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_file_content *put = NULL, *got = NULL, *part = NULL, *by_fd = NULL;
    struct pattern up = { .size = size }, again = { .size = size }, down = { 0 }, middle = { .at = 1000 },
                   some = { .size = 1 };
    struct iii_error err = { 0 };
    char name[] = "/tmp/c-live-XXXXXX", text[16] = "";
    int fd = mkstemp(name);

    CHECK(iii_upload(box, "big/f", give_pattern, &up,
                     &(struct iii_upload_options){ .mode = "0640", .on_progress = on_progress, .progress_arg = &up },
                     &put, &err) == 0);
    CHECK(put && put->size == size && put->created && *put->created && up.told == size && up.total == -1);
    CHECK(iii_download(box, "big/f", take_pattern, &down,
                       &(struct iii_download_options){ .on_progress = on_progress, .progress_arg = &down }, &got,
                       &err) == 0);
    CHECK(down.at == size && down.told == size && down.total == size && !down.differs);
    CHECK_TEXT(got ? got->etag : NULL, put ? put->etag : "");
    CHECK_TEXT(got ? got->mode : NULL, "0640");
    CHECK(iii_download(box, "big/f", take_pattern, &middle,
                       &(struct iii_download_options){ .offset = 1000, .length = 500 }, &part, &err) == 0);
    CHECK(part && part->size == 500 && middle.at == 1500 && !middle.differs);
    CHECK(iii_download(box, "big/f", take_pattern, &some, NULL, NULL, &err) == 0 && some.at < size); /* it left */

    CHECK(iii_upload(box, "big/f", give_pattern, &again, &(struct iii_upload_options){ .is_new = true, .size = size },
                     NULL, &err) == III_PRECONDITION_FAILED);
    struct pattern less = { .size = 10 }, more = { .size = 10 };
    CHECK(iii_upload(box, "g", give_pattern, &less, &(struct iii_upload_options){ .size = 11 }, NULL, &err) ==
          III_LOCAL);
    CHECK_TEXT(err.message, "the source ended after 10 of 11 bytes");
    CHECK(iii_download_fd(box, "g", fd, NULL, NULL, &err) == III_NOT_FOUND); /* nothing of it is there */
    CHECK(iii_upload(box, "g", give_pattern, &more, &(struct iii_upload_options){ .size = 9 }, NULL, &err) == 0);
    CHECK(more.at == 9);
    CHECK(iii_upload(box, "big/f", break_off, NULL, NULL, NULL, &err) == III_LOCAL &&
          strstr(err.message, strerror(EIO)));
    CHECK(iii_download_fd(box, "missing", fd, NULL, NULL, &err) == III_NOT_FOUND);
    CHECK(iii_download_fd(box, "big/f", -1, NULL, NULL, &err) == III_LOCAL);

    CHECK(write(fd, "of a file", 9) == 9 && lseek(fd, 3, SEEK_SET) == 3);
    CHECK(iii_upload_fd(box, "small", fd, NULL, &by_fd, NULL) == 0 && by_fd->size == 6);
    CHECK(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    CHECK(iii_download_fd(box, "small", fd, NULL, NULL, NULL) == 0);
    CHECK(pread(fd, text, sizeof(text) - 1, 0) == 6);
    CHECK_TEXT(text, "a file");
    close(fd);
    unlink(name);
}

static int count_results(const struct iii_rich_result *result, void *arg)
{
    ((struct seen *)arg)->pieces += strcmp(result->type, "text") == 0 ? 100 : 1;
    return 0;
}

static void code_keeps_its_variables(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO_SANDBOX iii_sandbox *same = NULL;
    III_AUTO struct iii_context_result *r = NULL, *bad = NULL, *bash = NULL, *slow = NULL, *told = NULL;
    struct seen seen = { 0 };

    CHECK(iii_run_code(box, "x = 20", NULL, NULL, NULL) == 0);
    CHECK(iii_connect(client, iii_sandbox_id(box), &same, NULL) == 0);
    CHECK(iii_run_code(same, "print('seen'); x * 2 + 2", NULL, &r, NULL) == 0); /* the context is the sandbox's */
    CHECK_TEXT(iii_code_text(r), "42");
    CHECK_TEXT(r->stdout_, "seen\n");
    CHECK(!r->error && !r->error_name && r->results_count == 1);
    CHECK(iii_run_code(box, "1 / 0", NULL, &bad, NULL) == 0 && !iii_code_text(bad) && bad->traceback_count > 0);
    CHECK_TEXT(bad->error_name, "ZeroDivisionError");
    CHECK(iii_run_code(box, "print('a'); x",
                       &(struct iii_code_options){ .on_stdout = on_output, .on_result = count_results, .arg = &seen },
                       &told, NULL) == 0);
    CHECK(strcmp(seen.out, "a\n") == 0 && seen.pieces == 101);
    CHECK(iii_run_code(box, "while True: pass", &(struct iii_code_options){ .timeout_s = 1 }, &slow, NULL) == 0 &&
          slow->timed_out);
    CHECK(iii_run_code(box, "echo $((6 * 7))", &(struct iii_code_options){ .language = "bash" }, &bash, NULL) == 0);
    CHECK_TEXT(bash->stdout_, "42\n");
}

static void environment_code_and_contexts(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    const struct iii_pair vars[] = { { "COLOUR", "blue" }, { "SHAPE", "round" } };
    III_AUTO struct iii_env_value *value = NULL;
    III_AUTO struct iii_code_result *code = NULL;
    III_AUTO struct iii_context *context = NULL;
    III_AUTO struct iii_context_result *rich = NULL;

    CHECK(iii_env_set(box, vars, 2, NULL, NULL) == 0);
    CHECK_OUTPUT(box, "echo $COLOUR $SHAPE", "blue round\n");
    CHECK(iii_env_delete(box, "COLOUR", NULL, NULL) == 0);
    CHECK(iii_env_get(box, "COLOUR", &value, NULL) == 0 && !value->exists && !value->value);
    CHECK(iii_interp_execute(box, "print(6 * 7)", NULL, &code, NULL) == 0 && !code->error);
    CHECK_TEXT(code->output, "42\n");
    CHECK(iii_context_create(box, NULL, &context, NULL) == 0);
    CHECK(iii_context_execute(box, context->id, "x = 20", NULL, NULL, NULL) == 0);
    CHECK(iii_context_execute(box, context->id, "print('seen'); x + 1", NULL, &rich, NULL) == 0);
    CHECK(rich->results_count == 1);
    CHECK_TEXT(rich->results[0].data, "\"21\"");
    CHECK(iii_context_delete(box, context->id, NULL, NULL) == 0);
}

static bool read_until(iii_tty *tty, const char *wanted)
{
    char seen[16384] = "";
    size_t have = 0, got = 1;
    while (got > 0 && have < sizeof(seen) - 1 && !strstr(seen, wanted)) {
        if (iii_tty_read(tty, seen + have, sizeof(seen) - 1 - have, 20000, &got, NULL) != 0)
            return false;
        have += got;
        seen[have] = '\0';
    }
    return strstr(seen, wanted) != NULL;
}

static void terminals(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO_TTY iii_tty *tty = NULL, *none = NULL;
    struct iii_error err = { 0 };
    char piece[64];
    size_t got = 1;
    int code = 0;

    CHECK(iii_tty_open(box, &(struct iii_terminal_create_options){ .cols = III_INT(90), .rows = III_INT(20) }, &tty,
                       NULL) == 0);
    CHECK(iii_tty_send(tty, "stty size\n", 10, NULL) == 0 && read_until(tty, "20 90"));
    while (iii_tty_read(tty, piece, sizeof(piece), 200, &got, &err) == 0)
        continue;
    CHECK(err.code == III_DEADLINE && iii_tty_how(tty, NULL) == III_TTY_OPEN);
    CHECK(iii_tty_resize(tty, 132, 43, NULL) == 0);
    CHECK(iii_tty_send(tty, "stty size; exit 7\n", 18, NULL) == 0 && read_until(tty, "43 132"));
    while (got > 0 && iii_tty_read(tty, piece, sizeof(piece), 20000, &got, NULL) == 0)
        continue;
    while (iii_tty_how(tty, &code) == III_TTY_OPEN && iii_tty_read(tty, piece, sizeof(piece), 20000, &got, NULL) == 0)
        continue;
    CHECK(iii_tty_how(tty, &code) == III_TTY_EXITED && code == 7);
    CHECK(iii_tty_attach(box, iii_tty_session(tty), &none, &err) == III_NOT_FOUND && !none);
}

static void snapshots_and_forks(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_snapshot_info *snapshot = NULL;
    III_AUTO struct iii_snapshot_list *list = NULL;

    CHECK(iii_fs_write(box, "/workspace/f", "before", NULL, NULL) == 0);
    CHECK(iii_snapshot_create(box, &(struct iii_snapshot_create_options){ .name = "first" }, &snapshot, NULL) == 0);
    CHECK(iii_fs_write(box, "/workspace/f", "after", NULL, NULL) == 0);
    CHECK(iii_snapshot_restore(box, snapshot->id, NULL, NULL) == 0);
    CHECK_OUTPUT(box, "cat f", "before");
    iii_sandbox *forks[2] = { NULL };
    III_AUTO_SANDBOX iii_sandbox *clone = NULL, *fork = NULL, *later = NULL;
    CHECK(iii_forks(box, 2, forks, NULL) == 0);
    for (size_t i = 0; i < 2; i++) {
        CHECK_TEXT(iii_sandbox_details(forks[i])->parent_id, iii_sandbox_id(box));
        CHECK_OUTPUT(forks[i], "cat f", "before");
        CHECK(iii_close(forks[i], NULL) == 0);
    }
    CHECK(iii_fork(box, &fork, NULL) == 0 && iii_clone(box, "copy", &clone, NULL) == 0);
    CHECK(iii_from_snapshot(client, snapshot->id, NULL, &later, NULL) == 0);
    CHECK_OUTPUT(fork, "cat f", "before");
    CHECK_OUTPUT(clone, "cat f", "before");
    CHECK_OUTPUT(later, "cat f", "before");
    CHECK_TEXT(iii_sandbox_details(clone)->name, "copy");
    CHECK(iii_snapshot_list(box, &list, NULL) == 0 && list->snapshots_count == 1);
    CHECK(iii_snapshot_delete(client, snapshot->id, NULL, NULL) == 0);
}

struct published {
    const char *topic, *box_id;
    int seen;
};

/* A callback may make calls with the same client. */
static int on_metrics(const struct iii_sandbox_metrics *event, void *arg)
{
    struct published *p = arg;
    p->seen++;
    CHECK_TEXT(event->sandbox_id, p->box_id);
    CHECK(iii_event_publish(client, p->topic, p->box_id, &(struct iii_event_publish_options){ .data = "{\"n\":1}" },
                            NULL, NULL) == 0);
    return 1;
}

static void events_ports_and_volumes(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_event_page *page = NULL;
    III_AUTO struct iii_port_mapping *port = NULL;
    III_AUTO struct iii_sandbox_volume *volume = NULL;
    char topic[80];

    snprintf(topic, sizeof(topic), "c.%s", iii_sandbox_id(box));
    struct published p = { topic, iii_sandbox_id(box), 0 };
    CHECK(iii_stream_metrics(box, NULL, on_metrics, &p, NULL) == 0 && p.seen == 1);
    CHECK(iii_event_history(client, &(struct iii_event_history_options){ .topic = topic }, &page, NULL) == 0);
    CHECK(page->events_count == 1);
    CHECK_TEXT(page->events[0].data, "{\"n\":1}");
    CHECK(iii_port_expose(box, 8000, NULL, &port, NULL) == 0 && port->container_port == 8000);
    CHECK(iii_port_unexpose(box, 8000, NULL, NULL) == 0);
    III_AUTO char *link = NULL;
    CHECK(iii_get_url(box, 8000, &link, NULL) == 0 && strncmp(link, "http://8000-", 12) == 0);
    CHECK(iii_volume_create(client, "kept", NULL, &volume, NULL) == 0);
    CHECK(iii_volume_attach(client, volume->id, iii_sandbox_id(box), "/data", NULL, NULL, NULL) == 0);
    CHECK_OUTPUT(box, "echo kept > /data/f; cat /data/f", "kept\n");
    CHECK(iii_volume_detach(client, volume->id, NULL, NULL) == 0);
    CHECK(iii_volume_delete(client, volume->id, NULL, NULL) == 0);
}

static void policies_templates_and_the_server(void)
{
    III_AUTO_SANDBOX iii_sandbox *box =
        box_with(&(struct iii_sandbox_create_options){ .image = "python", .network = III_BOOL(true) });
    const struct iii_egress_set_rule rule = { .action = "deny", .cidr = "10.0.0.0/8" };
    III_AUTO struct iii_egress_policy *policy = NULL;
    III_AUTO struct iii_sandbox_template *made = NULL;
    III_AUTO struct iii_health *health = NULL;
    III_AUTO struct iii_token *token = NULL;

    CHECK(iii_egress_set(box, &(struct iii_egress_set_options){ .default_ = "deny", .rules = &rule, .rules_count = 1 },
                         &policy, NULL) == 0);
    CHECK(policy->rules_count == 1);
    CHECK_TEXT(policy->default_, "deny");
    CHECK(iii_template_create(client, "c-live",
                              &(struct iii_template_create_config){ .image = "python", .memory = III_INT(128) }, NULL,
                              &made, NULL) == 0);
    III_AUTO_SANDBOX iii_sandbox *of_template = box_with(&(struct iii_sandbox_create_options){ .template_ = made->id });
    CHECK(*iii_sandbox_details(of_template)->config->memory == 128);
    CHECK(iii_template_delete(client, made->id, NULL, NULL) == 0);
    CHECK(iii_health(client, &health, NULL) == 0);
    CHECK_TEXT(health->status, "healthy");
    CHECK(iii_token_create(client, "c-live", &(struct iii_token_create_options){ .role = "read-only", .tenant = "c" },
                           &token, NULL) == 0);
    III_AUTO_CLIENT iii_client *weak = NULL;
    iii_sandbox *none = NULL;
    CHECK(iii_client_new(&(struct iii_config){ .base_url = getenv("III_URL"), .token = token->secret }, &weak, NULL) ==
          0);
    CHECK(iii_create(weak, NULL, &none, NULL) == III_FORBIDDEN && !none);
    CHECK(iii_token_revoke(client, token->id, NULL, NULL) == 0);
}

int main(void)
{
    struct iii_error err = { 0 };
    if (!getenv("III_URL") ||
        iii_client_new(&(struct iii_config){ .base_url = getenv("III_URL"), .token = getenv("III_TOKEN") }, &client,
                       &err) != 0) {
        fprintf(stderr, "III_URL must be the address of a live server: %s\n", err.message);
        return 2;
    }
    the_life_of_a_sandbox();
    connecting_by_name();
    commands();
    commands_with_options();
    durable_commands();
    files();
    streams_of_files();
    code_keeps_its_variables();
    environment_code_and_contexts();
    terminals();
    snapshots_and_forks();
    events_ports_and_volumes();
    policies_templates_and_the_server();
    iii_client_free(client);
    return check_result();
}
