/* Handlers of processes inside a sandbox. */
#include <stdio.h>
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"

static json_t *percent(double v)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%.1f", v);
    return json_string(text);
}

static json_t *list_row(const struct guest_process *p, double mem)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o}", "pid", p->pid, "user", p->user, "cpu", percent(p->cpu_percent),
                     "memory", percent(mem), "command", json_text(p->command, strlen(p->command)));
}

static json_t *top_row(const struct guest_process *p, double mem)
{
    return json_pack("{s:i, s:o, s:o, s:I, s:I, s:o}", "pid", p->pid, "cpu", percent(p->cpu_percent), "mem",
                     percent(mem), "vsz", (json_int_t)p->vsz_kb, "rss", (json_int_t)p->rss_kb, "command",
                     json_text(p->command, strlen(p->command)));
}

static void reply_processes(struct call *c, const struct guest_process *p, size_t n, uint64_t total_kb,
                            json_t *(*row)(const struct guest_process *, double))
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(list, row(&p[i], total_kb ? 100.0 * (double)p[i].rss_kb / (double)total_kb : 0));
    call_ok(c, json_pack("{s:o}", "processes", list));
}

static void on_list(void *arg, const struct guest_process *p, size_t n, uint64_t total_kb, const struct err *err)
{
    if (err)
        call_fail(arg, err);
    else
        reply_processes(arg, p, n, total_kb, list_row);
}

static void on_top(void *arg, const struct guest_process *p, size_t n, uint64_t total_kb, const struct err *err)
{
    if (err)
        call_fail(arg, err);
    else
        reply_processes(arg, p, n, total_kb, top_row);
}

void api_proc_list(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (s)
        (void)handlers_failed(c, guest_processes(s->link, on_list, c), "listing processes");
}

void api_proc_top(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (s)
        (void)handlers_failed(c, guest_processes(s->link, on_top, c), "listing processes");
}

static void on_killed(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:I, s:s}", "killed", (json_int_t)call_int(c, "pid", 0), "signal",
                             call_str(c, "signal", "TERM")));
}

void api_proc_kill(struct call *c)
{
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    const char *name = call_str(c, "signal", "TERM");
    int signo = handlers_signal(c, name), pid = (int)call_int(c, "pid", 0);
    struct err err = ERR_INIT;
    if (signo > 0 && pid == 1) {
        (void)err_set(&err, ERR_INVALID, 0, "pid: 1 is the sandbox's agent: delete the sandbox to terminate it");
        call_fail(c, &err);
    } else if (signo > 0) {
        (void)handlers_failed(c, guest_kill(s->link, pid, signo, on_killed, c), "kill");
    }
}
