/* iii-probe [--outside] [--marker PATH --secret TEXT] [--host NAME] [--uptime S] [--port N]
 *
 * Started in place of a VMM (--api-sock PATH --id NAME, as Firecracker is started) it plays a compromised VMM: its rows
 * go to the file `report` beside that socket, and it keeps running. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape/probe/probe.h"

#define CHILD_SECONDS 10
#define GROUP_SECONDS 40

/* Cleans text from the kernel, so that a row is always one line of JSON. */
static void plain(char *s)
{
    for (; *s; s++)
        if (*s == '"' || *s == '\\' || (unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            *s = ' ';
}

void probe_row(int item, const char *name, enum probe_result result, const char *fmt, ...)
{
    static const char *const words[] = { "denied", "reached", "skipped" };
    char detail[240], title[80], line[480];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof(detail), fmt, ap);
    va_end(ap);
    snprintf(title, sizeof(title), "%s", name);
    plain(detail);
    plain(title);
    int n = snprintf(line, sizeof(line), "{\"item\":%d,\"name\":\"%s\",\"result\":\"%s\",\"detail\":\"%s\"}\n", item,
                     title, words[result], detail);
    (void)!write(1, line, (size_t)n); /* one write per row: a probe that dies loses no earlier row */
}

void probe_call(int item, const char *name, long result)
{
    int why = errno;
    if (result >= 0)
        probe_row(item, name, PROBE_REACHED, "answered %ld", result);
    else if (why == EPERM || why == EACCES || why == ENOSYS)
        probe_row(item, name, PROBE_DENIED, "%s", strerror(why));
    else
        probe_row(item, name, PROBE_REACHED, "the kernel looked at it: %s", strerror(why));
}

static int wait_child(pid_t pid)
{
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int probe_child(int (*fn)(const void *), const void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        _exit(fn(arg));
    }
    return pid < 0 ? -1 : wait_child(pid);
}

const char *probe_text(const char *path)
{
    static char text[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    size_t len = 0;
    for (ssize_t n; len < sizeof(text) - 1 && (n = read(fd, text + len, sizeof(text) - 1 - len)) > 0;)
        len += (size_t)n;
    close(fd);
    text[len] = '\0';
    return text;
}

static const struct {
    const char *name;
    probe_fn *fn;
} groups[] = {
    { "handles", probe_handles },       { "links", probe_links },     { "calls", probe_calls },
    { "namespaces", probe_namespaces }, { "entries", probe_entries }, { "families", probe_families },
    { "trace", probe_trace },           { "gain", probe_gain },       { "kernel", probe_kernel },
    { "cgroup", probe_cgroup },         { "net", probe_net },         { "pages", probe_pages },
    { "sides", probe_sides },
};

static int read_args(int argc, char **argv, struct probe_ctx *ctx)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--outside") == 0) {
            ctx->is_outside = true;
            continue;
        }
        if (!value)
            return -EINVAL;
        if (strcmp(argv[i], "--marker") == 0)
            ctx->marker = value;
        else if (strcmp(argv[i], "--secret") == 0)
            ctx->secret = value;
        else if (strcmp(argv[i], "--host") == 0)
            ctx->host = value;
        else if (strcmp(argv[i], "--uptime") == 0)
            ctx->uptime_s = strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--port") == 0)
            ctx->port = (int)strtol(value, NULL, 10);
        else if (strcmp(argv[i], "--api-sock") == 0)
            ctx->socket = value;
        else if (strcmp(argv[i], "--id") == 0)
            ctx->instance = value;
        else
            return -EINVAL;
        i++;
    }
    return 0;
}

static int open_report(const char *socket)
{
    char path[256];
    const char *slash = strrchr(socket, '/');
    snprintf(path, sizeof(path), "%.*s/report", slash ? (int)(slash - socket) : 0, socket);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || dup2(fd, 1) < 0)
        return -1;
    return close(fd); /* open descriptors are checked */
}

int main(int argc, char **argv)
{
    struct probe_ctx ctx = { 0 };
    /* A copy of this program with a set-uid bit or file capabilities reports what it gained: 64 root, 66
     * capabilities. */
    if (argc == 2 && strcmp(argv[1], "--who") == 0) {
        const char *text = probe_text("/proc/self/status"), *at = text ? strstr(text, "CapEff:") : NULL;
        bool has_caps = at && strtoull(at + 7, NULL, 16) != 0;
        return geteuid() == 0 ? 64 : has_caps ? 66 : 65;
    }
    if (argc == 3 && strcmp(argv[1], "--cling") == 0) /* the last argument lets others find our processes */
        return probe_cling();
    if (argc == 3 && strcmp(argv[1], "--catch") == 0)
        return probe_catch((int)strtol(argv[2], NULL, 10));
    if (read_args(argc, argv, &ctx) < 0) {
        fprintf(stderr,
                "usage: iii-probe [--outside] [--marker PATH --secret TEXT] [--host NAME] [--uptime S] [--port N]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if (ctx.socket && open_report(ctx.socket) < 0)
        return 1;
    /* Each group runs in a child: one that dies or hangs is a finding, and the next ones still run. */
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(GROUP_SECONDS);
            groups[i].fn(&ctx);
            _exit(0);
        }
        int code = pid < 0 ? -1 : wait_child(pid);
        if (code != 0)
            probe_row(6, groups[i].name, PROBE_REACHED, "this group of probes did not come to its end (exit code %d)",
                      code);
    }
    if (ctx.socket)
        probe_row(18, "done", PROBE_DENIED, "machine %s", ctx.instance ? ctx.instance : "");
    while (ctx.socket)
        (void)pause();
    return 0;
}
