#include "cli/cmd_top.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/operation_output.h"
#include "cli/operation_verb.h"

enum { SHOWN_MAX = 200, FRAME_ROWS = 4, USUAL_ROWS = 24 };

struct top {
    const struct verbs_args *a;
    struct rest_client link;
    const char *box;                     /* its processes; NULL: sandboxes */
    json_t *only;                        /* ids of the sandboxes to show; empty: all */
    struct operation_output_style style; /* of tables */
    bool is_live, is_raw;
    struct termios before;
    int signals; /* signalfd, or -1 */
    size_t room; /* rows that fit on the screen */
    /* Why it ended, printed after the view is gone. */
    struct rest_client_answer failed;
    struct err err;
    int failed_r;
};

/* One call; an error is kept for the end. 0, or 1. */
static int top_ask(struct top *t, const struct op *op, const json_t *params, struct rest_client_answer *answer)
{
    t->failed_r = rest_client_op(&t->link, &(struct rest_client_call){ .op = op, .params = params }, answer, &t->err);
    if (t->failed_r == 0 && answer->status < 400)
        return 0;
    t->failed = *answer;
    t->failed.body = NULL; /* now owned by the caller */
    return 1;
}

/* --- one frame --- */

static json_t *row_of(const json_t *box, const json_t *m)
{
    char memory[48], rx[16], tx[16];
    CLEANUP(free_p) char *net = NULL;
    (void)snprintf(memory, sizeof(memory), "%lld/%lld", (long long)json_get_int(m, "memoryUsageMb", 0),
                   (long long)json_get_int(m, "memoryLimitMb", 0));
    net = xasprintf("%s/%s", display_size(json_get_int(m, "networkRxBytes", 0), rx),
                    display_size(json_get_int(m, "networkTxBytes", 0), tx));
    return json_pack("{s:s, s:s, s:s, s:f, s:s, s:I, s:s, s:I}", "id", json_get_str(box, "id", ""), "image",
                     json_get_str(box, "image", ""), "status", json_get_str(box, "status", ""), "cpu %",
                     (double)(long long)(json_get_num(m, "cpuPercent", 0) * 10) / 10, "memory mb", memory, "pids",
                     (json_int_t)json_get_int(m, "pids", 0), "net rx/tx", net, "expiresAt",
                     (json_int_t)json_get_int(box, "expiresAt", 0));
}

/* Sandboxes with their resource use. One that was deleted meanwhile is left out. 0 or an exit code. */
static int draw_boxes(struct top *t)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer list = { 0 };
    JSON_OWNED params = json_pack("{s:i}", "pageSize", SHOWN_MAX);
    JSON_OWNED rows = json_array();
    int code = top_ask(t, &spec_ops[OP_ID_sandbox_list], params, &list);
    if (code != 0)
        return code;
    const json_t *items = json_get(list.body, "items");
    for (size_t i = 0; i < json_array_size(items) && (!t->is_live || json_array_size(rows) < t->room); i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer one = { 0 };
        struct err err = ERR_INIT;
        const json_t *box = json_array_get(items, i);
        if (json_object_size(t->only) > 0 && !json_object_get(t->only, json_get_str(box, "id", "")))
            continue;
        JSON_OWNED which = json_pack("{s:s}", "id", json_get_str(box, "id", ""));
        int r = rest_client_op(&t->link,
                               &(struct rest_client_call){ .op = &spec_ops[OP_ID_metrics_sandbox], .params = which },
                               &one, &err);
        if (r == 0 && one.status < 400)
            (void)json_array_append_new(rows, row_of(box, one.body));
    }
    if (verbs_wants_json(t->a)) {
        display_json(rows, stdout);
        return 0;
    }
    if (t->is_live)
        (void)printf("\033[H\033[J%lld sandboxes on %s; q quits\n\n", (long long)json_get_int(list.body, "total", 0),
                     t->link.url);
    if (json_array_size(rows) == 0)
        (void)puts("No active sandboxes");
    else
        operation_output_table(rows, &t->style, stdout);
    return 0;
}

