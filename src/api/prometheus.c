#include "api/prometheus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/version.h"
#include "base/alloc.h"
#include "base/share.h"
#include "sandbox/lifecycle/pool.h"
#include "sandbox/observe/denied_calls.h"
#include "sandbox/observe/sandbox_usage.h"
#include "sandbox/observe/webhooks.h"
#include "sandbox/storage/disk_watch.h"

/* Upper ends of the latency buckets, microseconds: from a call that touches memory only to one that runs a program. */
static const int64_t bucket_us[] = { 100,    250,    500,    1000,    2500,    5000,    10000,    25000,    50000,
                                     100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000 };
#define LINE_MAX 1024
#define BUCKETS  (sizeof(bucket_us) / sizeof(bucket_us[0]))

struct series {
    uint64_t by_code[ERR_COUNT]; /* [ERR_NONE]: it went well */
    uint64_t buckets[BUCKETS + 1];
    int64_t sum_us;
};

struct prometheus {
    struct manager *m;
    struct series ops[OP_ALL];
};

struct prometheus *prometheus_new(struct manager *m)
{
    struct prometheus *p = xzalloc(sizeof(*p));
    p->m = m;
    return p;
}

struct prometheus *prometheus_free(struct prometheus *p)
{
    free(p);
    return NULL;
}

void prometheus_count(struct prometheus *p, const struct op *op, int64_t duration_us, const struct err *err)
{
    struct series *s = &p->ops[op - spec_ops];
    size_t at = 0;
    while (at < BUCKETS && duration_us > bucket_us[at])
        at++;
    s->by_code[err ? err->code : ERR_NONE]++;
    s->buckets[at]++;
    s->sum_us += duration_us;
}

/* --- the page. Names, helps and label values are ours or ids: nothing in them needs escaping --- */

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
    (void)buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                   type); /* a full buffer is noticed at the end */
}

static void one(struct buf *out, const char *name, bool is_counter, const char *help, double value)
{
    head(out, name, is_counter ? "counter" : "gauge", help);
    (void)buf_addf(out, "%s %.15g\n", name, value);
}

static uint64_t calls_of(const struct series *s)
{
    uint64_t n = 0;
    for (size_t i = 0; i <= BUCKETS; i++)
        n += s->buckets[i];
    return n;
}

static void write_latency(const struct prometheus *p, struct buf *out)
{
    static const char name[] = "iii_request_duration_seconds";
    head(out, name, "histogram", "Time from a call's request to its response; for streams, to their end.");
    for (size_t i = 0; i < OP_ALL; i++) {
        const struct series *s = &p->ops[i];
        const char *operation = spec_ops[i].name;
        uint64_t below = 0;
        if (calls_of(s) == 0)
            continue;
        for (size_t b = 0; b < BUCKETS; b++) {
            below += s->buckets[b];
            (void)buf_addf(out, "%s_bucket{operation=\"%s\",le=\"%g\"} %llu\n", name, operation,
                           (double)bucket_us[b] / 1e6, (unsigned long long)below);
        }
        (void)buf_addf(out, "%s_bucket{operation=\"%s\",le=\"+Inf\"} %llu\n", name, operation,
                       (unsigned long long)calls_of(s));
        (void)buf_addf(out, "%s_sum{operation=\"%s\"} %.6f\n", name, operation, (double)s->sum_us / 1e6);
        (void)buf_addf(out, "%s_count{operation=\"%s\"} %llu\n", name, operation, (unsigned long long)calls_of(s));
    }
}

