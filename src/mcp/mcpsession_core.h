/* The parts of a session that the files of this room share. May include: base/, loop/, mcp/. */
#pragma once
#include <sys/queue.h>

#include "mcp/mcpoutput.h"
#include "mcp/mcpresource.h"
#include "mcp/mcpsession.h"
#include "mcp/mcptool.h"

#define MCPWORK_TICK_MS    1000
#define MCPWORK_EVENTS_MAX ((size_t)16 << 20) /* bytes of a stream's events that are kept for its result */

struct mcpexchange {
    struct mcpsession *session;
    struct mcpsession_sink sink;
    const char *version; /* of this message: the session's, or what it says itself (from 2026-07-28 on) */
    bool is_cacheable;   /* a list or a resource: later revisions want to hear for how long it holds */
    unsigned n_open;     /* requests that are not answered yet */
    json_t *answers;     /* of a batch, until all are there; NULL: single */
    bool is_gone;        /* the sender has left */
};

struct mcpwork {
    LIST_ENTRY(mcpwork) entry;
    struct mcpexchange *exchange;
    json_t *id, *progress_token; /* the latter may be NULL */
    json_t *args;                /* of a tool */
    const struct mcptool *tool;  /* NULL: resources */
    struct mcpresource resource; /* of resources/read */
    char *uri;                   /* of resources/read; NULL: resources/list */
    enum op_id op;
    json_t *params, *events;
    struct mcpoutput *output; /* of a command that is followed; else NULL */
    size_t event_bytes;
    void *handle; /* of the back */
    int64_t started_ms;
    unsigned ticks;
};

struct mcpsession {
    struct loop *loop;
    const struct mcpback *back;
    const char *version; /* one of ours */
    char *choice;        /* of tools; NULL: all */
    LIST_HEAD(mcpwork_list, mcpwork) works;
    unsigned n_works;
    struct timer *ticker;
};

/* mcpwork.c */
void mcpwork_call_tool(struct mcpexchange *x, const json_t *id, const json_t *params);
void mcpwork_list_resources(struct mcpexchange *x, const json_t *id, const json_t *params);
void mcpwork_read_resource(struct mcpexchange *x, const json_t *id, const json_t *params);
void mcpwork_cancel(struct mcpsession *s, const json_t *id);
void mcpwork_leave(struct mcpexchange *x);
void mcpwork_tick(void *arg); /* the session's timer */

/* mcpsession.c: what an exchange says. result and id as for a response; both say the end when it was the last. */
void mcpsession_answer(struct mcpexchange *x, const json_t *id, json_t *result); /* takes result */
void mcpsession_refuse(struct mcpexchange *x, const json_t *id, int code, const char *text);
void mcpsession_close_one(struct mcpexchange *x); /* a request that gets no answer */
bool mcpsession_is_at_least(const struct mcpexchange *x, const char *version);
