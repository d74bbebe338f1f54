/* Whether a service is ready: asked again and again, until it is or it times out. Nothing blocks: one attempt at a
 * time, and the time counts in checks, so that a pause of the sandbox does not use it up. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/exec.h"
#include "agent/loop.h"

struct agent_probe_plan {
    uint8_t kind; /* PROTO_READY_*, another than NONE */
    uint16_t port;
    const char *path;      /* HTTP */
    char **argv;           /* COMMAND; with a spare slot before it */
    const uint8_t *launch; /* COMMAND: where and as whom it runs, the fields of EXEC_START */
    size_t launch_len;
    uint32_t interval_ms, timeout_ms;
};

struct agent_probe {
    struct agent *agent; /* NULL: it does not run */
    const struct agent_probe_plan *plan;
    void (*fn)(struct agent_probe *p, bool is_ready);
    struct agent_timer tick;
    struct agent_watch sock;
    struct agent_exec *exec;
    uint32_t pause_ms, elapsed_ms, attempt_ms;
    bool is_v6, is_sent;
    size_t n;
    char head[12]; /* "HTTP/1.1 200" */
};

/* p, its memory and plan stay until it ends. fn is called once, never from inside this call; then it has ended. */
void agent_probe_start(struct agent_probe *p, struct agent *a, const struct agent_probe_plan *plan,
                       void (*fn)(struct agent_probe *p, bool is_ready));
void agent_probe_stop(struct agent_probe *p); /* fine when it does not run */
