#include "cli/exec_input.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "cli/engine_connect.h"
#include "cli/operation_verb.h"

enum { PIECE = 384 * 1024, EXIT_SIGNALLED = 128 };

/* A child process reads our standard input, because both directions block. */
static pid_t start_feeding(const struct rest_client *l, const char *exec_id)
{
    static char piece[PIECE], text[BASE64_SIZE(PIECE) + 1];
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        struct rest_client_answer answer = { 0 };
        struct err err = ERR_INIT;
        base64_encode(piece, n > 0 ? (size_t)n : 0, text);
        JSON_OWNED params =
            json_pack("{s:s, s:s, s:s, s:b}", "execId", exec_id, "data", text, "encoding", "base64", "close", n <= 0);
        int r = rest_client_op(l, &(struct rest_client_call){ .op = &spec_ops[OP_ID_exec_input], .params = params },
                               &answer, &err);
        if (r < 0 || answer.status >= 400 || n <= 0)
            _exit(0); /* that was the end, or the command accepts no more */
        rest_client_answer_done(&answer);
    }
}

static int exec_event(void *arg, const json_t *event)
{
    int *code = arg;
    const char *type = json_get_str(event, "type", "");
    const json_t *data = json_get(event, "data");
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(SIZE_MAX / 4);
    if (strcmp(type, "exit") == 0)
        *code = (int)strtol(json_get_str(event, "data", "1"), NULL, 10) & 0xff;
    if (strcmp(type, "output") != 0 || !json_is_string(data))
        return 0;
    if (base64_decode(json_string_value(data), json_string_length(data), &bytes) < 0)
        return 1;
    (void)fwrite(buf_text(&bytes), 1, bytes.len, stdout);
    return fflush(stdout) == EOF;
}

static void kill_command(const struct rest_client *l, const char *exec_id)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED params = json_pack("{s:s, s:s}", "execId", exec_id, "signal", "KILL");
    (void)rest_client_op(l, &(struct rest_client_call){ .op = &spec_ops[OP_ID_exec_signal], .params = params }, &answer,
                         &err);
}

static int follow_exec(const struct rest_client *l, const char *exec_id)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    int code = -1;
    JSON_OWNED params = json_pack("{s:s, s:b, s:s}", "execId", exec_id, "follow", 1, "encoding", "base64");
    int r =
        rest_client_op(l,
                       &(struct rest_client_call){
                           .op = &spec_ops[OP_ID_exec_output], .params = params, .on_event = exec_event, .arg = &code },
                       &answer, &err);
    int failed = operation_verb_verdict(l, &answer, r, &err);
    if (code < 0)
        kill_command(l, exec_id);
    if (answer.signal)
        return EXIT_SIGNALLED + answer.signal;
    return failed ? failed : code < 0 ? 1 : code;
}

int exec_input_run(const struct verbs_args *a, const struct rest_client *l, const json_t *params)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer started = { 0 };
    JSON_OWNED wanted = json_copy((json_t *)(uintptr_t)params);
    if (verbs_value(a, "json"))
        return verbs_usage_error(a->verb, "-i streams the output: omit --json");
    (void)json_object_set_new(wanted, "stdin", json_true());
    int code = operation_verb_call(l, &spec_ops[OP_ID_exec_start], wanted, &started);
    if (code != 0)
        return code;
    const char *id = json_get_str(started.body, "id", "");
    pid_t feeder = start_feeding(l, id);
    if (feeder < 0) {
        kill_command(l, id);
        return engine_connect_fail_text("cannot start a process for standard input");
    }
    code = follow_exec(l, id);
    (void)kill(feeder, SIGKILL);
    (void)waitpid(feeder, NULL, 0);
    return code;
}
