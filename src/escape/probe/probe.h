/* The escape probe: a static program that tries, from inside a sandbox, what must not work there. Every try prints one
 * line of JSON: {"item", "name", "result", "detail"}; item is the number of the escape checklist, result is
 *   denied   the kernel or the sandbox refused it, or it had no effect
 *   reached  it went through: outside a sandbox this is what shows that the probe can fail
 *   skipped  this kernel has no such thing to reach
 * May include: nothing of ours: it is built by musl, and runs where nothing of ours is. */
#pragma once
#include <stdbool.h>

enum probe_result { PROBE_DENIED, PROBE_REACHED, PROBE_SKIPPED };

struct probe_ctx {
    bool is_outside;    /* only harmless attempts, to see them succeed */
    const char *marker; /* path of a file of the host that must not be seen; NULL: none given */
    const char *secret; /* its content */
    const char *host;   /* the host's name */
    long uptime_s;      /* the host's uptime when the probe was started; 0: not given */
    const char *socket; /* the probe plays a VMM; NULL: it does not */
    const char *instance;
    int port; /* where the server listens on the host's loopback; 0: not given */
};

__attribute__((format(printf, 4, 5))) void probe_row(int item, const char *name, enum probe_result result,
                                                     const char *fmt, ...);
/* For a bare system call: denied when it failed with EPERM, EACCES or ENOSYS; any other error means that the kernel
 * checked the arguments, so the call itself is open. */
void probe_call(int item, const char *name, long result);
/* Runs fn in a child with a deadline; its exit code, or -1 when it died or hung. */
int probe_child(int (*fn)(const void *), const void *arg);
/* First bytes of a file as text, or NULL with errno. Valid until the next call. */
const char *probe_text(const char *path);

typedef void probe_fn(const struct probe_ctx *ctx);
probe_fn probe_calls, probe_namespaces, probe_entries, probe_families, probe_handles, probe_links, probe_gain,
    probe_kernel, probe_cgroup, probe_sides, probe_pages, probe_net, probe_trace;
/* Leaves processes behind that do not exit on their own. */
int probe_cling(void);
/* Watches processes being started for that many seconds; one row. */
int probe_catch(int seconds);
