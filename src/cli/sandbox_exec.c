#include "cli/sandbox_exec.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/buf.h"
#include "cli/display.h"
#include "cli/engine_connect.h"
#include "os/write_all.h"

enum {
    SERVER_DEADLINE_MS = 300000,
    GRACE_MS = 5000,
    CHANNEL_WAIT_MS = 5000,
    LAST_WORDS_MS = 1000,
    STDIN_MAX = 3 * 1024 * 1024,
    EXIT_INTERRUPTED = 130
};

json_t *sandbox_exec_env(const struct verbs_args *a)
{
    json_t *list = json_array();
    size_t at = 0;
    for (const char *v; (v = verbs_next(a, "env", &at));)
        (void)json_array_append_new(list, json_text(v, strlen(v)));
    return list;
}

/* --- output --- */

/* The command's output while it runs. */
struct outflow {
    struct wire *w;
    struct ws *ws; /* NULL: closed, or never opened */
    bool is_over;
};

static void output_data(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)ws;
    if (!is_text && len > 1 && (data[0] == 1 || data[0] == 2))
        (void)write_all_write(data[0], data + 1, len - 1);
}

static void on_output_end(void *arg, struct ws *ws, int code, const char *reason)
{
    struct outflow *o = arg;
    (void)ws, (void)code, (void)reason;
    o->ws = NULL;
    o->is_over = true;
    wire_wake(o->w);
}

static const struct ws_events output_events = { .on_message = output_data, .on_close = on_output_end };

/* Creates a channel and reads from it; the reference to the other end goes into the payload. Without one the output
 * comes with the reply. */
static void open_outflow(struct outflow *o, json_t *payload)
{
    struct err err = ERR_INIT;
    CLEANUP(wire_answer_done) struct wire_answer channel = { 0 };
    JSON_OWNED nothing = json_object();
    if (wire_call(o->w, "engine::channels::create", nothing, CHANNEL_WAIT_MS, &channel, &err) < 0 || !channel.result)
        return;
    if (wire_channel(o->w, json_get(channel.result, "reader"), &output_events, o, &o->ws, &err) == 0)
        (void)json_object_set(payload, "stream", json_get(channel.result, "writer"));
}

static void print_text(const json_t *from, const char *key, int fd)
{
    const json_t *text = json_get(from, key);
    if (json_is_string(text))
        (void)write_all_write(fd, json_string_value(text), json_string_length(text));
}

/* --- the call --- */

static int read_stdin(json_t *payload)
{
    CLEANUP(buf_done) struct buf input = BUF_INIT(STDIN_MAX);
    char piece[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
        if (buf_add(&input, piece, (size_t)n) < 0)
            return engine_connect_fail_text(
                "standard input holds more than 3 MiB; `iii sandbox upload` accepts files of any size");
    if (n < 0)
        return engine_connect_fail_text("standard input cannot be read");
    CLEANUP(free_p) char *text = xzalloc(BASE64_SIZE(input.len) + 1);
    base64_encode(buf_text(&input), input.len, text);
    (void)json_object_set_new(payload, "stdin", json_string(text));
    return 0;
}

/* Program and arguments separately; as argv when the program's name contains white space, at which cmd would be
 * split. */
static json_t *payload_of(const struct sandbox_exec_plan *plan)
{
    const char *program = plan->argv[0];
    bool is_plain = *program && !program[strcspn(program, " \t\n\r\v\f")] && (unsigned char)*program < 0x80;
    json_t *words = json_array(), *payload = json_object();
    for (int i = is_plain; i < plan->n_argv; i++)
        (void)json_array_append_new(words, json_text(plan->argv[i], strlen(plan->argv[i])));
    (void)json_object_set_new(payload, "sandbox_id", json_text(plan->id, strlen(plan->id)));
    (void)json_object_set_new(payload, is_plain ? "args" : "argv", words);
    if (is_plain)
        (void)json_object_set_new(payload, "cmd", json_text(program, strlen(program)));
    if (json_array_size(plan->env) > 0)
        (void)json_object_set(payload, "env", (json_t *)(uintptr_t)plan->env);
    if (plan->timeout_ms >= 0)
        (void)json_object_set_new(payload, "timeout_ms", json_integer(plan->timeout_ms));
    if (plan->workdir)
        (void)json_object_set_new(payload, "workdir", json_text(plan->workdir, strlen(plan->workdir)));
    return payload;
}

static int exec_failed(struct outflow *o, const json_t *error)
{
    JSON_OWNED envelope = NULL;
    const char *code = engine_connect_code(error, &envelope);
    bool is_late = code && strcmp(code, "S200") == 0;
    if (is_late && o->ws)
        (void)wire_wait(o->w, &o->is_over, LAST_WORDS_MS, NULL); /* a server that does not stream never ends it */
    print_text(envelope, "stdout", STDOUT_FILENO);
    print_text(envelope, "stderr", STDERR_FILENO);
    (void)engine_connect_fail(error);
    return is_late ? SANDBOX_EXEC_TIMED_OUT : 1;
}

static int exec_finished(const struct sandbox_exec_plan *plan, struct outflow *o, const json_t *result)
{
    if (plan->is_json) {
        display_json(result, stdout);
        (void)fflush(stdout);
    } else {
        if (json_get_bool(result, "streamed", false))
            (void)wire_wait(o->w, &o->is_over, GRACE_MS, NULL); /* the reply may overtake the last of the output */
        print_text(result, "stdout", STDOUT_FILENO);
        print_text(result, "stderr", STDERR_FILENO);
    }
    if (json_get_bool(result, "timed_out", false))
        return SANDBOX_EXEC_TIMED_OUT;
    return (int)json_get_int(result, "exit_code", 1) & 0xff;
}

int sandbox_exec_run(struct wire *w, const struct sandbox_exec_plan *plan)
{
    struct err err = ERR_INIT;
    struct outflow out = { .w = w };
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    JSON_OWNED payload = payload_of(plan);
    int r = plan->has_stdin ? read_stdin(payload) : 0;
    if (r != 0)
        return r;
    if (!plan->is_json)
        open_outflow(&out, payload);
    int64_t wait_ms = (plan->timeout_ms >= 0 ? plan->timeout_ms : SERVER_DEADLINE_MS) + GRACE_MS;
    r = wire_call(w, "sandbox::exec", payload, wait_ms, &answer, &err);
    if (r == -EINTR)
        r = EXIT_INTERRUPTED;
    else if (r < 0)
        r = engine_connect_fail_text(err.msg);
    else
        r = answer.error ? exec_failed(&out, answer.error) : exec_finished(plan, &out, answer.result);
    if (out.ws)
        ws_drop(STEAL(out.ws));
    return r;
}
