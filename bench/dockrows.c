#include "dockrows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ratios.h"

#define VERSION     "/v1.41"
#define TAR_BLOCK   512
#define FILE_BYTES  1024
#define GONE_WAIT_S 30

static struct {
    struct sockaddr_un at;
    char answer[1 << 16]; /* of the last call, head and body */
    char container[96];   /* of the sandbox that lives for the whole run: both sides work in the same one */
} engine = { .at.sun_family = AF_UNIX };

bool dockrows_open(struct bench *b)
{
    const char *host = getenv("DOCKER_HOST");
    if (!host || strncmp(host, "unix://", 7) != 0 || strlen(host + 7) >= sizeof(engine.at.sun_path))
        return false;
    (void)snprintf(engine.at.sun_path, sizeof(engine.at.sun_path), "%s", host + 7);
    (void)snprintf(engine.container, sizeof(engine.container), "iii-sbx-%s", b->box);
    return true;
}

/* --- the engine's API: one connection for each call, read to its end --- */

static bool send_whole(int fd, const char *data, size_t len)
{
    for (ssize_t n; len; data += n, len -= (size_t)n)
        if ((n = send(fd, data, len, MSG_NOSIGNAL)) <= 0)
            return false;
    return true;
}

static int read_answer(int fd)
{
    size_t len = 0;
    ssize_t n;
    while (len < sizeof(engine.answer) - 1 &&
           (n = recv(fd, engine.answer + len, sizeof(engine.answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    engine.answer[len] = '\0';
    return len > 12 ? (int)strtol(engine.answer + 9, NULL, 10) : -1;
}

static int call_with(const char *method, const char *path, const char *type, const char *body, size_t len)
{
    char head[512];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = -1;
    int n = snprintf(head, sizeof(head),
                     "%s " VERSION "%s HTTP/1.1\r\nHost: b\r\nConnection: close\r\nContent-Type: %s\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     method, path, type, len);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&engine.at, sizeof(engine.at)) == 0 &&
        send_whole(fd, head, (size_t)n) && send_whole(fd, body, len))
        status = read_answer(fd);
    if (fd >= 0)
        (void)close(fd);
    return status;
}

static int call_engine(const char *method, const char *path, const char *body)
{
    return call_with(method, path, "application/json", body ? body : "", body ? strlen(body) : 0);
}

static bool find_member(const char *key, char *out, size_t size)
{
    struct client answer = { .buf = engine.answer };
    return client_member(&answer, key, out, size) == 0;
}

/* What the next sample does must not meet the removal of what this one made. */
static void wait_gone(const char *container)
{
    char path[160];
    (void)snprintf(path, sizeof(path), "/containers/%s/json", container);
    for (int64_t end = client_now_us() + GONE_WAIT_S * 1000000; client_now_us() < end; (void)usleep(5000))
        if (call_engine("GET", path, NULL) == 404)
            break;
    (void)usleep(20000);
}

/* --- ours --- */

static void drop(struct bench *b, const char *id)
{
    char container[96];
    (void)snprintf(container, sizeof(container), "iii-sbx-%s", id);
    rows_drop_box(b, id);
    wait_gone(container);
}

static int64_t sample_create(struct bench *b)
{
    char id[64];
    int64_t took = rows_make_us(b, id, "");
    if (took >= 0)
        drop(b, id);
    return took;
}

struct row dockrows_ours[] = {
    { "create", "create", 0, sample_create, 5 },
    { "exec_true", "exec true", 0, rows_exec_true, 50 },
    { "exec_sh", "exec sh -c 'echo hi'", 0, rows_exec_sh, 30 },
    { "write_1k", "write a 1 KiB file", 0, rows_write, 50 },
    { "read_1k", "read a 1 KiB file", 0, rows_read, 50 },
    { "pause", "pause", 0, rows_pause, 3 },
    { "resume", "resume", 0, rows_resume, 3 },
    { "snapshot", "snapshot", 0, rows_snapshot, 2 },
    { 0 },
};

/* --- the engine's own ways to the same end --- */

static int64_t peer_docker_run(struct bench *b)
{
    static const char name[] = "iii-bench-run";
    static const char *const rm[] = { "docker", "rm", "-f", name, NULL };
    const char *const argv[] = { "docker", "run",    "-d",    "--name", name, "--network",
                                 "none",   b->image, "sleep", "100000", NULL };
    int64_t took = rows_spawn_us(argv);
    (void)rows_spawn_us(rm);
    wait_gone(name);
    return took;
}

static int64_t peer_docker_exec(struct bench *b)
{
    const char *const argv[] = { "docker", "exec", engine.container, "true", NULL };
    (void)b;
    return rows_spawn_us(argv);
}

/* Create and start with the output attached, read to its end. The exit code is a third call, not counted here. */
static int64_t peer_engine_exec(struct bench *b)
{
    char path[256], id[128];
    int64_t t0 = client_now_us();
    (void)b;
    (void)snprintf(path, sizeof(path), "/containers/%s/exec", engine.container);
    if (call_engine("POST", path, "{\"Cmd\":[\"true\"],\"AttachStdout\":true,\"AttachStderr\":true}") != 201 ||
        !find_member("Id", id, sizeof(id)))
        return -1;
    (void)snprintf(path, sizeof(path), "/exec/%s/start", id);
    if (call_engine("POST", path, "{\"Detach\":false,\"Tty\":false}") != 200)
        return -1;
    int64_t took = client_now_us() - t0;
    (void)snprintf(path, sizeof(path), "/exec/%s/json", id);
    return call_engine("GET", path, NULL) == 200 && strstr(engine.answer, "\"ExitCode\":0") ? took : -1;
}

/* A ustar archive of one file of 1 KiB; two zero blocks end it. */
static const char *one_file(size_t *len)
{
    static char tar[TAR_BLOCK + FILE_BYTES + 2 * TAR_BLOCK];
    if (!tar[0]) {
        unsigned sum = 0;
        (void)snprintf(tar, 100, "peer.txt");
        (void)snprintf(tar + 100, 8, "%07o", 0644);
        (void)snprintf(tar + 108, 8, "%07o", 0);
        (void)snprintf(tar + 116, 8, "%07o", 0);
        (void)snprintf(tar + 124, 12, "%011o", FILE_BYTES);
        (void)snprintf(tar + 136, 12, "%011o", 0);
        memset(tar + 148, ' ', 8); /* the sum is taken with spaces in its place */
        tar[156] = '0';
        memcpy(tar + 257,
               "ustar\0"
               "00",
               8);
        for (size_t i = 0; i < TAR_BLOCK; i++)
            sum += (unsigned char)tar[i];
        (void)snprintf(tar + 148, 8, "%06o", sum);
        memset(tar + TAR_BLOCK, 'x', FILE_BYTES);
    }
    *len = sizeof(tar);
    return tar;
}

static int64_t peer_engine_put(struct bench *b)
{
    char path[256];
    size_t len;
    const char *tar = one_file(&len);
    (void)b;
    (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=/", engine.container);
    int64_t t0 = client_now_us();
    return call_with("PUT", path, "application/x-tar", tar, len) == 200 ? client_now_us() - t0 : -1;
}

static int64_t peer_engine_get(struct bench *b)
{
    char path[256];
    (void)b;
    (void)snprintf(path, sizeof(path), "/containers/%s/archive?path=/peer.txt", engine.container);
    int64_t t0 = client_now_us();
    return call_engine("GET", path, NULL) == 200 ? client_now_us() - t0 : -1;
}

static int64_t peer_docker_cp(struct bench *b)
{
    char source[128], target[160];
    (void)snprintf(source, sizeof(source), "%s/peer.txt", b->data_dir);
    (void)snprintf(target, sizeof(target), "%s:/peer.txt", engine.container);
    if (access(source, F_OK) < 0) {
        FILE *f = fopen(source, "w");
        for (int i = 0; f && i < FILE_BYTES; i++)
            (void)fputc('x', f);
        if (!f || fclose(f) != 0)
            return -1;
    }
    const char *const argv[] = { "docker", "cp", source, target, NULL };
    return rows_spawn_us(argv);
}

struct row dockrows_peers[] = {
    { "docker_run", "docker run -d", 0, peer_docker_run, 5 },
    { "docker_exec", "docker exec true, same container", 0, peer_docker_exec, 5 },
    { "engine_exec", "Engine API: exec create, start, attach", 0, peer_engine_exec, 5 },
    { "docker_cp", "docker cp of a 1 KiB file", 0, peer_docker_cp, 3 },
    { "engine_put", "Engine API: put a 1 KiB file (archive)", 0, peer_engine_put, 5 },
    { "engine_get", "Engine API: get a 1 KiB file (archive)", 0, peer_engine_get, 5 },
    { 0 },
};

void dockrows_print(const struct bench *b, FILE *json)
{
    static const struct ratio all[] = {
        { "docker exec / exec", "docker_exec", "exec_true", ">= 30" },
        { "Engine API exec / exec", "engine_exec", "exec_true", ">= 20" },
        { "docker run -d / create", "docker_run", "create", ">= 1" },
        { "docker cp / write", "docker_cp", "write_1k", "" },
        { "Engine API archive put / write", "engine_put", "write_1k", "" },
        { "Engine API archive get / read", "engine_get", "read_1k", "" },
        { 0 },
    };
    ratios_print_all(b, json, all);
}
