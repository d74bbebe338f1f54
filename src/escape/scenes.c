/* The scenes of `iii doctor --escape`. A scene is a function that does something inside a sandbox of the suite's server
 * and then checks, from outside, what it reached; it adds its rows to the suite, which owns them. A scene that cannot
 * run adds a row that says why, and the next one still runs. Scenes that could change the host record the watched files
 * before and compare them afterwards (watch_host()). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "escape/escape_vm.h"

#define TEXT_MAX (1u << 20)
#define CATCH_US 1500000
#define KILL_MS  1000
#define CLING    "probe-clings-"

/* ---- observers ---- */

/* State of the host that must be the same before and after: settings, its name, the bait file, our own program. */
static const char *const watched[] = {
    "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",      "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/hostname",     "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/swappiness",
    "/proc/sys/fs/suid_dumpable",    "/proc/sys/kernel/sysrq",         "/proc/self/uid_map"
};

static void add_file(struct buf *b, const char *path)
{
    char text[4096];
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    (void)buf_addf(b, "%s %zd ", path, n);
    if (n > 0)
        (void)buf_add(b, text, (size_t)n);
}

static void add_stat(struct buf *b, const char *path)
{
    struct stat st = { 0 };
    int r = stat(path, &st);
    (void)buf_addf(b, "%s %d %llu %llu %lld %lld.%ld %o %u\n", path, r, (unsigned long long)st.st_dev,
                   (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_ctim.tv_sec,
                   st.st_ctim.tv_nsec, st.st_mode, st.st_uid);
}

static void watch_host(const struct suite *s, struct buf *b)
{
    for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
        add_file(b, watched[i]);
    add_file(b, s->marker);
    add_stat(b, s->marker);
    add_stat(b, "/proc/self/exe");
    add_stat(b, "/etc/passwd");
    add_stat(b, "/tmp/probe-jail");
    add_stat(b, "/usr/bin/env");
}

/* ---- the probe ---- */

static void take_rows(struct suite *s, char *text)
{
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        json_t *row = NULL;
        if (json_read(line, strlen(line), &row, NULL) == 0 && json_get_int(row, "item", 0) > 0)
            (void)json_array_append_new(s->rows, row);
        else
            json_decref(row);
    }
}

static int run_probe(struct suite *s, struct err *err)
{
    struct utsname host;
    struct sysinfo info;
    char uptime[24];
    CLEANUP(free_p) char *out = NULL;
    int r = suite_load_probe(s, s->box, err);
    if (r < 0)
        return r;
    if (uname(&host) < 0 || sysinfo(&info) < 0)
        return err_set(err, ERR_INTERNAL, errno, "ask for the host's name and uptime");
    (void)snprintf(uptime, sizeof(uptime), "%ld", info.uptime);
    const char *colon = s->server.url ? strrchr(s->server.url, ':') : NULL, *port = colon ? colon + 1 : "0";
    const char *const argv[] = { "/workspace/iii-probe", "--marker", s->marker, "--secret", s->secret, "--host",
                                 host.nodename,          "--uptime", uptime,    "--port",   port,      NULL };
    r = suite_exec(s, s->box, argv, &out, err);
    if (r < 0)
        return r;
    size_t before = json_array_size(s->rows);
    take_rows(s, out);
    return json_array_size(s->rows) > before ? 0 : err_set(err, ERR_INTERNAL, 0, "the probe said nothing");
}

/* One program watches /proc as fast as it can while we start commands. */
static int race_exec(struct suite *s, struct err *err)
{
    CLEANUP(free_p) char *out = NULL;
    const char *const nothing[] = { "/bin/true", NULL };
    int64_t end = clock_mono_us() + CATCH_US;
    int r = suite_shell(s, s->box, "/workspace/iii-probe --catch 2 >/workspace/caught 2>&1 &", NULL, err);
    while (r == 0 && clock_mono_us() < end)
        r = suite_exec(s, s->box, nothing, NULL, err);
    if (r == 0)
        r = suite_shell(s, s->box, "while ! grep -q item /workspace/caught; do sleep 0.1; done; cat /workspace/caught",
                        &out, err);
    if (r == 0)
        take_rows(s, out);
    return r;
}

void scenes_probes(struct suite *s)
{
    struct err err = ERR_INIT;
    CLEANUP(buf_done) struct buf before = BUF_INIT(TEXT_MAX);
    CLEANUP(buf_done) struct buf after = BUF_INIT(TEXT_MAX);
    watch_host(s, &before);
    if (run_probe(s, &err) < 0 || race_exec(s, &err) < 0) {
        suite_row(s, 6, "the probe", SUITE_REACHED, "could not be run to its end: %s", err.msg);
        return;
    }
    watch_host(s, &after);
    bool is_same = before.len == after.len && memcmp(before.data, after.data, before.len) == 0;
    suite_row(s, 7, "seen outside: the host's settings and files", is_same ? SUITE_DENIED : SUITE_REACHED,
              is_same ? "as before" : "something changed");
    CLEANUP(free_p) char *out = NULL;
    int r = suite_shell(s, s->box, "echo alive", &out, &err);
    suite_row(s, 6, "seen outside: the supervisor",
              r == 0 && strcmp(out, "alive\n") == 0 ? SUITE_DENIED : SUITE_REACHED, "%s",
              r == 0 ? "answers as before" : err.msg);
}

