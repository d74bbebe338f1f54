/* Links to hosts: framing, request dispatch, streams and their windows. Several may be connected at once.
 * Invariants:
 * 1. A violation of the wire format by a host ends that link only.
 * 2. Only the flush before the loop sleeps and large data frames write to a link. A link that breaks is only marked,
 *    and taken down before the loop sleeps. So no call here frees its caller's objects.
 * 3. When a link is taken down, on_drop of each of its streams is called exactly once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/loop.h"
#include "guest/proto.h"

struct agent_conn;
struct agent_exec;
struct agent_job;
struct agent_listening;
struct agent_service;
struct agent_stream;
struct agent_vm_channel;

struct agent {
    struct agent_loop loop;
    struct agent_watch listener, signals, denied;
    const char *dial_path; /* a socket of the host to connect to whenever there is no link; or NULL */
    struct agent_timer redial;
    struct agent_vm_channel *vm; /* the channel of a VM (vm_channel.h), or NULL */
    struct agent_conn *conns;
    struct agent_exec *execs;
    struct agent_job *jobs;
    struct agent_listening *listening; /* listening.h; NULL: out of memory */
    struct agent_service *services;
    bool is_ending; /* every process was told to exit: no service is started any more */
    struct {
        uint64_t conn_serial; /* its link may be gone meanwhile */
        uint32_t stream;      /* 0: no host waits for the end of all processes */
    } end;
    uint64_t last_serial;
    uint8_t *scratch; /* PROTO_FRAME_MAX bytes for the frame being built; valid until the loop sleeps */
    bool is_scratch_dirty;
    unsigned readers; /* of files: they use the scratch again at once */
};

/* Takes fd. 0 or -errno (fd is closed then). */
int agent_conn_new(struct agent *a, int fd);
/* A stream on which bytes were exchanged before it became a link. */
struct agent_conn_begin {
    const void *first; /* sent before our HANDSHAKE */
    size_t first_len;
    const uint8_t *rest; /* already received */
    size_t rest_len;
    bool is_port; /* the port of a VM: goes back to agent_vm_channel when the link has ended */
};

/* Takes fd, but not on failure. 0 or -errno. */
int agent_conn_begin(struct agent *a, int fd, const struct agent_conn_begin *b);
/* Takes down broken links, flushes queues, frees idle memory. Called before the loop sleeps. */
void agent_conn_settle(struct agent *a);
void agent_conn_end_all(struct agent *a);                                  /* the agent is leaving */
struct agent_conn *agent_conn_by_serial(struct agent *a, uint64_t serial); /* NULL: gone */
struct agent_conn *agent_conn_next(const struct agent_conn *c);
bool agent_conn_has_handshake(const struct agent_conn *c);     /* more than our own HANDSHAKE may be sent to the host */
bool agent_conn_can(const struct agent_conn *c, uint32_t cap); /* PROTO_CAP_* of the host */
uint64_t agent_conn_serial(const struct agent_conn *c);
struct agent *agent_conn_agent(const struct agent_conn *c);
void agent_conn_break(struct agent_conn *c);
void agent_conn_break_all(struct agent *a);

/* Room for one frame in the agent's scratch memory. */
uint8_t *agent_conn_scratch(struct agent *a);
/* Queues one whole frame; large ones are written at once when nothing is queued. */
void agent_conn_send(struct agent_conn *c, const void *frame, size_t len);
/* So much is queued that streams must wait for on_ready. */
bool agent_conn_is_full(const struct agent_conn *c);
struct agent_stream **agent_conn_streams(struct agent_conn *c); /* head of its list, for stream.c */