static int draw_processes(struct top *t)
{
    CLEANUP(rest_client_answer_done) struct rest_client_answer answer = { 0 };
    JSON_OWNED params = json_pack("{s:s}", "id", t->box);
    const struct op *op = &spec_ops[OP_ID_proc_top];
    int code = top_ask(t, op, params, &answer);
    if (code != 0)
        return code;
    json_t *processes = json_get(answer.body, "processes");
    while (t->is_live && json_array_size(processes) > t->room)
        (void)json_array_remove(processes, t->room);
    if (t->is_live)
        (void)printf("\033[H\033[J%s; q quits\n\n", t->box);
    return operation_verb_show(t->a, op, answer.body);
}

/* --- the live view --- */

static void screen_enter(struct top *t)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGWINCH);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->before) == 0) {
        struct termios quiet = t->before;
        quiet.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
        t->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
    }
    (void)setvbuf(stdout, NULL, _IOFBF, 1 << 16); /* a frame is one write: no flicker */
    (void)fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_leave(struct top *t)
{
    if (t->is_live)
        (void)fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    if (t->is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
    if (t->signals >= 0)
        (void)close(t->signals);
}

/* Waits for the next frame. False: the user wants to leave. */
static bool wait_next(const struct top *t, int wait_ms)
{
    struct pollfd fds[] = { { .fd = t->signals, .events = POLLIN },
                            { .fd = t->is_raw ? STDIN_FILENO : -1, .events = POLLIN } };
    struct signalfd_siginfo info;
    char key = 0;
    if (poll(fds, 2, wait_ms) <= 0)
        return true;
    if (fds[0].revents && read(t->signals, &info, sizeof(info)) == sizeof(info))
        return info.ssi_signo == SIGWINCH;
    if (fds[1].revents && read(STDIN_FILENO, &key, 1) <= 0)
        return false; /* the terminal is gone */
    return key != 'q' && key != 'Q';
}

/* Draws until the user leaves, the count is reached or a call fails. */
static int top_loop(struct top *t, long long interval_s, long long count)
{
    int code = operation_output_style(t->a, &t->style);
    code = code ? code : operation_verb_link(t->a, &t->link);
    for (int i = 0; code == 0 && !t->box && i < t->a->n_words; i++) {
        CLEANUP(rest_client_answer_done) struct rest_client_answer box = { 0 };
        code = operation_verb_get(&t->link, t->a->words[i], &box);
        (void)json_object_set_new(t->only, json_get_str(box.body, "id", "?"), json_true());
    }
    if (code != 0)
        return code;
    t->is_live = isatty(STDOUT_FILENO) && !t->link.is_json && count != 1;
    if (!t->is_live && count == 0)
        count = 1; /* no terminal, nobody could leave the view */
    if (t->is_live)
        screen_enter(t);
    for (long long i = 1; code == 0; i++) {
        struct winsize size;
        bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > FRAME_ROWS;
        t->room = (is_known ? size.ws_row : USUAL_ROWS) - FRAME_ROWS;
        code = t->box ? draw_processes(t) : draw_boxes(t);
        if (fflush(stdout) == EOF || (count && i >= count) || code != 0 || !wait_next(t, (int)interval_s * 1000))
            break;
    }
    screen_leave(t);
    if (t->failed_r < 0 || t->failed.status >= 400)
        code = operation_verb_verdict(&t->link, &t->failed, t->failed_r, &t->err);
    return code;
}

static int top_with(const struct verbs_args *a, const char *box, long long count)
{
    struct top t = { .a = a, .link = REST_CLIENT_INIT, .box = box, .only = json_object(), .signals = -1 };
    long long interval_s = 2;
    int code = a->program->usage_exit;
    if (verbs_number(a, "interval", 1, 3600, &interval_s) >= 0 && verbs_number(a, "count", 1, 1000000, &count) >= 0)
        code = top_loop(&t, interval_s, count);
    rest_client_done(&t.link);
    json_decref(t.only);
    return code;
}

int cmd_top_run(const struct verbs_args *a)
{
    return top_with(a, a->n_words > 0 ? a->words[0] : NULL, 0);
}

int cmd_top_stats(const struct verbs_args *a)
{
    return top_with(a, NULL, verbs_value(a, "no-stream") ? 1 : 0);
}