/* ---- the file API ---- */

static void file_row(struct suite *s, const char *tail, const char *path, json_t *body)
{
    CLEANUP(free_p) char *answer = NULL;
    char name[200];
    (void)suite_post(s, s->box, tail, body, &answer); /* an error reply is expected */
    (void)snprintf(name, sizeof(name), "%s of %.120s", tail, path);
    bool is_leaked = answer && strstr(answer, s->secret);
    suite_row(s, 5, name, is_leaked ? SUITE_REACHED : SUITE_DENIED, "%.200s", answer ? answer : "no answer");
}

void scenes_files(struct suite *s)
{
    struct err err = ERR_INIT;
    CLEANUP(buf_done) struct buf before = BUF_INIT(TEXT_MAX);
    CLEANUP(buf_done) struct buf after = BUF_INIT(TEXT_MAX);
    CLEANUP(free_p)
    char *links = xasprintf("cd /workspace && ln -s '%s' link && ln -s / slash && ln -s /proc/1/root proot && "
                            "ln -s /proc/self/cwd/../.. cwd && ln -s loop loop && mkfifo fifo && ln '%s' hard; true",
                            s->marker, s->marker);
    if (suite_shell(s, s->box, links, NULL, &err) < 0)
        suite_row(s, 5, "links for the file API", SUITE_REACHED, "cannot be made: %s", err.msg);
    CLEANUP(free_p) char *dots = xasprintf("/workspace/../../../../../../../..%s", s->marker);
    CLEANUP(free_p) char *proot = xasprintf("/workspace/proot%s", s->marker);
    CLEANUP(free_p) char *slash = xasprintf("/workspace/slash%s", s->marker);
    const char *const paths[] = {
        s->marker, dots, proot, slash, "/workspace/link", "/workspace/hard", "/workspace/loop", "/workspace/fifo"
    };
    watch_host(s, &before);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const char *path = paths[i];
        file_row(s, "files/read", path, json_pack("{s:s}", "path", path));
        file_row(s, "files/download", path, json_pack("{s:s}", "path", path));
        file_row(s, "files/info", path, json_pack("{s:s}", "path", path));
        file_row(s, "files/list", path, json_pack("{s:s}", "path", path));
        file_row(s, "files/write", path, json_pack("{s:s, s:s}", "path", path, "content", "overwritten"));
        file_row(s, "files/upload", path, json_pack("{s:s, s:s}", "path", path, "content", "b3Zlcg=="));
        file_row(s, "files/chmod", path, json_pack("{s:s, s:s}", "path", path, "mode", "777"));
        file_row(s, "files/delete", path, json_pack("{s:s}", "path", path));
    }
    watch_host(s, &after);
    bool is_same = before.len == after.len && memcmp(before.data, after.data, before.len) == 0;
    suite_row(s, 5, "seen outside: the bait", is_same ? SUITE_DENIED : SUITE_REACHED,
              is_same ? "as before" : "changed");
}

/* ---- other sandboxes ---- */

static const char sums[] = "sha256sum /usr/bin/env /bin/sh /etc/passwd 2>/dev/null";

/* The neighbour's files, listener and secret: none may be visible or changeable from here. */
void scenes_neighbours(struct suite *s)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *before = NULL;
    CLEANUP(free_p) char *after = NULL;
    CLEANUP(free_p) char *seen = NULL;
    CLEANUP(free_p) char *hide = xasprintf("echo %s >/tmp/secret; echo %s >/dev/shm/secret", s->secret, s->secret);
    const char *const again[] = { "/workspace/iii-probe", NULL };
    if (suite_shell(s, s->neighbour, hide, NULL, &err) < 0 || suite_shell(s, s->neighbour, sums, &before, &err) < 0 ||
        suite_exec(s, s->box, again, NULL, &err) < 0 || suite_shell(s, s->neighbour, sums, &after, &err) < 0) {
        suite_row(s, 14, "a neighbour's files", SUITE_REACHED, "could not be compared: %s", err.msg);
        return;
    }
    bool is_same = before[0] && strcmp(before, after) == 0;
    suite_row(s, 14, "seen in a neighbour: the files of their shared image", is_same ? SUITE_DENIED : SUITE_REACHED,
              "%s",
              is_same     ? "unchanged"
              : before[0] ? "changed"
                          : "cannot be read");
    CLEANUP(free_p)
    char *search =
        xasprintf("grep -rls %s /tmp /dev/shm /workspace /proc/*/environ /var/tmp /run 2>/dev/null; true", s->secret);
    if (suite_shell(s, s->box, search, &seen, &err) < 0)
        suite_row(s, 17, "a neighbour's secret", SUITE_REACHED, "could not be looked for: %s", err.msg);
    else
        suite_row(s, 17, "a neighbour's secret", seen[0] ? SUITE_REACHED : SUITE_DENIED, "%s",
                  seen[0] ? seen : "nowhere");
}

