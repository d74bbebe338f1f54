/* The parts of a session that the files of this room share. May include: base/, loop/, mcp/. */
#pragma once
#include <sys/queue.h>

#include "mcp/mcp_output.h"
#include "mcp/mcp_resource.h"
#include "mcp/mcp_session.h"
#include "mcp/mcp_tool.h"

#define MCP_WORK_TICK_MS    1000
#define MCP_WORK_EVENTS_MAX ((size_t)16 << 20) /* bytes of a stream's events that are kept for its result */

struct mcp_exchange {
    struct mcp_session *session;
    struct mcp_session_sink sink;
    const char *version; /* of this message: the session's, or what it says itself (from 2026-07-28 on) */
    bool is_cacheable;   /* a list or a resource: later revisions require how long it is valid */
    unsigned n_open;     /* requests that are not answered yet */
    json_t *answers;     /* of a batch, until all are there; NULL: single */
    bool is_gone;        /* the sender has left */
};

struct mcp_work {
    LIST_ENTRY(mcp_work) entry;
    struct mcp_exchange *exchange;
    json_t *id, *progress_token;  /* the latter may be NULL */
    json_t *args;                 /* of a tool */
    const struct mcp_tool *tool;  /* NULL: resources */
    struct mcp_resource resource; /* of resources/read */
    char *uri;                    /* of resources/read; NULL: resources/list */
    enum op_id op;
    json_t *params, *events;
    struct mcp_output *output; /* of a command that is followed; else NULL */
    size_t event_bytes;
    void *handle; /* of the back */
    int64_t started_ms;
    unsigned ticks;
};

struct mcp_session {
    struct loop *loop;
    const struct mcp_backend *back;
    const char *version; /* one of ours */
    char *choice;        /* of tools; NULL: all */
    LIST_HEAD(mcp_work_list, mcp_work) works;
    unsigned n_works;
    struct timer *ticker;
};

/* mcp_work.c */
void mcp_work_call_tool(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_work_list_resources(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_work_read_resource(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_work_cancel(struct mcp_session *s, const json_t *id);
void mcp_work_leave(struct mcp_exchange *x);
void mcp_work_tick(void *arg); /* the session's timer */

/* mcp_session.c: what an exchange says. result and id as for a response; both say the end when it was the last. */
void mcp_session_answer(struct mcp_exchange *x, const json_t *id, json_t *result); /* takes result */
void mcp_session_refuse(struct mcp_exchange *x, const json_t *id, int code, const char *text);
void mcp_session_close_one(struct mcp_exchange *x); /* a request that gets no answer */
bool mcp_session_is_at_least(const struct mcp_exchange *x, const char *version);
