/* iii-bench: times our operations, the floor and the peers in the same run, in interleaved rounds, and prints ratios.
 * Absolute numbers move with the machine; ratios hold. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dockrows.h"
#include "engine.h"
#include "neighbour.h"
#include "ratios.h"
#include "vmrows.h"

#define THREADS       8
#define THROUGHPUT_MS 2000
#define IDLE_BOXES    200
#define NEIGHBOUR_ROW "neighbour_p99" /* measured after the rounds, on the native backend */

struct extra {
    double floor_us, bare_per_s, exec_per_s, idle_kib, daemon_kib_0, daemon_kib_n, engine_per_s;
    struct neighbour neighbour;
};

static void run_row(struct bench *b, struct row *r, bool is_warmup)
{
    unsigned n = is_warmup ? (r->per_round + 4) / 5 : r->per_round;
    for (unsigned i = 0; i < n; i++) {
        int64_t us = r->sample(b);
        if (is_warmup)
            continue;
        if (us < 0) {
            r->failed++;
            continue;
        }
        r->samples = realloc(r->samples, (r->n + 1) * sizeof(int64_t));
        r->samples[r->n++] = us;
    }
}

/* p50 of the bare sandbox (clone3 with all namespaces, overlay, pivot, exec, wait) from iii-floor. */
static double floor_us(const struct bench *b)
{
    char cmd[512], line[1024];
    (void)snprintf(cmd, sizeof(cmd), "%s --rounds 40 2>/dev/null", b->floor_bin);
    FILE *f = popen(cmd, "r");
    double us = 0;
    while (f && fgets(line, sizeof(line), f)) {
        const char *p = strstr(line, "\"sandbox_floor_us\"");
        p = p ? strstr(p, "\"p50\"") : NULL;
        if (p)
            us = strtod(strchr(p, ':') + 1, NULL);
    }
    if (f)
        (void)pclose(f);
    return us;
}

struct runner {
    struct bench *b;
    bool is_bare;
    int64_t until_us;
    unsigned done;
};

static void *run_until(void *arg)
{
    static const char *const argv[] = { "/bin/true", NULL };
    struct runner *r = arg;
    struct bench mine = *r->b;
    char path[128];
    if (!r->is_bare && client_open(&mine.http, mine.port) < 0)
        return NULL;
    (void)snprintf(path, sizeof(path), "/sandboxes/%s/exec", mine.box);
    while (client_now_us() < r->until_us) {
        bool is_good = r->is_bare ? rows_spawn_us(argv) >= 0
                                  : client_call(&mine.http, "POST", path, "{\"command\":[\"/bin/true\"]}") == 200;
        r->done += is_good;
    }
    if (!r->is_bare)
        client_close(&mine.http);
    return NULL;
}

