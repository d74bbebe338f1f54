#include "vmrows.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_MACHINES 4
#define FORKS         100 /* of one sample in the guest */
#define COMM          "qemu-system-x86"

static struct bench cold; /* the second server */
static double idle_pss_kib, idle_rss_kib;

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
    int64_t t0 = client_now_us();
    if (!rows_make_box(b, id, ""))
        return -1;
    int64_t took = client_now_us() - t0;
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

static double field_kib(pid_t pid, const char *name)
{
    char path[64], line[256];
    double kib = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = strtod(line + strlen(name), NULL);
    if (f)
        (void)fclose(f);
    return kib;
}

static pid_t parent_of(pid_t pid, char *comm, size_t size)
{
    char path[64], text[512] = "";
    int parent = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        (void)fclose(f);
    char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!n || !open || !close)
        return 0;
    (void)snprintf(comm, size, "%.*s", (int)(close - open - 1), open + 1);
    (void)sscanf(close + 1, " %*c %d", &parent);
    return parent;
}

/* Monitors that the server has started: they are its children. */
void vmrows_memory(struct bench *b)
{
    char ids[IDLE_MACHINES][64], comm[64];
    int made = 0, n = 0;
    while (made < IDLE_MACHINES && rows_make_box(b, ids[made], ""))
        made++;
    (void)sleep(3);
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid <= 0 || parent_of(pid, comm, sizeof(comm)) != b->server_pid || strcmp(comm, COMM) != 0)
            continue;
        idle_pss_kib += field_kib(pid, "Pss:");
        idle_rss_kib += field_kib(pid, "Rss:");
        n++;
    }
    if (d)
        (void)closedir(d);
    if (n) {
        idle_pss_kib /= n;
        idle_rss_kib /= n;
    }
    while (made)
        rows_drop_box(b, ids[--made]);
}

/* --- ratios --- */

static double p50(struct row *rows, const char *name)
{
    for (struct row *r = rows; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return rows_quantile_ms(r, 0.5);
    return 0;
}

void vmrows_print(FILE *json, void (*ratio)(FILE *json, const char *what, double value, const char *goal))
{
    double boot = p50(vmrows_peers, "boot"), create = p50(vmrows_ours, "create");
    double exec = p50(vmrows_ours, "exec_true"), guest = p50(vmrows_peers, "guest_fork");
    printf("\nRatios (same run)\n");
    if (boot > 0 && create > 0)
        ratio(json, "boot / restore, both to the agent's answer", boot / create, ">= 5");
    if (exec > 0 && guest > 0)
        ratio(json, "exec true / the guest's own fork, exec, wait", exec / guest, "<= 3");
    if (idle_pss_kib > 0) {
        printf("  %-44s %9.1f MiB (resident, shared pages counted in full: %.1f)\n", "memory of an idle machine (PSS)",
               idle_pss_kib / 1024, idle_rss_kib / 1024);
        fprintf(json, ",\n  \"idle_machine_pss_kib\": %.0f, \"idle_machine_rss_kib\": %.0f", idle_pss_kib,
                idle_rss_kib);
    }
}
