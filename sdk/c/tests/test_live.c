/* Every subject against a live server: III_URL is its address, III_TOKEN a token of an administrator. */
#include <stdlib.h>
#include <time.h>

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
    CHECK(iii_exec(box, line, 60, &r, &err) == 0);
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
        CHECK(iii_exec(box, "true", 0, NULL, &err) == III_CONFLICT);
        CHECK(iii_sandbox_resume(box, NULL, NULL) == 0);
        int64_t later = iii_sandbox_details(box)->expires_at + 60000;
        CHECK(iii_sandbox_renew(box, later, NULL, NULL) == 0 && iii_refresh(box, NULL) == 0);
        CHECK(iii_sandbox_details(box)->expires_at == later);
        III_AUTO struct iii_sandbox_metrics *metrics = NULL;
        CHECK(iii_metrics_sandbox(box, &metrics, NULL) == 0 && metrics->pids >= 1);
    }
    iii_sandbox *gone = NULL;
    CHECK(iii_open(client, id, &gone, &err) == III_NOT_FOUND && !gone); /* the scope has killed it */
    {
        III_AUTO_SANDBOX iii_sandbox *box = new_box();
        snprintf(id, sizeof(id), "%s", iii_sandbox_id(box));
        iii_keep(box);
    }
    iii_sandbox *kept = NULL;
    CHECK(iii_open(client, id, &kept, NULL) == 0);
    CHECK(iii_close(kept, NULL) == 0);
}

struct seen {
    char out[256], err[256], exit[16];
};

static int on_output(const struct iii_exec_stream_chunk *event, void *arg)
{
    struct seen *s = arg;
    const char *data = event->data ? event->data : "";
    if (strcmp(event->type, "exit") == 0)
        snprintf(s->exit, sizeof(s->exit), "%s", data);
    else
        strncat(strcmp(event->type, "stdout") == 0 ? s->out : s->err, data, 100);
    return 0;
}

static int leave_at_once(const struct iii_exec_stream_chunk *event, void *arg)
{
    (void)event;
    ++*(int *)arg;
    return 1;
}

static void commands(void)
{
    III_AUTO_SANDBOX iii_sandbox *box = new_box();
    III_AUTO struct iii_exec_result *r = NULL, *words = NULL;
    struct seen seen = { 0 };
    int events = 0;

    CHECK(iii_exec(box, "echo out; echo err >&2; printf 'a\\0b'; exit 42", 20, &r, NULL) == 0);
    CHECK(r->exit_code == 42 && r->stdout_len == 7 && memcmp(r->stdout_, "out\na\0b", 8) == 0);
    CHECK_TEXT(r->stderr_, "err\n");
    CHECK(iii_cmd_run(box, III_WORDS("printf", "%s", "a b"), NULL, &words, NULL) == 0);
    CHECK_TEXT(words->stdout_, "a b");
    CHECK(iii_exec_stream(box, "echo a; echo b >&2; exit 3", on_output, &seen, NULL) == 0);
    CHECK_TEXT(seen.out, "a\n");
    CHECK_TEXT(seen.err, "b\n");
    CHECK_TEXT(seen.exit, "3");
    CHECK(iii_exec_stream(box, "echo a; sleep 600", leave_at_once, &events, NULL) == 0 && events == 1);

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
    III_AUTO struct iii_sandbox_fork *forks = NULL;
    III_AUTO struct iii_snapshot_list *list = NULL;

    CHECK(iii_fs_write(box, "/workspace/f", "before", NULL, NULL) == 0);
    CHECK(iii_snapshot_create(box, &(struct iii_snapshot_create_options){ .name = "first" }, &snapshot, NULL) == 0);
    CHECK(iii_fs_write(box, "/workspace/f", "after", NULL, NULL) == 0);
    CHECK(iii_snapshot_restore(box, snapshot->id, NULL, NULL) == 0);
    CHECK_OUTPUT(box, "cat f", "before");
    CHECK(iii_sandbox_fork(box, &(struct iii_sandbox_fork_options){ .count = III_INT(2) }, &forks, NULL) == 0 &&
          forks->sandboxes_count == 2);
    for (size_t i = 0; i < forks->sandboxes_count; i++) {
        iii_sandbox *fork = NULL;
        CHECK_TEXT(forks->sandboxes[i].parent_id, iii_sandbox_id(box));
        CHECK(iii_handle(client, forks->sandboxes[i].id, &fork, NULL) == 0 && !iii_sandbox_details(fork));
        CHECK_OUTPUT(fork, "cat f", "before");
        CHECK(iii_close(fork, NULL) == 0);
    }
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
    commands();
    durable_commands();
    files();
    environment_code_and_contexts();
    terminals();
    snapshots_and_forks();
    events_ports_and_volumes();
    policies_templates_and_the_server();
    iii_client_free(client);
    return check_result();
}
