#include "cli/cmd_audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/data_folder.h"
#include "cli/display.h"
#include "cli/duration.h"
#include "cli/engine_connect.h"
#include "store/audit_file.h"

/* Which lines to show, and how. */
struct view {
    const char *operation, *token, *tenant;
    long long status, most; /* -1: any; the last so many (0: all) */
    int64_t since_ms, seen; /* seen: number of the last line read */
    bool is_json;
    char **kept; /* ring of the last `most` lines */
    size_t n;
};

static bool is_same_or_any(const char *wanted, const json_t *j, const char *name, const char *or_name)
{
    return !wanted || strcmp(json_get_str(j, name, ""), wanted) == 0 ||
           (or_name && strcmp(json_get_str(j, or_name, ""), wanted) == 0);
}

static bool is_wanted(const struct view *v, const json_t *j)
{
    const char *operation = json_get_str(j, "operation", "");
    return (!v->operation || strncmp(operation, v->operation, strlen(v->operation)) == 0) &&
           is_same_or_any(v->token, j, "token", "name") && is_same_or_any(v->tenant, j, "tenant", NULL) &&
           (v->status < 0 || json_get_int(j, "status", -1) == v->status) && json_get_int(j, "time", 0) >= v->since_ms;
}

static void print_line(const struct view *v, const char *line)
{
    JSON_OWNED j = NULL;
    char at[32] = "";
    struct tm tm;
    if (v->is_json) {
        (void)printf("%s\n", line);
        return;
    }
    if (json_read(line, strlen(line), &j, NULL) < 0)
        return;
    time_t s = (time_t)(json_get_int(j, "time", 0) / 1000);
    if (gmtime_r(&s, &tm))
        (void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", &tm);
    CLEANUP(free_p) char *name = display_clean(json_get_str(j, "name", "-"));
    CLEANUP(free_p) char *operation = display_clean(json_get_str(j, "operation", ""));
    CLEANUP(free_p) char *target = json_get(j, "target") ? json_write(json_get(j, "target"), NULL) : xstrdup("");
    CLEANUP(free_p) char *clean = display_clean(target);
    (void)printf("%6lld  %s  %3lld  %-20s  %-24s  %-22s  %s\n", (long long)json_get_int(j, "seq", 0), at,
                 (long long)json_get_int(j, "status", 0), name, operation, json_get_str(j, "remote", "-"), clean);
}

static bool take_line(void *arg, const char *line, size_t len)
{
    struct view *v = arg;
    JSON_OWNED j = NULL;
    if (json_read(line, len, &j, NULL) < 0)
        return true; /* torn, or tampered with: verify reports it */
    int64_t seq = json_get_int(j, "seq", 0);
    if (seq <= v->seen || !is_wanted(v, j))
        return true;
    v->seen = seq;
    char *copy = xstrndup(line, len);
    if (!v->most) {
        print_line(v, copy);
        free(copy);
        return true;
    }
    char **slot = &v->kept[v->n++ % (size_t)v->most];
    free(*slot);
    *slot = copy;
    return true;
}

static int show_lines(const struct verbs_args *a, long long most, bool is_following)
{
    struct err err = ERR_INIT;
    const char *since = verbs_value(a, "since");
    int64_t ms = 0;
    struct view v = { .operation = verbs_value(a, "operation"),
                      .token = verbs_value(a, "by"),
                      .tenant = verbs_value(a, "tenant"),
                      .status = -1,
                      .most = most,
                      .is_json = verbs_value(a, "json") };
    if (verbs_number(a, "status", 0, 999, &v.status) < 0 || verbs_number(a, "lines", 1, 100000, &v.most) < 0)
        return 2;
    if (since && duration_parse(since, &ms, &err) < 0)
        return verbs_usage_error(a->verb, "--since: %s", err.msg);
    v.since_ms = since ? clock_wall_ms() - ms : 0;
    v.kept = v.most ? xzalloc((size_t)v.most * sizeof(*v.kept)) : NULL;
    CLEANUP(free_p) char *dir = data_folder_of(a);
    CLEANUP(free_p) char *folder = xasprintf("%s/" AUDIT_FILE_FOLDER, dir);
    CLEANUP(close_fd_p) int changes = is_following ? inotify_init1(IN_CLOEXEC) : NO_FD; /* before the first look */
    int r = 0;
    if (is_following && (changes < 0 || inotify_add_watch(changes, folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0))
        r = err_sys(&err, -errno, "watch %s", folder);
    if (r == 0)
        r = audit_file_each(dir, take_line, &v, &err);
    size_t kept = (size_t)v.most;
    for (size_t i = v.n > kept ? v.n - kept : 0; i < v.n; i++) {
        char *line = v.kept[i % kept];
        print_line(&v, line);
        free(line);
    }
    free(STEAL(v.kept));
    v.most = 0; /* what comes from now on is shown at once */
    while (r == 0 && is_following && fflush(stdout) == 0) {
        char events[4096]; /* what they say does not matter */
        r = read(changes, events, sizeof(events)) < 0 ? err_sys(&err, -errno, "watch %s", folder)
                                                      : audit_file_each(dir, take_line, &v, &err);
    }
    return r < 0 ? engine_connect_fail_text(err.msg) : 0;
}

int cmd_audit_show(const struct verbs_args *a)
{
    return show_lines(a, 0, false);
}

int cmd_audit_tail(const struct verbs_args *a)
{
    return show_lines(a, 20, verbs_value(a, "follow"));
}

int cmd_audit_verify(const struct verbs_args *a)
{
    struct err err = ERR_INIT;
    struct audit_file_verdict v;
    CLEANUP(free_p) char *dir = data_folder_of(a);
    int r = audit_file_verify(dir, &v, &err);
    if (verbs_value(a, "json")) {
        JSON_OWNED j =
            r == 0 ? json_pack("{s:b, s:I, s:I, s:I, s:s, s:b}", "ok", 1, "lines", (json_int_t)v.lines, "first",
                               (json_int_t)v.first, "last", (json_int_t)v.last, "head", v.head, "trimmed", v.is_trimmed)
                   : json_pack("{s:b, s:s}", "ok", 0, "error", err.msg);
        display_json(j, stdout);
        return r < 0;
    }
    if (r < 0)
        return engine_connect_fail_text(err.msg);
    (void)printf("%lld lines, %lld to %lld: the chain is intact%s\nhead %s\n", (long long)v.lines, (long long)v.first,
                 (long long)v.last, v.is_trimmed ? " (older files were removed)" : "", v.head);
    return 0;
}