/* ---- forks ---- */

static const char identity[] = "head -c 16 /dev/urandom | od -An -tx1; cat /proc/sys/kernel/hostname";

void scenes_forks(struct suite *s)
{
    struct err err = ERR_INIT;
    char *told[3] = { NULL };
    char *ids[2] = { NULL };
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/clone", s->neighbour);
    int r = suite_shell(s, s->neighbour, identity, &told[0], &err);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        JSON_OWNED made = NULL;
        JSON_OWNED body = json_object();
        r = build_server_call(&s->server, "POST", path, body, &made, &err);
        if (r == 0) {
            ids[i] = xstrdup(json_get_str(made, "id", ""));
            r = suite_shell(s, ids[i], identity, &told[i + 1], &err);
        }
    }
    if (r < 0) {
        bool is_missing = strstr(err.msg, "answers 501") != NULL;
        suite_row(s, 12, "copies of a sandbox", is_missing ? SUITE_SKIPPED : SUITE_REACHED, "cannot be made: %s",
                  err.msg);
    } else {
        bool is_equal = strcmp(told[0], told[1]) == 0 || strcmp(told[1], told[2]) == 0 || strcmp(told[0], told[2]) == 0;
        const char *host[3] = { strchr(told[0], '\n'), strchr(told[1], '\n'), strchr(told[2], '\n') };
        bool is_named_alike =
            !host[0] || !host[1] || !host[2] || strcmp(host[1], host[2]) == 0 || strcmp(host[0], host[1]) == 0;
        suite_row(s, 12, "random bytes of two copies are equal", is_equal ? SUITE_REACHED : SUITE_DENIED, "%s",
                  is_equal ? told[1] : "all differ");
        suite_row(s, 12, "copies share a host name", is_named_alike ? SUITE_REACHED : SUITE_DENIED, "%s",
                  is_named_alike ? told[1] : "each has its own");
    }
    for (size_t i = 0; i < 2; i++)
        if (ids[i])
            suite_delete(s, ids[i]);
    for (size_t i = 0; i < 2; i++)
        free(ids[i]);
    for (size_t i = 0; i < 3; i++)
        free(told[i]);
}

/* ---- kill ---- */

/* Counts processes of the whole host whose command line has the word. */
static unsigned count_clinging(const char *word)
{
    DIR *d = opendir("/proc");
    unsigned n = 0;
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char path[300], text[4096];
        (void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", e->d_name);
        CLEANUP(close_fd_p) int fd = e->d_name[0] > '0' && e->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text));
        n += len > 0 && memmem(text, (size_t)len, word, strlen(word)) != NULL;
    }
    if (d)
        closedir(d);
    return n;
}

static unsigned count_inside(struct suite *s, const char *id, const char *word)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *out = NULL;
    CLEANUP(free_p) char *script = xasprintf("grep -la %s /proc/[0-9]*/cmdline 2>/dev/null", word);
    unsigned n = 0;
    if (suite_shell(s, id, script, &out, &err) < 0)
        return 0;
    for (const char *p = out; (p = strchr(p, '\n')); p++)
        n++;
    return n; /* the shell that runs the check is one of them */
}

void scenes_kill(struct suite *s)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *word = xasprintf(CLING "%.16s", s->secret);
    CLEANUP(free_p) char *id = suite_create(s, NULL, &err);
    const char *const argv[] = { "/workspace/iii-probe", "--cling", word, NULL };
    if (!id || suite_load_probe(s, id, &err) < 0 || suite_exec(s, id, argv, NULL, &err) < 0) {
        suite_row(s, 15, "processes that will not end", SUITE_REACHED, "could not be started: %s", err.msg);
        return;
    }
    /* The processes of a VM are in its own kernel: they are counted there, and outside its VMM is counted. */
    unsigned instances = s->is_vm ? escape_vm_count(s) : 0;
    unsigned there = s->is_vm ? count_inside(s, id, word) : count_clinging(word), left = there;
    int64_t start = clock_mono_us();
    suite_delete(s, id);
    while (left && (clock_mono_us() - start) / 1000 < 20 * KILL_MS) {
        (void)usleep(5000); /* scanning all of /proc is expensive */
        left = s->is_vm ? escape_vm_count(s) >= instances : count_clinging(word);
    }
    int64_t took = (clock_mono_us() - start) / 1000;
    double load = 0;
    bool is_busy = getloadavg(&load, 1) == 1 && load > 2.0 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    bool is_good = there >= 5 && left == 0 && (took <= KILL_MS || is_busy);
    suite_row(s, 15, "detached, stopped, traced and deaf processes after a kill",
              is_good ? SUITE_DENIED : SUITE_REACHED, "%u before, %u left after %lld ms", there, left, (long long)took);
}
