/* One sandbox: its record, its box and the link to its agent. May include: base/, loop/, store/, image/, runtime/,
 * guest/. Invariants: (1) a sandbox in the manager's map has a box and a link, unless it is stopped or being adopted;
 * (2) what the API shows is in the store before it is acknowledged; (3) whoever keeps a pointer across a callback holds
 * a reference. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/ident.h"
#include "base/json.h"
#include "base/pace.h"
#include "base/uuid.h"
#include "guest/link.h"
#include "image/image.h"
#include "runtime/runtime.h"
#include "sandbox/lifecycle/sandbox_config.h"

struct capture;
struct manager;
struct manager_waiter;
struct service_set;
struct stopping;

enum sandbox_status {
    SANDBOX_RUNNING,
    SANDBOX_PAUSED,
    SANDBOX_EXPIRED,
    SANDBOX_STOPPED,
    SANDBOX_HIBERNATED,
    SANDBOX_STATUSES
};

struct sandbox {
    struct manager *manager;
    struct runtime *runtime; /* the backend that its box belongs to */
    unsigned refs;           /* private: sandbox_ref(), sandbox_unref() */
    char id[IDENT_MAX];
    char uuid[UUID_MAX];    /* all 128 bits of its id, of which `id` shows the first 96: what the engine calls it */
    char box_id[IDENT_MAX]; /* what the driver knows it as: differs when it came from the warm pool or was restored */
    uint64_t box_number;    /* the identity of its box: the next one may be at the same address. 0: it never had one */
    enum sandbox_status status;
    bool is_gone; /* killed or died; the pointer is only kept by references */
    char *why;    /* of one that died without a kill; NULL: it did not */
    char *words;  /* its last console output; NULL: it has none, or it did not die */
    char *name, *image, *parent_id;
    char *tenant;                   /* whose it is; "": no owner */
    int64_t created_at, expires_at; /* wall clock, as shown; sandbox_expire_at() sets the second. 0: it never expires */
    int64_t deadline_us;            /* the same moment on the monotonic clock: what counts */
    struct sandbox_config
        config;           /* effective values: sandbox_set_config(); after the create only resize.c changes it */
    json_t *config_json;  /* the same as answers and records have it; made once, because each of them does */
    json_t *metadata;     /* {str:str} */
    json_t *env;          /* overlay of the env API: {key: value or null when deleted} */
    json_t *extra;        /* what other features keep with the record: {feature: value} */
    char **image_env;     /* from the image */
    char **image_command; /* from the image: its entrypoint and arguments; NULL: it has none */
    char *user;           /* from the image; "" is root */
    char *image_workdir;  /* from the image; "" or NULL: it has none */
    char **layers;        /* layer folders of its root, lowest first */
    bool is_host;
    char *resolved, *version, *digest; /* of its image: struct image; NULL: not known */
    char **exec_env;                   /* private cache of the effective environment */
    struct box *box;
    struct guest_link *link;
    json_t *kept;        /* without a box: what its driver finds it or its files by, from save(); or NULL */
    char *saved;         /* of one that is hibernated: its driver's image of memory and files; else NULL */
    struct {             /* of one that is stopped or hibernated; has_expiry also of one that its expiry paused */
        char *reason;    /* "request", "lost", …: sandboxes.md lists them */
        int64_t at;      /* wall clock */
        bool has_expiry; /* its time to live starts again with it */
    } stop;
    struct { /* private: restart.c */
        struct timer *timer;
        struct manager_waiter *waiter;
        int64_t pause_s, started_us; /* before the next start; when it last got a box */
    } again;
    bool is_persistent; /* it was stopped once, or its configuration asks for it: one that dies keeps its files */
    int64_t cpu_seen_us, cpu_seen_at_us; /* private: last sample of sandbox_metrics() */
    uint64_t oom_seen;                   /* oom kills already reported */
    struct {                             /* private: sandbox_usage.c; what the agent said last */
        bool is_known;
        unsigned n_asked;
        uint32_t pids;
        uint64_t memory_bytes, oom_kills;
    } inside;
    struct service_set *services; /* private: services.c; NULL: it has none */
    uint64_t relayed[2];  /* bytes that the egress relay sent for it and to it since this server has it: egress.c */
    struct {              /* private: listening.c */
        json_t *rows;     /* what listens inside; NULL: nothing does */
        struct pace pace; /* of its events */
    } listening;
    struct capture *captures; /* private: capture.c */
    struct {                  /* private: snapshots.c */
        char *layer;          /* the topmost captured layer that was counted; or NULL */
        size_t base;          /* how many layers of the image below were not */
        int64_t bytes;        /* what all between hold */
    } counted;
    bool is_changing;               /* it is being paused, resumed, stopped, hibernated or started */
    bool is_starting;               /* a stopped one gets a box again, and takes no calls before it is complete */
    struct stopping *stopping;      /* private: stop.c; while its processes have time to exit */
    struct manager_waiter *waiters; /* private: stop.c; who waits until it runs */
    bool is_restoring;              /* a new box is being made for it */
    bool is_ending;                 /* idle.c has decided: it takes no more calls, though it may not be removed yet */
    unsigned slots;                 /* commands of sandbox::exec under way: api/ bounds them */
    unsigned watches;               /* file watches under way: the same */
    struct {                        /* private: idle.c */
        int64_t used_us;
        unsigned commands;
        int64_t command_ms;               /* the longest that those may take */
        uint64_t bytes, packets, relayed; /* over its network and its egress relay at the last scan */
    } idle;
};

struct sandbox *sandbox_new(struct manager *m, const char *id);
void sandbox_set_config(struct sandbox *s, const struct sandbox_config *config); /* takes what config holds */
struct sandbox *sandbox_ref(struct sandbox *s);
struct sandbox *sandbox_unref(struct sandbox *s);
DEFINE_CLEANUP(struct sandbox *, sandbox_unref)

json_t *sandbox_json(const struct sandbox *s);              /* the contract's Sandbox object; caller owns */
json_t *sandbox_record(const struct sandbox *s);            /* what the store keeps; caller owns */
void sandbox_expire_at(struct sandbox *s, int64_t wall_ms); /* 0: never */
int sandbox_from_record(struct manager *m, const json_t *record, struct sandbox **ret, struct err *err);
int sandbox_save(struct sandbox *s, struct err *err); /* record into the store */
const char *sandbox_status_name(enum sandbox_status st);

/* The environment of its commands: defaults, image, config, overlay, in this order. Borrowed, valid until the next
 * change. */
const char *const *sandbox_env(struct sandbox *s);
void sandbox_env_changed(struct sandbox *s);
const char *sandbox_workdir(const struct sandbox *s); /* borrowed */

bool sandbox_is_asleep(const struct sandbox *s); /* it has no box on purpose: it is stopped or hibernated */
/* ERR_CONFLICT unless it is running. */
int sandbox_need_running(const struct sandbox *s, struct err *err);
json_t *sandbox_metrics(struct sandbox *s, struct err *err); /* SandboxMetrics; NULL with err */