static double throughput(struct bench *b, bool is_bare)
{
    struct runner all[THREADS];
    pthread_t threads[THREADS];
    int64_t t0 = client_now_us();
    unsigned done = 0;
    for (int i = 0; i < THREADS; i++) {
        all[i] = (struct runner){ .b = b, .is_bare = is_bare, .until_us = t0 + THROUGHPUT_MS * 1000 };
        (void)pthread_create(&threads[i], NULL, run_until, &all[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        done += all[i].done;
    }
    return done / ((double)(client_now_us() - t0) / 1e6);
}

static void measure_memory(struct bench *b, struct extra *x)
{
    static char ids[IDLE_BOXES][64];
    char status[64];
    (void)snprintf(status, sizeof(status), "/proc/%d/status", b->server_pid);
    (void)sleep(1);
    x->daemon_kib_0 = rows_kib(status, "VmRSS");
    double before = rows_kib("/proc/meminfo", "MemAvailable");
    int made = 0;
    while (made < IDLE_BOXES && rows_make_box(b, ids[made], ""))
        made++;
    (void)sleep(1);
    x->idle_kib = made ? (before - rows_kib("/proc/meminfo", "MemAvailable")) / made : 0;
    x->daemon_kib_n = rows_kib(status, "VmRSS");
    while (made-- > 0)
        rows_drop_box(b, ids[made]);
}

static void print_row(FILE *json, struct row *r)
{
    if (r->n == 0 && r->failed == 0)
        return;
    double p50 = rows_quantile_ms(r, 0.5), p99 = rows_quantile_ms(r, 0.99);
    char budget[32] = "";
    if (r->budget_ms > 0)
        (void)snprintf(budget, sizeof(budget), "%.1f%s", r->budget_ms, p50 <= r->budget_ms ? "" : " !");
    printf("  %-44s %9.3f %9.3f %8u %9s%s\n", r->what, p50, p99, r->n, budget, r->failed ? "  some failed" : "");
    fprintf(json, ",\n  \"%s\": {\"p50_ms\": %.3f, \"p99_ms\": %.3f, \"n\": %u, \"failed\": %u}", r->name, p50, p99,
            r->n, r->failed);
}

static void print_neighbour(FILE *json, const struct neighbour *n)
{
    if (n->noisy.p99_ms <= 0)
        return;
    printf("  %-44s %9.3f %9.3f\n", "exec true, alone", n->quiet.p50_ms, n->quiet.p99_ms);
    printf("  %-44s %9.3f %9.3f\n", "exec true, beside five hostile sandboxes", n->noisy.p50_ms, n->noisy.p99_ms);
    fprintf(json, ",\n  \"neighbour_quiet\": {\"p50_ms\": %.3f, \"p99_ms\": %.3f}", n->quiet.p50_ms, n->quiet.p99_ms);
    fprintf(json, ",\n  \"neighbour_noisy\": {\"p50_ms\": %.3f, \"p99_ms\": %.3f}", n->noisy.p50_ms, n->noisy.p99_ms);
    ratios_print(json, NEIGHBOUR_ROW, n->noisy.p99_ms / n->quiet.p99_ms, "<= 2");
}

static void print_ratios(const struct bench *b, FILE *json, const struct extra *x)
{
    static const struct ratio all[] = {
        { "create to first output / bwrap", "first_output", "bwrap", "<= 0.8" },
        { "exec true / bare fork+exec", "exec_true", "bare_true", "<= 1.5, goal 1.3" },
        { "cat through a loopback socket / upload", "cat_in", "upload_256m", ">= 0.5" },
        { "cat through a loopback socket / download", "cat_out", "download_256m", ">= 0.5" },
        { "docker run -d / create", "docker_run", "create", ">= 100" },
        { "docker exec / exec", "docker_exec", "exec_true", ">= 40" },
        { 0 },
    };
    if (x->floor_us > 0)
        ratios_print(json, "create / sandbox floor", ratios_p50(b, "create") * 1000 / x->floor_us, "<= 1.2");
    if (x->bare_per_s > 0)
        ratios_print(json, "exec throughput / bare", x->exec_per_s / x->bare_per_s, ">= 0.6, goal 0.7");
    ratios_print_all(b, json, all);
    printf("\nFloor %.3f ms; exec %.0f/s, bare %.0f/s; idle sandbox %.0f KiB (<= 1024, goal 563);\n"
           "server %.1f MiB with one sandbox, %.1f MiB with %d; %.0f invocations/s through the engine\n",
           x->floor_us / 1000, x->exec_per_s, x->bare_per_s, x->idle_kib, x->daemon_kib_0 / 1024,
           x->daemon_kib_n / 1024, IDLE_BOXES, x->engine_per_s);
    fprintf(json,
            ",\n  \"floor_us\": %.1f, \"exec_per_s\": %.0f, \"bare_per_s\": %.0f, \"idle_kib\": %.0f, \"daemon_kib\": "
            "%.0f, \"engine_per_s\": %.0f",
            x->floor_us, x->exec_per_s, x->bare_per_s, x->idle_kib, x->daemon_kib_0, x->engine_per_s);
}

static bool is_chosen(const char *only, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    return !only;
}

static bool has_row(const struct row *rows, const char *name, size_t len)
{
    for (; rows->name; rows++)
        if (strncmp(rows->name, name, len) == 0 && !rows->name[len])
            return true;
    return false;
}

/* Whether every name of --only is a row; prints the first that is not, and the rows. */
static bool check_only(const struct bench *b, const char *only)
{
    const struct row more[] = { { .name = b->backend ? NULL : NEIGHBOUR_ROW }, { 0 } };
    const struct row *const all[] = { b->ours, b->peers, more };
    for (const char *p = only; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, ",");
        bool is_known = false;
        for (size_t i = 0; i < 3; i++)
            is_known |= has_row(all[i], p, len);
        if (is_known)
            continue;
        fprintf(stderr, "iii-bench: there is no row \"%.*s\" with --backend %s; rows:", (int)len, p,
                b->backend ? b->backend : "native");
        for (size_t i = 0; i < 3; i++)
            for (const struct row *r = all[i]; r->name; r++)
                fprintf(stderr, " %s", r->name);
        fprintf(stderr, "\n");
        return false;
    }
    return true;
}

static void run_rounds(struct bench *b, unsigned rounds, const char *only, struct extra *x)
{
    for (unsigned round = 0; round <= rounds; round++) {
        fprintf(stderr, "\rround %u of %u ", round, rounds);
        for (struct row *r = b->ours; r->name; r++)
            if (is_chosen(only, r->name))
                run_row(b, r, round == 0);
        for (struct row *r = b->peers; r->name; r++)
            if (is_chosen(only, r->name) && (b->backend || rows_peer_present(b, r->name)))
                run_row(b, r, round == 0);
        if (!only && !b->backend && round == rounds / 2)
            x->floor_us = floor_us(b);
    }
    fprintf(stderr, "\n");
    if (b->measure && !only)
        b->measure(b);
    if (b->backend)
        return;
    if (is_chosen(only, NEIGHBOUR_ROW) && !neighbour_measure(b, &x->neighbour))
        fprintf(stderr, "iii-bench: the well-behaved sandbox failed beside the others\n");
    if (only)
        return;
    x->bare_per_s = throughput(b, true);
    x->exec_per_s = throughput(b, false);
    x->engine_per_s = engine_calls_per_s(b);
    measure_memory(b, x);
}

static bool choose(struct bench *b, const char *backend)
{
    bool is_docker = strcmp(backend, "docker") == 0;
    if (!is_docker && strcmp(backend, "qemu") != 0)
        return strcmp(backend, "native") == 0;
    b->backend = backend;
    b->image = "iii-bench-image"; /* with_docker.py makes it, or vmrows_prepare() */
    b->ours = is_docker ? dockrows_ours : vmrows_ours;
    b->peers = is_docker ? dockrows_peers : vmrows_peers;
    b->open = is_docker ? dockrows_open : vmrows_open;
    b->print = is_docker ? dockrows_print : vmrows_print;
    if (!is_docker) {
        b->prepare = vmrows_prepare;
        b->close = vmrows_close;
        b->measure = vmrows_memory;
    }
    return true;
}

static int usage(void)
{
    fprintf(
        stderr,
        "usage: iii-bench [--backend native|docker|qemu] [--quick] [--only ROW,ROW] [--bin III] [--floor III-FLOOR] "
        "[--out FILE]\n");
    return 2;
}

static int report(struct bench *b, const char *out, unsigned rounds, const char *only, const struct extra *x)
{
    FILE *json = fopen(out, "w");
    if (!json)
        return perror(out), 1;
    fprintf(json, "{\n  \"rounds\": %u", rounds);
    printf("  %-44s %9s %9s %8s %9s\n", "operation", "p50 ms", "p99 ms", "samples", "budget");
    for (struct row *r = b->ours; r->name; r++)
        print_row(json, r);
    for (struct row *r = b->peers; r->name; r++)
        print_row(json, r);
    print_neighbour(json, &x->neighbour);
    if (b->print || !only)
        printf("\nRatios (same run)\n");
    if (b->print)
        b->print(b, json);
    else if (!only)
        print_ratios(b, json, x);
    fprintf(json, "\n}\n");
    (void)fclose(json);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench b = { .bin = "build/iii",
                       .floor_bin = "build/bench/iii-floor",
                       .image = "python",
                       .ours = rows_ours,
                       .peers = rows_peers };
    const char *only = NULL, *out = "build/bench.json";
    unsigned rounds = 10;
    struct extra x = { 0 };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            rounds = 3;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            only = argv[++i];
        else if (strcmp(argv[i], "--bin") == 0 && i + 1 < argc)
            b.bin = argv[++i];
        else if (strcmp(argv[i], "--floor") == 0 && i + 1 < argc)
            b.floor_bin = argv[++i];
        else if (strcmp(argv[i], "--out") == 0 && i + 1 < argc)
            out = argv[++i];
        else if (strcmp(argv[i], "--backend") == 0 && i + 1 < argc && choose(&b, argv[i + 1]))
            i++;
        else
            return usage();
    }
    if (!check_only(&b, only))
        return 2;
    if (!rows_serve(&b))
        return fprintf(stderr, "iii-bench: %s does not serve\n", b.bin), rows_stop(&b), 1;
    if (b.open && !b.open(&b))
        return fprintf(stderr, "iii-bench: the peers of --backend %s are not there\n", b.backend), rows_stop(&b), 1;
    run_rounds(&b, rounds, only, &x);
    int code = report(&b, out, rounds, only, &x);
    if (b.close)
        b.close(&b);
    rows_stop(&b);
    return code;
}
