#include "vmrows.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ratios.h"

#define IDLE_INSTANCES 4
#define FORKS          100 /* of one sample in the guest */
#define COMM           "qemu-system-x86"
#define VMMS_MAX       64

static struct bench cold; /* the second server */
/* Pages that only this monitor has and that no file holds, and all others: of the template's memory and of the
 * monitor's program. Those are shared by all machines that read them, and the kernel takes them back when it needs
 * room. */
static struct memory {
    double own_mib, rest_mib;
    int n;
} idle, worn;

bool vmrows_prepare(struct bench *b)
{
    const char *tar = getenv("III_BENCH_TAR");
    const char *const setup[] = { b->bin, "vm", "setup", "--data-dir", b->data_dir, "--json", NULL };
    const char *const import[] = { b->bin, "image", "import", tar, b->image, "--data-dir", b->data_dir, NULL };
    return tar && rows_spawn_us(setup) >= 0 && rows_spawn_us(import) >= 0;
}

bool vmrows_open(struct bench *b)
{
    cold = (struct bench){ .bin = b->bin, .backend = b->backend, .image = b->image, .prepare = vmrows_prepare };
    (void)setenv("III_VM_TEMPLATES", "false", 1);
    bool is_up = rows_serve(&cold);
    (void)unsetenv("III_VM_TEMPLATES");
    return is_up;
}

void vmrows_close(struct bench *b)
{
    (void)b;
    if (cold.server_pid > 0)
        rows_stop(&cold);
}

/* --- ours --- */

static int64_t sample_create(struct bench *b)
{
    char id[64];
    int64_t took = rows_make_us(b, id, "");
    if (took < 0)
        return -1;
    rows_drop_box(b, id);
    (void)usleep(200000); /* its end is not part of the next one's begin */
    return took;
}

static int64_t sample_fork(struct bench *b)
{
    char path[128], id[64];
    (void)snprintf(path, sizeof(path), "/sandboxes/%s/fork", b->box);
    int64_t t0 = client_now_us();
    if (client_call(&b->http, "POST", path, "{\"count\":1}") != 200 ||
        client_member(&b->http, "id", id, sizeof(id)) < 0)
        return -1;
    int64_t took = client_now_us() - t0;
    rows_drop_box(b, id);
    (void)usleep(200000);
    return took;
}

struct row vmrows_ours[] = {
    { "create", "create: restored, agent ready", 0, sample_create, 5 },
    { "exec_true", "exec true", 0, rows_exec_true, 30 },
    { "exec_sh", "exec sh -c 'echo hi'", 0, rows_exec_sh, 15 },
    { "write_1k", "write a 1 KiB file", 0, rows_write, 30 },
    { "read_1k", "read a 1 KiB file", 0, rows_read, 30 },
    { "pause", "pause", 0, rows_pause, 3 },
    { "resume", "resume", 0, rows_resume, 3 },
    { "wake_pause", "first byte of a command that wakes a paused sandbox", 0, rows_wake_pause, 3 },
    { "hibernate", "hibernate", 0, rows_hibernate, 2 },
    { "wake_hibernate", "first byte of a command that wakes it", 0, rows_wake_hibernate, 2 },
    { "snapshot", "snapshot with memory", 0, rows_snapshot, 2 },
    { "fork", "fork with memory, ready", 0, sample_fork, 2 },
    { 0 },
};

/* --- what they are compared with --- */

static int64_t peer_boot(struct bench *b)
{
    (void)b;
    return sample_create(&cold);
}

static int64_t run_sh(struct bench *b, const char *script)
{
    char path[128], body[512];
    (void)snprintf(path, sizeof(path), "/sandboxes/%s/exec", b->box);
    (void)snprintf(body, sizeof(body), "{\"command\":[\"/bin/sh\",\"-c\",\"%s\"]}", script);
    int64_t t0 = client_now_us();
    return client_call(&b->http, "POST", path, body) == 200 ? client_now_us() - t0 : -1;
}

/* The shell's own: fork, exec and wait, without us. The way to the shell is taken off. */
static int64_t peer_guest_fork(struct bench *b)
{
    char script[160];
    (void)snprintf(script, sizeof(script), "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", FORKS);
    int64_t none = run_sh(b, ":"), all = run_sh(b, script);
    return none < 0 || all < none ? -1 : (all - none) / FORKS;
}

struct row vmrows_peers[] = {
    { "boot", "create: booted, agent ready", 0, peer_boot, 2 },
    { "guest_fork", "the guest's own fork, exec, wait of true", 0, peer_guest_fork, 3 },
    { 0 },
};

/* --- memory --- */

static pid_t parent_of(pid_t pid, char *comm, size_t size)
{
    char path[64], text[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        (void)fclose(f);
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!n || !open || !close)
        return 0;
    (void)snprintf(comm, size, "%.*s", (int)(close - open - 1), open + 1);
    return strlen(close) > 3 ? (pid_t)strtol(close + 3, NULL, 10) : 0; /* ") S 17 …" */
}

/* Monitors that the server has started: they are its children. */
static int find_vmms(const struct bench *b, pid_t *ret, int max)
{
    char comm[64];
    int n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; n < max && d && (e = readdir(d));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 0 && parent_of(pid, comm, sizeof(comm)) == b->server_pid && strcmp(comm, COMM) == 0)
            ret[n++] = pid;
    }
    if (d)
        (void)closedir(d);
    return n;
}

static void add(struct memory *m, pid_t pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    double dirty = rows_kib(path, "Private_Dirty");
    m->own_mib += dirty / 1024;
    m->rest_mib += (rows_kib(path, "Rss") - dirty) / 1024;
    m->n++;
}

/* Those that were there before are worn: they have run commands and were saved, which reads all of their memory. */
void vmrows_memory(struct bench *b)
{
    char ids[IDLE_INSTANCES][64];
    pid_t before[VMMS_MAX], all[VMMS_MAX];
    int made = 0, n_before;
    for (int i = 0; (n_before = find_vmms(b, before, VMMS_MAX)) > 1 && i < 100; i++)
        (void)usleep(100000); /* those of the last rows end */
    while (made < IDLE_INSTANCES && rows_make_box(b, ids[made], ""))
        made++;
    (void)sleep(3);
    int n = find_vmms(b, all, VMMS_MAX);
    for (int i = 0; i < n; i++) {
        bool is_worn = false;
        for (int k = 0; k < n_before; k++)
            is_worn = is_worn || before[k] == all[i];
        add(is_worn ? &worn : &idle, all[i]);
    }
    while (made)
        rows_drop_box(b, ids[--made]);
}

static void print_memory(FILE *json, const char *name, const char *what, const struct memory *m)
{
    if (!m->n)
        return;
    printf("  %-44s %9.1f MiB of its own, %.1f MiB in the page cache\n", what, m->own_mib / m->n, m->rest_mib / m->n);
    fprintf(json, ",\n  \"%s\": {\"own_mib\": %.1f, \"page_cache_mib\": %.1f, \"n\": %d}", name, m->own_mib / m->n,
            m->rest_mib / m->n, m->n);
}

void vmrows_print(const struct bench *b, FILE *json)
{
    static const struct ratio all[] = {
        { "boot / restore, both to the agent's answer", "boot", "create", ">= 5" },
        { "exec true / the guest's own fork, exec, wait", "exec_true", "guest_fork", "<= 3" },
        { 0 },
    };
    ratios_print_all(b, json, all);
    printf("\nMemory of a machine\n");
    print_memory(json, "idle_machine", "that has done nothing yet", &idle);
    print_memory(json, "worn_machine", "that ran all of the above and was saved", &worn);
}
