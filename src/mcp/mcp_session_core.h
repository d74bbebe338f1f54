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
    const char *version;     /* of this message: the session's, or what it says itself (from 2026-07-28 on) */
    bool is_cacheable;       /* a list or a resource: later revisions require how long it is valid */
    unsigned n_open;         /* requests that are not answered yet */
    json_t *answers;         /* of a batch, until all are there; NULL: single */
    bool is_gone;            /* the sender has left */
    const char *traceparent; /* of the request that is being taken, or NULL; borrowed */
    int log_level;           /* least severe log message that the client wants; LOG_NONE: it wants none */
};

/* Levels of log messages, the least severe first. */
#define LOG_NONE    (-1)
#define LOG_INFO    1
#define LOG_WARNING 3

struct mcp_work {
    LIST_ENTRY(mcp_work) entry;
    struct mcp_exchange *exchange;
    json_t *id, *progress_token;                                       /* the latter may be NULL */
    json_t *args;                                                      /* of a tool, or of completion/complete */
    const struct mcp_tool *tool;                                       /* NULL: result makes the answer */
    json_t *(*result)(const struct mcp_work *w, const json_t *answer); /* caller owns */
    struct mcp_resource resource;                                      /* of resources/read */
    char *uri;                                                         /* of resources/read, or NULL */
    json_t *uris;                                                      /* of a subscription, else NULL */
    bool wants_list; /* the subscription is told when the list of resources changes */
    enum op_id op;
    json_t *params, *events;
    json_t *warnings;          /* of its arguments, and of an answer that is not an object; NULL: none */
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
    char *choice;        /* of tools; NULL: those of the contract */
    int log_level;       /* as logging/setLevel set it */
    LIST_HEAD(mcp_work_list, mcp_work) works;
    unsigned n_works;
    struct timer *ticker;
    struct mcp_session_sink notes; /* send NULL: there is no place for them */
    struct mcp_work *subscription; /* of resources/subscribe; one of works, or NULL */
};

/* mcp_work.c */
void mcp_work_call_tool(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_work_list_resources(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_work_read_resource(struct mcp_exchange *x, const json_t *id, const json_t *params);
/* Takes params. NULL: refused, too many are under way. mcp_work_start() follows. */
struct mcp_work *mcp_work_new(struct mcp_exchange *x, const json_t *id, enum op_id op, json_t *params);
void mcp_work_start(struct mcp_work *w);
void mcp_work_drop(struct mcp_work *w); /* cancels and frees it; there is no answer */
void mcp_work_cancel(struct mcp_session *s, const json_t *id);
void mcp_work_leave(struct mcp_exchange *x);
void mcp_work_tick(void *arg); /* the session's timer */

/* mcp_complete.c */
void mcp_complete_run(struct mcp_exchange *x, const json_t *id, const json_t *params);

/* mcp_subscribe.c */
void mcp_subscribe_listen(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_subscribe_add(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_subscribe_remove(struct mcp_exchange *x, const json_t *id, const json_t *params);
void mcp_subscribe_event(const struct mcp_work *w, const json_t *event); /* of the server's event stream */

/* mcp_session.c: what an exchange says. result and id as for a response; both say the end when it was the last. */
void mcp_session_answer(struct mcp_exchange *x, const json_t *id, json_t *result); /* takes result */
void mcp_session_refuse(struct mcp_exchange *x, const json_t *id, int code, const char *text);
void mcp_session_refuse_uri(struct mcp_exchange *x, const json_t *id, const char *uri, const char *text);
void mcp_session_close_one(struct mcp_exchange *x); /* a request that gets no answer */
/* A log message, if the client wants that level. Takes data. */
void mcp_session_log(const struct mcp_exchange *x, int level, const char *logger, json_t *data);
bool mcp_session_is_at_least(const struct mcp_exchange *x, const char *version);
