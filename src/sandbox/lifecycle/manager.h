/* All sandboxes of this server and what they share. Made once by main/ and passed down. May include: base/, loop/,
 * store/, image/, runtime/, guest/. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/settings.h"
#include "image/image.h"
#include "loop/loop.h"
#include "runtime/runtime.h"
#include "sandbox/lifecycle/sandbox.h"
#include "sandbox/lifecycle/tenant.h"
#include "sandbox/observe/event_log.h"
#include "store/store.h"

struct alerts;
struct channel_hub;
struct builds;
struct pool;
struct ports;
struct pulls;
struct terminal_set;
struct queue;
struct snapshots;
struct templates;
struct ssh_keys;
struct background;
struct context_set;
struct crontimer;
struct denied_calls;
struct listening;
struct disk_watch;
struct hook;
struct idle;
struct inherit;
struct egress;
struct networks;
struct volumes;
struct webhooks;
struct workers;

#define MANAGER_RUNTIMES_MAX 8 /* no fewer than there are backends: each is there once */

struct manager {
    struct loop *loop;
    struct store *store;
    struct image_store *images;
    struct runtime *runtime; /* the default */
    struct runtime *runtimes[MANAGER_RUNTIMES_MAX];
    size_t n_runtimes; /* the default is the first */
    const struct settings *settings;
    struct inherit *inherited; /* what a former server left, borrowed; or NULL */
    char *own_ports;           /* that this server listens on, as a list; NULL before it does */
    struct map *sandboxes;     /* id -> struct sandbox, in order of creation */
    struct alerts *alerts;
    struct denied_calls *denied_calls;
    struct listening *listening;
    struct event_log *events;
    struct pool *pool;
    struct background *background;
    struct channel_hub *channels;
    struct ports *ports;
    struct pulls *pulls;
    struct builds *builds;
    struct image_policy *image_policy;
    struct terminal_set *terminals;
    struct context_set *contexts;
    struct queue *queue;
    struct snapshots *snapshots;
    struct templates *templates;
    struct ssh_keys *ssh_keys;
    struct egress *egress;
    struct share *port_connections; /* through exposed ports */
    struct networks *networks;
    struct volumes *volumes;
    struct converters *converters; /* of archives; NULL in a server without a keeper */
    struct webhooks *webhooks;
    struct workers *workers;
    struct tenants *tenants;
    struct starts *starts;
    /* Fills in the quota of a tenant, which binds what the server starts on its own; NULL: there is none. */
    void (*quota_of)(void *arg, const char *tenant, struct quota *ret);
    void *quota_arg;
    uint64_t last_box;   /* private: the last box_number */
    bool is_recovering;  /* drivers still search for boxes of the previous server */
    bool is_closing;     /* the server stops: sandboxes being created are not admitted */
    unsigned n_creating; /* not in the map yet, but counted against the limit */
    unsigned n_changing; /* being stopped or started */
    int64_t total_created, total_killed, total_expired, started_at;
    int64_t started_us; /* the same moment on the monotonic clock */
    char *worker_id;
    struct timer *collect_timer; /* private: pins.c */
    bool is_collecting, is_collect_due;
    atomic_bool is_stopping; /* private from here: offload.c */
    unsigned n_offloaded;
    loop_fn *on_idle;
    void *idle_arg;
    char **undeleted; /* records of sandboxes that ended while the disk was full */
    struct timer *flush_timer;
    bool is_flush_failing;
    struct crontimer *sweep_timer;
    struct disk_watch *disk_watch;
    struct idle *idle;
    struct hook *on_leave, *on_enter, *on_sleep; /* private */
};

int manager_new(struct loop *l, const struct settings *s, struct store *store, struct image_store *images,
                struct runtime *rt, struct manager **ret, struct err *err);
/* Disconnects every agent: calls that wait for one fail before this returns, while everything they use exists. The
 * boxes continue to run. */
