/* `iii doctor --vm`. The check first asks the driver what the host lacks; any missing requirement ends it at once.
 * Otherwise it makes a temporary data folder with a kernel and an image of one static program, starts a private server
 * on it (struct check owns the folder, the process and its output), and runs the steps one after the other through the
 * REST API; each is a row with its time. The first step that fails ends the run. In every case the server is terminated
 * and the folder removed. */
#include "cli/doctor_vm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/doctor.h"
#include "cli/rest_client.h"
#include "os/write_all.h"

#define TAR_BLOCK 512
#define READY_MS  60000
#define IMAGE     "iii-doctor"
#define PROGRAM   "/agent"
#define MARK      "/tmp/iii-doctor"

static const char help[] =
    "Usage: iii doctor --vm [--backend qemu|firecracker|krun] [--config FILE] [--data-dir FOLDER] [--json]\n"
    "\n"
    "Boots a VM in a temporary folder, runs a command in it, writes a file,\n"
    "pauses it, saves it with a process running, restores and forks it, and removes it.\n"
    "Every line is the result of a test that was just run, with the time it took.\n"
    "\n"
    "Exit code: 0 all of it works here, 1 it does not, 2 wrong usage.\n";

struct check {
    const struct doctor_vm_parts *parts;
    const char *backend;
    char *folder;
    pid_t server;
    int out; /* the server's output, kept open until it has exited */
    struct rest_client link;
    json_t *rows;
    bool has_failed;
    char box[64], child[64], snapshot[64];
};

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void add_row(struct check *c, const char *name, bool is_ok, const char *detail, const char *fix)
{
    json_t *row = json_pack("{s:s, s:b, s:b, s:o}", "name", name, "ok", is_ok, "required", 1, "detail",
                            json_text(detail, strlen(detail)));
    if (fix && !is_ok)
        (void)json_object_set_new(row, "fix", json_string(fix));
    (void)json_array_append_new(c->rows, row);
    c->has_failed |= !is_ok;
}

/* --- processes --- */

static pid_t server_start(const char *const *argv, int out)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(null, 0);
    (void)dup2(out >= 0 ? out : null, 1);
    (void)dup2(null, 2);
    (void)execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    _exit(127);
}

