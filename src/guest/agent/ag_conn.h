/* Links to hosts: framing, request dispatch, streams and their windows. Several may be connected at once.
 * Invariants:
 * 1. Whatever a host sends that the wire format does not allow ends that link alone.
 * 2. Nothing is written to a link inside a deeper call than ag_conn_flush and big data frames; a link that breaks is
 *    only marked, and taken down when the loop is about to sleep. So no call here frees its caller's objects.
 * 3. When a link goes, each of its streams gets on_drop, exactly once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/agent/ag_loop.h"
#include "guest/proto.h"

struct ag_conn;
struct ag_exec;
struct ag_job;
struct ag_stream;
struct ag_vm;

struct agent {
    struct ag_loop loop;
    struct ag_watch listener, signals;
    const char *dial_path; /* a socket of the host's, to be called whenever there is no link; or NULL */
    struct ag_timer redial;
    struct ag_vm *vm; /* the channel of a virtual machine (ag_vm.h), or NULL */
    struct ag_conn *conns;
    struct ag_exec *execs;
    struct ag_job *jobs;
    uint64_t last_serial;
    uint8_t *scratch; /* PROTO_FRAME_MAX bytes for the frame being built; lives until the loop sleeps */
    bool is_scratch_dirty;
};

/* Takes fd. 0 or -errno (fd is closed then). */
int ag_conn_new(struct agent *a, int fd);
/* A stream on which something was said before it became a link. */
struct ag_conn_begin {
    const void *first; /* goes out before our HELLO */
    size_t first_len;
    const uint8_t *rest; /* has come in already */
    size_t rest_len;
    bool is_port; /* the port of a virtual machine: goes back to ag_vm when the link has ended */
};

/* Takes fd, but not on failure. 0 or -errno. */
int ag_conn_begin(struct agent *a, int fd, const struct ag_conn_begin *b);
/* Takes down broken links, writes what is queued, gives idle memory back. Called before the loop sleeps. */
void ag_conn_settle(struct agent *a);
void ag_conn_end_all(struct agent *a);                               /* the agent is leaving */
struct ag_conn *ag_conn_by_serial(struct agent *a, uint64_t serial); /* NULL: gone */
struct ag_conn *ag_conn_next(const struct ag_conn *c);
bool ag_conn_has_hello(const struct ag_conn *c); /* the host may be sent more than our own HELLO */
uint64_t ag_conn_serial(const struct ag_conn *c);
struct agent *ag_conn_agent(const struct ag_conn *c);
void ag_conn_break(struct ag_conn *c);
void ag_conn_break_all(struct agent *a);

/* Room for one frame in the agent's scratch memory. */
uint8_t *ag_conn_scratch(struct agent *a);
/* Queues one whole frame; large ones are written at once when nothing is queued. */
void ag_conn_send(struct ag_conn *c, const void *frame, size_t len);
/* So much is queued that streams shall wait for on_ready. */
bool ag_conn_is_full(const struct ag_conn *c);
struct ag_stream **ag_conn_streams(struct ag_conn *c); /* head of its list, for ag_stream.c */