/* A zero says that a number is not known. */
static void write_process(const struct prometheus *p, struct buf *out)
{
    struct rusage use = { 0 };
    struct rlimit fds = { 0 };
    (void)getrusage(RUSAGE_SELF, &use);
    (void)getrlimit(RLIMIT_NOFILE, &fds);
    double cpu_s = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    char text[128] = "", *end = text;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm && !fgets(text, sizeof(text), statm))
        text[0] = '\0';
    if (statm)
        (void)fclose(statm); /* read only */
    double page = (double)sysconf(_SC_PAGESIZE), pages = (double)strtoul(text, &end, 10);
    double resident = (double)strtoul(end, NULL, 10);
    size_t n_fds = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n_fds++;
    if (d)
        (void)closedir(d);
    n_fds = n_fds > 3 ? n_fds - 3 : 0; /* ".", ".." and the folder itself */
    one(out, "process_cpu_seconds_total", true, "CPU time of the server, without its sandboxes.", cpu_s);
    one(out, "process_resident_memory_bytes", false, "Resident memory of the server.", resident * page);
    one(out, "process_virtual_memory_bytes", false, "Address space of the server.", pages * page);
    one(out, "process_open_fds", false, "Open file descriptors.", (double)n_fds);
    one(out, "process_max_fds", false, "Maximum number of open file descriptors.", (double)fds.rlim_cur);
    one(out, "process_start_time_seconds", false, "When the server started, seconds since the epoch.",
        (double)p->m->started_at / 1000);
}

static void write_sandboxes(const struct prometheus *p, struct buf *out)
{
    const struct manager *m = p->m;
    uint64_t n[SANDBOX_STATUSES] = { 0 };
    for (struct map_iter it = map_iter(m->sandboxes); map_next(&it);)
        n[((const struct sandbox *)it.value)->status]++;
    head(out, "iii_sandboxes", "gauge", "Sandboxes by status.");
    for (int st = 0; st < SANDBOX_STATUSES; st++)
        (void)buf_addf(out, "iii_sandboxes{status=\"%s\"} %llu\n", sandbox_status_name((enum sandbox_status)st),
                       (unsigned long long)n[st]);
    one(out, "iii_sandboxes_creating", false, "Sandboxes being made.", m->n_creating);
    one(out, "iii_sandboxes_max", false, "Maximum number of sandboxes.", (double)m->settings->max_sandboxes);
    one(out, "iii_sandboxes_created_total", true, "Sandboxes made since the start.", (double)m->total_created);
    one(out, "iii_sandboxes_killed_total", true, "Sandboxes killed since the start.", (double)m->total_killed);
    one(out, "iii_sandboxes_expired_total", true, "Sandboxes expired since the start.", (double)m->total_expired);
    const struct webhook_queue_counts hooks = webhooks_counts(m->webhooks);
    head(
        out, "iii_webhook_deliveries_total", "counter",
        "Messages to webhooks by outcome: delivered, dead (all attempts failed), dropped (no room); failed: attempts.");
    const struct {
        const char *outcome;
        int64_t n;
    } outcomes[] = { { "delivered", hooks.delivered },
                     { "failed", hooks.failed },
                     { "dead", hooks.died },
                     { "dropped", hooks.dropped } };
    for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
        (void)buf_addf(out, "iii_webhook_deliveries_total{outcome=\"%s\"} %lld\n", outcomes[i].outcome,
                       (long long)outcomes[i].n);
    head(out, "iii_webhook_messages", "gauge", "Messages to webhooks that wait, and dead letters.");
    (void)buf_addf(out, "iii_webhook_messages{state=\"pending\"} %lld\niii_webhook_messages{state=\"dead\"} %lld\n",
                   (long long)hooks.pending, (long long)hooks.dead);
    JSON_OWNED pool = pool_status(m->pool);
    one(out, "iii_pool_ready", false, "Warm sandboxes ready.", json_get_num(pool, "ready", 0));
}

/* --- what each sandbox uses: one look at each box, then its series, because a metric's samples must stand together ---
 */

struct looked_at {
    const char *id;
    const struct sandbox_config *config;
    struct box_stats st;
};

