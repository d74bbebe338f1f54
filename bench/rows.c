#include "bench.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"
#include "filerows.h"

extern char **environ;

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

double rows_quantile_ms(struct row *r, double q)
{
    if (r->n == 0)
        return 0;
    qsort(r->samples, r->n, sizeof(int64_t), by_value);
    return (double)r->samples[(unsigned)(q * (r->n - 1) + 0.5)] / 1000.0;
}

bool rows_make_box(struct bench *b, char *id, const char *extra)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"image\":\"%s\"%s}", b->image, extra);
    return client_call(&b->http, "POST", "/sandboxes", body) == 200 && client_member(&b->http, "id", id, 64) == 0;
}

int64_t rows_make_us(struct bench *b, char *id, const char *extra)
{
    int64_t t0 = client_now_us();
    return rows_make_box(b, id, extra) ? client_now_us() - t0 : -1;
}

double rows_kib(const char *file, const char *key)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            kib = strtod(line + strlen(key) + 1, NULL);
    if (f)
        (void)fclose(f);
    return kib;
}

static int call_box(struct bench *b, const char *method, const char *id, const char *tail, const char *body)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "/sandboxes/%s%s", id, tail);
    return client_call(&b->http, method, path, body);
}

void rows_drop_box(struct bench *b, const char *id)
{
    (void)call_box(b, "DELETE", id, "", NULL);
}

static int64_t timed_call(struct bench *b, const char *method, const char *id, const char *tail, const char *body)
{
    int64_t t0 = client_now_us();
    int status = call_box(b, method, id, tail, body);
    return status == 200 ? client_now_us() - t0 : -1;
}

/* rest: until what the create took from is full again. */
static int64_t create_and_rest(struct bench *b, const char *extra, useconds_t rest_us)
{
    char id[64];
    int64_t took = rows_make_us(b, id, extra);
    if (took < 0)
        return -1;
    rows_drop_box(b, id);
    (void)usleep(rest_us);
    return took;
}

static int64_t sample_create(struct bench *b)
{
    return create_and_rest(b, "", 4000); /* one client, not a flood: the blank that was taken is replaced */
}

/* The server keeps warm sandboxes of this odd size only, so that no other row takes them. */
static int64_t sample_create_pool(struct bench *b)
{
    return create_and_rest(b, ",\"memory\":" POOL_MEMORY, 15000);
}

static int64_t sample_first_output(struct bench *b)
{
    char id[64], path[128];
    int64_t t0 = client_now_us(), first = 0;
    if (!rows_make_box(b, id, ""))
        return -1;
    (void)snprintf(path, sizeof(path), "/sandboxes/%s/exec/stream", id);
    int status = client_stream(&b->http, path, "{\"command\":[\"echo\",\"hi\"]}", &first);
    rows_drop_box(b, id);
    (void)usleep(4000);
    return status == 200 ? first - t0 : -1;
}

static int64_t sample_kill(struct bench *b)
{
    char id[64];
    if (!rows_make_box(b, id, ""))
        return -1;
    (void)usleep(4000);
    return timed_call(b, "DELETE", id, "", NULL);
}

int64_t rows_exec_true(struct bench *b)
{
    return timed_call(b, "POST", b->box, "/exec", "{\"command\":[\"true\"]}");
}

int64_t rows_exec_sh(struct bench *b)
{
    return timed_call(b, "POST", b->box, "/exec", "{\"command\":\"echo hi\"}");
}

int64_t rows_write(struct bench *b)
{
    static char body[1300];
    if (!body[0]) {
        char kib[1025];
        memset(kib, 'x', 1024);
        kib[1024] = '\0';
        (void)snprintf(body, sizeof(body), "{\"path\":\"bench.txt\",\"content\":\"%s\"}", kib);
    }
    return timed_call(b, "POST", b->box, "/files/write", body);
}

int64_t rows_read(struct bench *b)
{
    return timed_call(b, "POST", b->box, "/files/read", "{\"path\":\"bench.txt\"}");
}

int64_t rows_pause(struct bench *b)
{
    int64_t took = timed_call(b, "POST", b->box, "/pause", NULL);
    (void)call_box(b, "POST", b->box, "/resume", NULL);
    return took;
}