static bool doctor_run(const char *const *argv)
{
    int status = 0;
    pid_t pid = server_start(argv, NO_FD);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* cp and rm of the host, by fixed paths. */
static bool run_tool(const char *const *argv)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        (void)execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* --- what the server needs --- */

/* Writes an archive of one program. */
static bool write_image(const struct check *c, const char *path)
{
    char head[TAR_BLOCK] = "", pad[2 * TAR_BLOCK + TAR_BLOCK] = "";
    unsigned sum = 0;
    (void)snprintf(head, 100, "%s", PROGRAM + 1);
    (void)snprintf(head + 100, 8, "%07o", 0755);
    (void)snprintf(head + 108, 8, "%07o", 0);
    (void)snprintf(head + 116, 8, "%07o", 0);
    (void)snprintf(head + 124, 12, "%011zo", c->parts->program_len);
    (void)snprintf(head + 136, 12, "%011o", 0);
    memset(head + 148, ' ', 8); /* the checksum is computed with spaces in its own field */
    head[156] = '0';
    (void)snprintf(head + 257, 6, "ustar");
    memset(head + 263, '0', 2); /* its version */
    for (size_t i = 0; i < sizeof(head); i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    size_t rest = (TAR_BLOCK - c->parts->program_len % TAR_BLOCK) % TAR_BLOCK;
    CLEANUP(close_fd_p) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && write_all_write(fd, head, sizeof(head)) == 0 &&
           write_all_write(fd, c->parts->program, c->parts->program_len) == 0 &&
           write_all_write(fd, pad, rest + (size_t)2 * TAR_BLOCK) == 0;
}

static void folder_prepare(struct check *c)
{
    CLEANUP(free_p) char *kit = xasprintf("%s/vm/kit", c->parts->data_dir);
    CLEANUP(free_p) char *vm = xasprintf("%s/vm", c->folder);
    CLEANUP(free_p) char *tar = xasprintf("%s/image.tar", c->folder);
    const char *const copy[] = { "/bin/cp", "-r", "--", kit, vm, NULL };
    const char *const setup[] = { "iii", "vm", "setup", "--data-dir", c->folder, NULL };
    const char *const import[] = { "iii", "image", "import", tar, IMAGE, "--data-dir", c->folder, NULL };
    int64_t t0 = now_ms();
    if (access(kit, R_OK) == 0 && mkdir(vm, 0700) == 0)
        (void)run_tool(copy); /* on failure it is built again */
    bool is_ok = doctor_run(setup);
    CLEANUP(free_p) char *detail = xasprintf("%lld ms", (long long)(now_ms() - t0));
    add_row(c, "guest kernel", is_ok, detail, "`iii vm setup` says what is missing");
    if (is_ok)
        add_row(c, "image", write_image(c, tar) && doctor_run(import), "one static program",
                "`iii image import` says why");
}

static void server_exec(struct check *c)
{
    int pipe_fds[2];
    char line[256] = "";
    size_t len = 0;
    const char *const argv[] = { "iii",     "serve",       "--port", "0", "--engine-port", "0", "--data-dir",
                                 c->folder, "--log-level", "error",  NULL };
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return;
    (void)setenv("III_ISOLATION_BACKEND", c->backend, 1);
    (void)unsetenv("III_BACKENDS");
    (void)unsetenv("III_AUTH_TOKEN");
    c->server = server_start(argv, pipe_fds[1]);
    (void)close(pipe_fds[1]); /* the server's end */
    c->out = pipe_fds[0];
    struct pollfd p = { .fd = c->out, .events = POLLIN };
    while (len < sizeof(line) - 1 && !memchr(line, '\n', len) && poll(&p, 1, READY_MS) == 1) {
        ssize_t n = read(c->out, line + len, sizeof(line) - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    char *url = strstr(line, "rest=");
    add_row(c, "server", url != NULL, url ? "started in a folder of its own" : "it does not start",
            "`III_ISOLATION_BACKEND=… iii serve` says why");
    if (!url)
        return;
    url[strcspn(url, " \n")] = '\0';
    rest_client_init(&c->link, url + strlen("rest="), "", NULL);
}

/* --- the steps --- */

/* One call as one row; the reply's `key` goes to ret when it is given. */
static bool check_step(struct check *c, const char *name, const char *method, const char *path, json_t *body,
                       const char *key, char ret[64])
{
    struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    JSON_OWNED owned = body;
    const struct rest_client_request q = { .method = method, .path = path, .body = owned };
    if (c->has_failed)
        return false;
    int64_t t0 = now_ms();
    int r = rest_client_run(&c->link, &q, &answer, &err);
    bool is_ok = r >= 0 && answer.status < 400;
    CLEANUP(free_p)
    char *detail = is_ok ? xasprintf("%lld ms", (long long)(now_ms() - t0)) : xstrdup(r < 0 ? err.msg : answer.error);
    add_row(c, name, is_ok, detail, NULL);
    const json_t *from = json_is_array(json_get(answer.body, "sandboxes"))
                             ? json_array_get(json_get(answer.body, "sandboxes"), 0)
                             : answer.body;
    if (is_ok && key)
        (void)snprintf(ret, 64, "%s", json_get_str(from, key, ""));
    rest_client_answer_done(&answer);
    return is_ok;
}

static void step_at(struct check *c, const char *name, const char *method, const char *box, const char *tail,
                    json_t *body)
{
    char none[64];
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s%s", box, tail);
    (void)check_step(c, name, method, path, body, NULL, none);
}

/* Whether the process that ran when the VM was saved runs in this one. */
static void check_process(struct check *c, const char *name, const char *box)
{
    struct rest_client_answer answer = { 0 };
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *path = xasprintf("/sandboxes/%s/processes", box);
    const struct rest_client_request q = { .method = "GET", .path = path };
    if (c->has_failed)
        return;
    bool is_there = false;
    if (rest_client_run(&c->link, &q, &answer, &err) >= 0 && answer.status < 400 && answer.body) {
        CLEANUP(free_p) char *text = json_write(answer.body, NULL);
        is_there = strstr(text, MARK) != NULL;
    }
    add_row(c, name, is_there, is_there ? "it is there" : "it is not there", NULL);
    rest_client_answer_done(&answer);
}

static void run_steps(struct check *c)
{
    char none[64];
    bool can_save = strcmp(c->backend, "krun") != 0;
    (void)check_step(c, "first create: boot", "POST", "/sandboxes", json_pack("{s:s}", "image", IMAGE), "id", c->child);
    (void)check_step(c, "next create", "POST", "/sandboxes", json_pack("{s:s}", "image", IMAGE), "id", c->box);
    step_at(c, "command", "POST", c->box, "/exec", json_pack("{s:[s]}", "command", PROGRAM));
    step_at(c, "write a file", "POST", c->box, "/files/write",
            json_pack("{s:s, s:s}", "path", "/workspace/f", "content", "x"));
    step_at(c, "pause", "POST", c->box, "/pause", json_object());
    step_at(c, "resume", "POST", c->box, "/resume", json_object());
    step_at(c, "process in the background", "POST", c->box, "/exec/background",
            json_pack("{s:[s,s,s]}", "command", PROGRAM, "--listen-unix", MARK));
    if (!can_save)
        return;
    CLEANUP(free_p) char *snapshots = xasprintf("/sandboxes/%s/snapshots", c->box);
    (void)check_step(c, "snapshot with memory", "POST", snapshots, json_object(), "id", c->snapshot);
    step_at(c, "restore", "POST", c->box, "/snapshots/restore", json_pack("{s:s}", "snapshotId", c->snapshot));
    check_process(c, "the process after the restore", c->box);
    CLEANUP(free_p) char *fork_path = xasprintf("/sandboxes/%s/fork", c->box);
    (void)check_step(c, "fork", "POST", fork_path, json_pack("{s:i}", "count", 1), "id", c->child);
    check_process(c, "the process in the fork", c->child);
    CLEANUP(free_p) char *gone = xasprintf("/sandboxes/%s", c->box);
    (void)check_step(c, "end", "DELETE", gone, NULL, NULL, none);
}

static void folder_remove(struct check *c)
{
    const char *const rm[] = { "/bin/rm", "-rf", "--", c->folder, NULL };
    if (c->server > 0) {
        (void)kill(c->server, SIGTERM);
        (void)waitpid(c->server, NULL, 0);
    }
    close_fd_p(&c->out);
    rest_client_done(&c->link);
    (void)run_tool(rm); /* not reported: a folder in the temporary directory */
    free(c->folder);
}

int doctor_vm_main(const struct doctor_vm_parts *parts, int argc, char **argv)
{
    struct check c = { .parts = parts, .backend = "qemu", .out = NO_FD, .link = REST_CLIENT_INIT };
    bool wants_help = false, is_wrong = false;
    char *shown[3] = { argv[0], NULL, NULL };
    const char *tmp = getenv("TMPDIR");
    for (int i = 1; i < argc && !is_wrong; i++) {
        if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc)
            c.backend = argv[++i];
        else if (strcmp(argv[i], "--help") == 0)
            wants_help = true;
        else if (strcmp(argv[i], "--json") == 0)
            shown[1] = argv[i];
        else
            is_wrong = strcmp(argv[i], "--vm") != 0;
    }
    if (is_wrong || wants_help) {
        (void)fputs(help, wants_help ? stdout : stderr);
        return wants_help ? 0 : 2;
    }
    c.folder = xasprintf("%s/iii-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(c.folder) || chmod(c.folder, 0755) < 0) {
        (void)fprintf(stderr, "iii doctor: make %s: %s\n", c.folder, strerror(errno));
        free(c.folder);
        return 1;
    }
    c.rows = json_array();
    /* Names each missing requirement at once: a failing boot names only one of them, after a minute. */
    JSON_OWNED needs = parts->needs(parts->needs_arg, parts->data_dir, c.backend);
    size_t i;
    json_t *row;
    json_array_foreach(needs, i, row) add_row(&c, json_get_str(row, "name", ""), json_get_bool(row, "ok", false),
                                              json_get_str(row, "detail", ""), json_get_str(row, "fix", ""));
    if (!c.has_failed)
        folder_prepare(&c);
    if (!c.has_failed)
        server_exec(&c);
    if (!c.has_failed)
        run_steps(&c);
    folder_remove(&c);
    JSON_OWNED rows = c.rows;
    return doctor_print(rows, shown[1] ? 2 : 1, shown);
}