enum {
    BOX_CPU,
    BOX_MEMORY,
    BOX_MEMORY_LIMIT,
    BOX_PIDS,
    BOX_RX,
    BOX_TX,
    BOX_OOM,
    BOX_DISK,
    BOX_CPU_LIMIT,
    BOX_PIDS_LIMIT,
    BOX_DISK_LIMIT,
    BOX_INODES_LIMIT,
    BOX_FILES_LIMIT,
    BOX_SHM_LIMIT,
    BOX_NET_LIMIT,
    BOX_SERIES
};

#define MIB (1024.0 * 1024)

static double value_of(const struct looked_at *box, int which)
{
    const struct box_stats *st = &box->st;
    const double values[BOX_SERIES] = { [BOX_CPU] = (double)st->cpu_usage_us / 1e6,
                                        [BOX_MEMORY] = (double)st->memory_bytes,
                                        [BOX_MEMORY_LIMIT] = (double)st->memory_limit_bytes,
                                        [BOX_PIDS] = st->pids,
                                        [BOX_RX] = (double)st->rx_bytes,
                                        [BOX_TX] = (double)st->tx_bytes,
                                        [BOX_OOM] = (double)st->oom_kills,
                                        [BOX_DISK] = (double)st->disk_bytes,
                                        [BOX_CPU_LIMIT] = box->config->cpu,
                                        [BOX_PIDS_LIMIT] = (double)box->config->pids,
                                        [BOX_DISK_LIMIT] = (double)box->config->disk_mb * MIB,
                                        [BOX_INODES_LIMIT] = (double)box->config->inodes,
                                        [BOX_FILES_LIMIT] = (double)box->config->open_files,
                                        [BOX_SHM_LIMIT] = (double)box->config->shm_mb * MIB,
                                        [BOX_NET_LIMIT] = (double)box->config->net_mbps * 1e6 / 8 };
    return values[which];
}

static void write_boxes(const struct prometheus *p, struct buf *out)
{
    static const struct {
        const char *name, *type, *help;
    } rows[BOX_SERIES] = {
        [BOX_CPU] = { "iii_sandbox_cpu_seconds_total", "counter", "CPU time of a sandbox." },
        [BOX_MEMORY] = { "iii_sandbox_memory_bytes", "gauge", "Memory of a sandbox." },
        [BOX_MEMORY_LIMIT] = { "iii_sandbox_memory_limit_bytes", "gauge", "Memory limit of a sandbox." },
        [BOX_PIDS] = { "iii_sandbox_pids", "gauge", "Processes and threads of a sandbox." },
        [BOX_RX] = { "iii_sandbox_network_receive_bytes_total", "counter", "Bytes a sandbox received." },
        [BOX_TX] = { "iii_sandbox_network_transmit_bytes_total", "counter", "Bytes a sandbox sent." },
        [BOX_OOM] = { "iii_sandbox_oom_kills_total", "counter", "OOM kills in a sandbox." },
        [BOX_DISK] = { "iii_sandbox_disk_bytes", "gauge", "Space that a sandbox's own disk uses on the host." },
        [BOX_CPU_LIMIT] = { "iii_sandbox_cpu_limit", "gauge", "CPUs of a sandbox." },
        [BOX_PIDS_LIMIT] = { "iii_sandbox_pids_limit", "gauge",
                             "Maximum number of processes and threads of a sandbox." },
        [BOX_DISK_LIMIT] = { "iii_sandbox_disk_limit_bytes", "gauge", "Size of a sandbox's own disk; 0: none." },
        [BOX_INODES_LIMIT] = { "iii_sandbox_inodes_limit", "gauge",
                               "Maximum number of files on a sandbox's own disk." },
        [BOX_FILES_LIMIT] = { "iii_sandbox_open_files_limit", "gauge", "Maximum number of open files of one process." },
        [BOX_SHM_LIMIT] = { "iii_sandbox_shm_limit_bytes", "gauge", "Size of a sandbox's /dev/shm." },
        [BOX_NET_LIMIT] = { "iii_sandbox_network_limit_bytes_per_second", "gauge",
                            "Network rate each way; 0: no limit." },
    };
    struct looked_at seen[PROMETHEUS_BOXES_MAX];
    size_t n = 0;
    struct share *all = share_new(PROMETHEUS_BOXES_MAX), *shown = share_new(PROMETHEUS_BOXES_MAX);
    for (struct map_iter it = map_iter(p->m->sandboxes); map_next(&it);)
        share_add(all, ((const struct sandbox *)it.value)->tenant, 1);
    size_t level = share_level(all) ? share_level(all) : 1; /* so many of each tenant */
    for (struct map_iter it = map_iter(p->m->sandboxes); n < PROMETHEUS_BOXES_MAX && map_next(&it);) {
        struct sandbox *s = it.value;
        if (share_held(shown, s->tenant) >= level)
            continue;
        share_add(shown, s->tenant, 1);
        seen[n] = (struct looked_at){ .id = s->id, .config = &s->config };
        if (s->box && sandbox_usage_get(s, &seen[n].st, NULL) == 0)
            n++;
    }
    share_free(all);
    share_free(shown);
    for (int which = 0; which < BOX_SERIES && n > 0; which++) {
        head(out, rows[which].name, rows[which].type, rows[which].help);
        for (size_t i = 0; i < n; i++)
            (void)buf_addf(out, "%s{sandbox_id=\"%s\"} %.15g\n", rows[which].name, seen[i].id,
                           value_of(&seen[i], which));
    }
}