int64_t rows_resume(struct bench *b)
{
    (void)call_box(b, "POST", b->box, "/pause", NULL);
    return timed_call(b, "POST", b->box, "/resume", NULL);
}

static int64_t sample_health(struct bench *b)
{
    int64_t t0 = client_now_us();
    return client_call(&b->http, "GET", "/health", NULL) == 200 ? client_now_us() - t0 : -1;
}

/* A sandbox that wakes on request, for as long as the server runs; put to sleep now. */
static int64_t put_to_sleep(struct bench *b, char id[64], const char *how)
{
    static char sleeper[64], of_box[64];
    if (strcmp(of_box, b->box) != 0) {
        if (!rows_make_box(b, sleeper, ",\"autoResume\":true"))
            return -1;
        (void)snprintf(of_box, sizeof(of_box), "%s", b->box);
    }
    (void)snprintf(id, 64, "%s", sleeper);
    (void)call_box(b, "POST", id, "/exec", "{\"command\":[\"true\"]}"); /* wakes it */
    return timed_call(b, "POST", id, how, "{}");
}

/* From the request to the first byte of its command's output. */
static int64_t sample_wake(struct bench *b, const char *how)
{
    char id[64], path[128];
    int64_t first = 0;
    if (put_to_sleep(b, id, how) < 0)
        return -1;
    (void)usleep(4000); /* one client, not a flood: what its end leaves to do is done */
    (void)snprintf(path, sizeof(path), "/sandboxes/%s/exec/stream", id);
    int64_t t0 = client_now_us();
    return client_stream(&b->http, path, "{\"command\":[\"echo\",\"hi\"]}", &first) == 200 ? first - t0 : -1;
}

static int64_t sample_wake_stop(struct bench *b)
{
    return sample_wake(b, "/stop");
}

int64_t rows_wake_pause(struct bench *b)
{
    return sample_wake(b, "/pause");
}

int64_t rows_hibernate(struct bench *b)
{
    char id[64];
    return put_to_sleep(b, id, "/hibernate");
}

int64_t rows_wake_hibernate(struct bench *b)
{
    return sample_wake(b, "/hibernate");
}

#define CONTEXTS "/interpret/contexts"

static bool make_context(struct bench *b, char *tail, size_t size)
{
    char id[64];
    if (call_box(b, "POST", b->box, CONTEXTS, "{}") != 200 || client_member(&b->http, "id", id, sizeof(id)) < 0)
        return false;
    (void)snprintf(tail, size, CONTEXTS "/%s", id);
    return true;
}

static int run_line(struct bench *b, const char *context)
{
    char tail[128];
    (void)snprintf(tail, sizeof(tail), "%s/execute", context);
    return call_box(b, "POST", b->box, tail, "{\"code\":\"1 + 1\"}");
}

static int64_t sample_py_context(struct bench *b)
{
    static char context[96], of_box[64];
    if (strcmp(of_box, b->box) != 0) {
        if (!make_context(b, context, sizeof(context)))
            return -1;
        (void)snprintf(of_box, sizeof(of_box), "%s", b->box);
    }
    int64_t t0 = client_now_us();
    return run_line(b, context) == 200 ? client_now_us() - t0 : -1;
}

static int64_t sample_py_new_context(struct bench *b)
{
    char context[96];
    int64_t t0 = client_now_us();
    if (!make_context(b, context, sizeof(context)) || run_line(b, context) != 200)
        return -1;
    int64_t took = client_now_us() - t0;
    (void)call_box(b, "DELETE", b->box, context, NULL);
    (void)usleep(40000); /* one client, not a flood: the spare that was taken is replaced */
    return took;
}