void manager_disconnect(struct manager *m);
struct manager *manager_free(struct manager *m);
/* One more backend that requests may name. Before manager_recover(); borrowed. */
void manager_add_runtime(struct manager *m, struct runtime *rt);
/* ERR_INVALID naming those that are there. Borrowed. */
struct runtime *manager_runtime(const struct manager *m, const char *name, struct err *err);

/* Reads the records, adopts the boxes that still live, drops the others, removes what a killed server left half-made.
 * done(arg) when everything is in place. */
void manager_recover(struct manager *m, loop_fn *done, void *arg);
/* The oldest protocol version that a running sandbox's agent speaks; 0: none is known. */
unsigned manager_oldest_agent(const struct manager *m);
/* What becomes of the sandboxes when the server stops. */
enum manager_end {
    MANAGER_KEEP,  /* they run on, and the next server adopts them */
    MANAGER_STOP,  /* stopped, with their files; one whose backend cannot is kept */
    MANAGER_REMOVE /* ended and removed */
};
int manager_end_parse(const char *text, enum manager_end *ret, struct err *err); /* ERR_INVALID */
/* done(arg) when the sandboxes have come to that end. */
void manager_shutdown(struct manager *m, enum manager_end end, loop_fn *done, void *arg);

/* Whose it is ("": none), by REST id or UUID; NULL: there is no such sandbox. */
const char *manager_owner(struct manager *m, const char *id);
/* By REST id ("sbx_…") or UUID in any spelling. ERR_NOT_FOUND: "sandbox not found: …". Borrowed. */
struct sandbox *manager_find(struct manager *m, const char *id, struct err *err);
struct sandbox *manager_find_running(struct manager *m, const char *id, struct err *err); /* also ERR_CONFLICT */
/* The tenant's own of this name. ERR_NOT_FOUND, or ERR_CONFLICT when several have it. Borrowed. */
struct sandbox *manager_find_named(struct manager *m, const char *tenant, const char *name, struct err *err);

/* s is borrowed (in the map); NULL with err. */
typedef void manager_sandbox_fn(void *arg, struct sandbox *s, const struct err *err);

/* What a new sandbox is made from, after validation. */
struct create_plan {
    const struct sandbox_config *config; /* borrowed; as given (image required) */
    const char *parent_id;               /* lineage, or NULL */
    const struct image *image;           /* already resolved (clone, snapshots), or NULL: config.image is resolved */
    json_t *env;                         /* overlay to start with, borrowed, or NULL */
    const json_t *extra;                 /* members of struct sandbox's extra to start with, borrowed, or NULL */
    const struct tenant_by *by;          /* borrowed; NULL: the server itself */
    struct runtime *runtime;             /* of an image that is already resolved; NULL: config.backend */
    const char *tenant;                  /* owns it: of clones the source's owner; NULL: by's own */
    bool is_unlisted;                    /* skip the allow-list (clone of something allowed) */
    bool is_unexpiring;                  /* it has no expiry, whatever config.timeout says */
};
void manager_create(struct manager *m, const struct create_plan *plan, manager_sandbox_fn *fn, void *arg);
/* Gone for every caller at once; the box is torn down in the background. topic: "sandbox.killed" or "sandbox.expired".
 */
int manager_kill(struct manager *m, struct sandbox *s, const char *topic, struct err *err);
/* The same; done (may be NULL) runs later, when the box's processes, mounts and files are gone. Not on failure. */
int manager_kill_then(struct manager *m, struct sandbox *s, const char *topic, loop_fn *done, void *arg,
                      struct err *err);