/* Names of tenants are letters, digits and a few signs. */
static void write_tenants(const struct prometheus *p, struct buf *out)
{
    const char *tenant;
    json_t *bytes;
    JSON_OWNED all = disk_watch_tenants(p->m->disk_watch);
    head(out, "iii_tenant_disk_bytes", "gauge", "Disk of a tenant's sandboxes and volumes, as last counted.");
    json_object_foreach(all, tenant, bytes)(void)
        buf_addf(out, "iii_tenant_disk_bytes{tenant=\"%s\"} %lld\n", tenant, (long long)json_integer_value(bytes));
}

static void write_call(void *arg, const char *call, uint64_t count)
{
    (void)buf_addf(arg, "iii_syscalls_denied_total{call=\"%s\"} %llu\n", call, (unsigned long long)count);
}

int prometheus_write(const struct prometheus *p, const struct prometheus_extra *extra, size_t n, struct buf *out)
{
    head(out, "iii_build_info", "gauge", "Always 1; the version is its label.");
    (void)buf_addf(out, "iii_build_info{version=\"%s\"} 1\n", API_VERSION);
    write_process(p, out);
    write_sandboxes(p, out);
    write_tenants(p, out);
    head(out, "iii_syscalls_denied_total", "counter", "System calls of sandboxes that were denied, by call.");
    denied_calls_each(p->m->denied_calls, write_call, out);
    for (size_t i = 0; i < n; i++)
        one(out, extra[i].name, extra[i].is_counter, extra[i].help, (double)extra[i].value);
    head(out, "iii_requests_total", "counter", "Calls by operation and HTTP status.");
    for (size_t i = 0; i < OP_ALL; i++)
        for (int code = 0; code < ERR_COUNT; code++)
            if (p->ops[i].by_code[code])
                (void)buf_addf(
                    out, "iii_requests_total{operation=\"%s\",method=\"%s\",route=\"%s\",status=\"%d\"} %llu\n",
                    spec_ops[i].name, spec_ops[i].method, spec_ops[i].path,
                    code ? err_status((enum err_code)code) : 200, (unsigned long long)p->ops[i].by_code[code]);
    write_latency(p, out);
    write_boxes(p, out);
    return out->max - out->len < LINE_MAX ? -E2BIG : 0; /* a line that did not fit leaves less room than a line takes */
}