/* Drops what the last answer made: it is not part of the sample. */
int64_t rows_snapshot(struct bench *b)
{
    char id[64], path[128];
    (void)call_box(b, "POST", b->box, "/files/write", "{\"path\":\"bench.txt\",\"content\":\"x\"}");
    int64_t took = timed_call(b, "POST", b->box, "/snapshots", "{}");
    if (took < 0 || client_member(&b->http, "id", id, sizeof(id)) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/snapshots/%s", id);
    return client_call(&b->http, "DELETE", path, NULL) == 200 ? took : -1;
}

/* From a sandbox of its own: every fork makes its parent one layer deeper. */
static int64_t sample_fork(struct bench *b)
{
    char parent[64], child[64];
    if (!rows_make_box(b, parent, ""))
        return -1;
    (void)call_box(b, "POST", parent, "/files/write", "{\"path\":\"bench.txt\",\"content\":\"x\"}");
    (void)usleep(4000);
    int64_t took = timed_call(b, "POST", parent, "/clone", "{}");
    if (took >= 0 && client_member(&b->http, "id", child, sizeof(child)) == 0)
        rows_drop_box(b, child);
    rows_drop_box(b, parent);
    return took;
}

struct burst {
    struct bench *b;
    char id[64];
    bool is_good;
};

static void *burst_one(void *arg)
{
    struct burst *one = arg;
    struct bench mine = *one->b;
    if (client_open(&mine.http, mine.port) < 0)
        return NULL;
    one->is_good = rows_make_box(&mine, one->id, "") &&
                   call_box(&mine, "POST", one->id, "/exec", "{\"command\":[\"true\"]}") == 200;
    client_close(&mine.http);
    return NULL;
}

#define BURST 100

static int64_t sample_burst(struct bench *b)
{
    static struct burst all[BURST];
    pthread_t threads[BURST];
    bool is_good = true;
    int64_t t0 = client_now_us();
    for (int i = 0; i < BURST; i++) {
        all[i] = (struct burst){ .b = b };
        (void)pthread_create(&threads[i], NULL, burst_one, &all[i]);
    }
    for (int i = 0; i < BURST; i++)
        (void)pthread_join(threads[i], NULL);
    int64_t took = client_now_us() - t0;
    for (int i = 0; i < BURST; i++) {
        is_good = is_good && all[i].is_good;
        if (all[i].id[0])
            rows_drop_box(b, all[i].id);
    }
    (void)usleep(300000);
    return is_good ? took : -1;
}

struct row rows_ours[] = {
    { "health", "GET /health (the round trip itself)", 0, sample_health, 50 },
    { "create", "create alone (blank pool)", 1.5, sample_create, 20 },
    { "create_pool", "create from the warm pool", 0.3, sample_create_pool, 20 },
    { "first_output", "create to first exec output", 3, sample_first_output, 20 },
    { "kill", "kill", 1, sample_kill, 10 },
    { "exec_true", "exec true", 0, rows_exec_true, 50 },
    { "exec_sh", "exec sh -c 'echo hi'", 0, rows_exec_sh, 30 },
    { "write_1k", "write a 1 KiB file", 0.3, rows_write, 50 },
    { "read_1k", "read a 1 KiB file", 0.3, rows_read, 50 },
    { "upload_256m", "256 MiB into a file by files/content", 0, filerows_upload, 1 },
    { "download_256m", "the same out of it", 0, filerows_download, 1 },
    { "pause", "pause", 0.5, rows_pause, 20 },
    { "resume", "resume", 0.5, rows_resume, 20 },
    { "wake_stop", "first byte of a command that wakes a stopped sandbox", 10, sample_wake_stop, 5 },
    { "wake_pause", "the same of a paused one", 1, rows_wake_pause, 10 },
    { "py_context", "one line of Python in a live context", 0.5, sample_py_context, 50 },
    { "py_new_context", "one line of Python in a new context", 2.5, sample_py_new_context, 20 },
    { "snapshot", "snapshot of a running sandbox", 5, rows_snapshot, 4 },
    { "fork", "fork of a running sandbox (one child, running)", 5, sample_fork, 5 },
    { "engine_call", "one invocation through the engine", 0, engine_sample_call, 50 },
    { "fn_run", "sandbox::run, one line of Python, one shot", 0, engine_sample_run, 5 },
    { "burst_100", "100 creates at once, all usable", 200, sample_burst, 1 },
    { 0 },
};

int64_t rows_spawn_us(const char *const *argv)
{
    static int quiet = -1;
    if (quiet < 0)
        quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int64_t t0 = client_now_us();
    pid_t pid = fork();
    int status;
    if (pid == 0) {
        (void)dup2(quiet, 1); /* not freopen(): that would print what this process has buffered */
        (void)dup2(quiet, 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return -1;
    return client_now_us() - t0;
}

static int64_t peer_true(struct bench *b)
{
    static const char *const argv[] = { "/bin/true", NULL };
    (void)b;
    return rows_spawn_us(argv);
}

static int64_t peer_bwrap(struct bench *b)
{
    static const char *const argv[] = { "bwrap",     "--unshare-all", "--ro-bind", "/usr",      "/usr",
                                        "--symlink", "usr/lib",       "/lib",      "--symlink", "usr/lib64",
                                        "/lib64",    "--symlink",     "usr/bin",   "/bin",      "--proc",
                                        "/proc",     "--dev",         "/dev",      "/bin/echo", "hi",
                                        NULL };
    (void)b;
    return rows_spawn_us(argv);
}

/* A bundle whose root is an empty folder with the host's /usr bound read-only. */
static bool make_bundle(struct bench *b)
{
    static const char script[] =
        "set -e; mkdir -p \"$0/rootfs/usr\"; cd \"$0\"; ln -sfn usr/bin rootfs/bin; ln -sfn usr/lib rootfs/lib; "
        "ln -sfn usr/lib64 rootfs/lib64; runc spec; "
        "/usr/bin/python3 -c 'import json; c = json.load(open(\"config.json\")); c[\"process\"].update(terminal=False, "
        "args=[\"/bin/true\"]); c[\"mounts\"].append(dict(destination=\"/usr\", source=\"/usr\", type=\"bind\", "
        "options=[\"rbind\", \"ro\"])); json.dump(c, open(\"config.json\", \"w\"))'";
    if (!b->runc_bundle[0]) {
        (void)snprintf(b->runc_bundle, sizeof(b->runc_bundle), "%s/runc", b->data_dir);
        const char *const argv[] = { "sh", "-c", script, b->runc_bundle, NULL };
        return rows_spawn_us(argv) >= 0;
    }
    return true;
}

static int64_t peer_runc(struct bench *b)
{
    static unsigned n;
    char name[64];
    (void)snprintf(name, sizeof(name), "iii-bench-%d-%u", (int)getpid(), n++);
    const char *const argv[] = { "runc", "run", "--bundle", b->runc_bundle, name, NULL };
    return rows_spawn_us(argv);
}

static int64_t peer_docker_exec(struct bench *b)
{
    static const char *const argv[] = { "docker", "exec", "iii-bench-peer", "true", NULL };
    (void)b;
    return rows_spawn_us(argv);
}

static int64_t peer_docker_run(struct bench *b)
{
    static const char *const argv[] = { "docker",          "run",   "-d", "--rm", "--network", "none",
                                        "iii-bench-image", "sleep", "2",  NULL };
    (void)b;
    return rows_spawn_us(argv);
}

struct row rows_peers[] = {
    { "cat_in", "256 MiB through a loopback socket and cat, to a file", 0, filerows_cat_in, 1 },
    { "cat_out", "the same from a file", 0, filerows_cat_out, 1 },
    { "bare_true", "bare fork + exec of true", 0, peer_true, 50 },
    { "bwrap", "bwrap --unshare-all echo, spawn to exit", 0, peer_bwrap, 10 },
    { "runc", "runc run of true", 0, peer_runc, 3 },
    { "docker_exec", "docker exec true", 0, peer_docker_exec, 3 },
    { "docker_run", "docker run -d", 0, peer_docker_run, 2 },
    { 0 },
};

bool rows_peer_present(struct bench *b, const char *name)
{
    if (strcmp(name, "bare_true") == 0 || strncmp(name, "cat_", 4) == 0)
        return true;
    if (strcmp(name, "bwrap") == 0)
        return system("command -v bwrap >/dev/null 2>&1") == 0;
    if (strcmp(name, "runc") == 0)
        return geteuid() == 0 && system("command -v runc >/dev/null 2>&1") == 0 && make_bundle(b);
    return system("docker inspect iii-bench-peer >/dev/null 2>&1") == 0;
}