/* The server ends a sandbox because of what it does to others: its event sandbox.error and the log have the reason. */
void manager_end(struct manager *m, struct sandbox *s, const char *why);
void manager_pause(struct manager *m, struct sandbox *s, manager_sandbox_fn *fn, void *arg);
void manager_resume(struct manager *m, struct sandbox *s, manager_sandbox_fn *fn, void *arg);
int64_t manager_expiry(const struct manager *m, int64_t expires_at); /* the nearest that a sandbox may have now */
struct manager_stop_plan {
    int64_t timeout_ms; /* for its processes to exit after SIGTERM; 0: none */
    const char *reason; /* stopReason of the record: "request", "shutdown", … */
};
/* Ends its processes and keeps record and files. One that is stopped already is left as it is. fn may be NULL. */
void manager_stop(struct sandbox *s, const struct manager_stop_plan *plan, manager_sandbox_fn *fn, void *arg);
/* Changes its limits: of what `to` gives, memory, cpu, pids and diskMb (which only grows). One that runs or is paused
 * has them when fn is called, a stopped one when it starts. ERR_UNSUPPORTED: its backend cannot. ERR_CONFLICT: it uses
 * more memory than that. A failure leaves everything as it was. by: whose quota counts. */
void manager_resize(struct sandbox *s, const struct sandbox_config *to, const struct tenant_by *by,
                    manager_sandbox_fn *fn, void *arg);
/* Saves its memory and files, and ends its box; a start continues its processes. fn may be NULL. */
void manager_hibernate(struct sandbox *s, const char *reason, manager_sandbox_fn *fn, void *arg);
/* Whether a call to it has to wait until it runs, and may wake it (autoResume). */
bool manager_is_to_wake(const struct sandbox *s);
size_t manager_waiting(const struct sandbox *s); /* how many wait in manager_start() */
/* Calls fn when it runs: now if it does, otherwise it is started or resumed, once for all who wait. A change that is
 * under way is waited for. by: whose quota counts, NULL: none. *slot is set while fn is due, for a caller that may
 * leave. */
struct manager_waiter;
void manager_start(struct sandbox *s, const struct tenant_by *by, manager_sandbox_fn *fn, void *arg,
                   struct manager_waiter **slot);
void manager_start_cancel(struct manager_waiter *w); /* fn is not called; the start continues */
/* Changes idleTimeout (0: none), onTimeout, onIdle, restart and autoResume, as far as members has them. ERR_INVALID:
 * it has none. ERR_UNSUPPORTED: its backend cannot do it. Nothing has changed after a failure. */
int manager_set_policy(struct sandbox *s, const json_t *members, struct err *err);
int manager_renew(struct manager *m, struct sandbox *s, int64_t expires_at, struct err *err);
/* Takes keys (array of texts, or NULL) out of the metadata, then sets pairs (object of texts, or NULL). ERR_INVALID
 * when more than MANAGER_METADATA_MAX would be left; nothing has changed after a failure. */
int manager_label(struct sandbox *s, const json_t *keys, const json_t *pairs, struct err *err);
#define MANAGER_METADATA_MAX 1000 /* pairs; the same as a create takes */
struct manager_fork_plan {
    unsigned count;
    const char *name;           /* or NULL */
    const struct tenant_by *by; /* borrowed; whose quota counts */
};
void manager_clone(struct manager *m, struct sandbox *s, const struct manager_fork_plan *plan, manager_sandbox_fn *fn,
                   void *arg);
/* count new sandboxes with the files of s as they are now, all or none. Names are name, or name-1 … name-N. */
typedef void manager_fork_fn(void *arg, struct sandbox *const *children, size_t n, const struct err *err);
void manager_fork(struct manager *m, struct sandbox *s, const struct manager_fork_plan *plan, manager_fork_fn *fn,
                  void *arg);
int manager_sweep(struct manager *m); /* expired sandboxes; how many went */

/* Functions that are called for each sandbox that leaves (ports, queues, volumes, …); called once, before its link is
 * freed.
 */
typedef void manager_leave_fn(void *arg, struct sandbox *s);
void manager_on_leave(struct manager *m, manager_leave_fn *fn, void *arg);
/* … and for each that enters: after create, adoption, restore and start. */
void manager_on_enter(struct manager *m, manager_leave_fn *fn, void *arg);
/* … and for each that is stopped, or found to be so when the server starts: its box is ending, its records stay. May be
 * called again. */
void manager_on_sleep(struct manager *m, manager_leave_fn *fn, void *arg);
