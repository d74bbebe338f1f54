/* Shared by link*.c: the connection that calls are built on. A call embeds a link_stream as its first member; the link
 * finds it by id, dispatches its frames to it and fails it when the connection breaks. May include: base/, loop/,
 * guest/. Invariants:
 * 1. A kind's on_frame and on_fail call the user last and do not touch the call afterwards: the user may drop it.
 * 2. A call fails or finishes exactly once, never from inside the function that started it.
 * 3. Once broken, a link sends nothing, accepts no request and has no descriptor. */
#pragma once
#include "guest/link.h"
#include "guest/proto.h"

#define LINK_STREAMS_MAX   65536u             /* open calls of one link */
#define LINK_QUEUE_DATA    (1024u * 1024)     /* unsent bytes above which data is not accepted */
#define LINK_QUEUE_REQUEST (8u * 1024 * 1024) /* unsent bytes above which requests are refused */
#define LINK_QUEUE_MAX                                                                            \
    (16u * 1024 * 1024) /* unsent bytes that show that the agent no longer reads: the link breaks \
                         */

struct link_stream;

struct link_kind {
    const char *name;
    /* One well-formed frame of this stream. -EBADMSG: it is not allowed now or exceeds a limit; the link breaks. */
    int (*on_frame)(struct link_stream *s, const struct proto_header *h, const uint8_t *payload);
    /* The stream is already out of the table: free the call and tell its user. */
    void (*on_fail)(struct link_stream *s, const struct err *err);
    /* Data can be sent again after link_flow_send() stopped short; NULL when this kind sends none. */
    void (*on_room)(struct link_stream *s);
    /* The call has timed out. True: it waits not for the guest but for its own user, so it continues. NULL: always
     * for the guest. */
    bool (*is_users_turn)(const struct link_stream *s);
    /* Instead of on_fail, on a timeout; NULL: on_fail. */
    void (*on_late)(struct link_stream *s, const struct err *err);
};

struct link_stream {
    const struct link_kind *kind;
    struct guest_link *link;
    struct link_stream *next;                        /* in its bucket */
    struct link_stream *waiting_prev, *waiting_next; /* while the queue is too long for its data */
    int64_t due_ms;                                  /* when it times out; 0: never */
    uint32_t id;                                     /* 0: not in the table */
    bool is_waiting, is_own; /* own: a call of the host itself, which is not use of the sandbox */
};

/* Opens s and sends its request: fields, then data. 0, -EPIPE (link broken), -EBUSY (queue or table full), -EINVAL (a
 * field is too long or malformed). On failure s is not in the table and the caller frees it. */
int link_request(struct guest_link *g, struct link_stream *s, uint16_t type, const struct proto_writer *fields,
                 const void *data, size_t len);
/* Sends one frame on an open stream, fields and data at most PROTO_PAYLOAD_MAX; does nothing on a broken link. */
void link_post(struct link_stream *s, uint16_t type, const struct proto_writer *fields, const void *data, size_t len);
void link_close(struct link_stream *s); /* removes it from the table: its call is over; sends no frame */
void link_drop(struct link_stream *s);  /* the same, and tells the agent to drop it */

/* Whether data may be sent now. When the queue is too long, the stream is registered, and its kind's on_room is
 * called later. */
bool link_has_room(struct link_stream *s);

/* --- time: link_time.c's part of the link, and what it needs of it --- */
struct link_time {
    struct timer *timer; /* made with the first call */
    int64_t at_ms;       /* when it fires; 0: it does not */
    int64_t still_ms;    /* since when the sandbox is paused */
    bool is_still;
    uint32_t answer_ms, grace_ms;
};
struct link_time *link_time(struct guest_link *g);
void link_time_init(struct link_time *t);
void link_time_begin(struct link_stream *s, uint16_t type);     /* starts the timeout of this type of call */
void link_time_limit(struct link_stream *s, uint32_t limit_ms); /* that long and some grace; 0: forever */
void link_time_again(struct link_stream *s);                    /* the guest has made progress: restarts the timeout */
struct loop *link_loop(struct guest_link *g);
struct link_stream *link_find(struct guest_link *g, uint32_t id);
typedef void link_each_fn(void *arg, struct link_stream *s); /* must not open or close any */
void link_each(struct guest_link *g, link_each_fn *fn, void *arg);
void link_hold(struct guest_link *g);   /* keeps the link alive while calls are told, whatever they do */
void link_unhold(struct guest_link *g); /* may free it */
bool link_is_broken(const struct guest_link *g);
bool link_can(const struct guest_link *g, uint32_t cap); /* PROTO_CAP_*; false before the agent's handshake */

struct link_services {
    void (*fn)(void *arg, const struct guest_service *s);
    void *arg;
};
struct link_services *link_services(struct guest_link *g);
/* A SERVICE_STATE frame of stream 0. Calls the user last. -EBADMSG when a value is impossible. */
int link_services_on_state(struct link_services *l, const uint8_t *payload, size_t len);
/* The fields of EXEC_START, in requests that start a command. plan was checked by link_exec_check(). */
int link_exec_check(const struct guest_exec_plan *plan, struct err *err);
size_t link_exec_size(const struct guest_exec_plan *plan); /* at most so many bytes */
void link_exec_put(struct proto_writer *w, const struct guest_exec_plan *plan);
void link_strs_put(struct proto_writer *w, const char *const *list); /* NULL: not given */

/* Turns an ERROR payload into a struct err: the guest's errno selects the code, its step becomes the text. */
void link_error(const uint8_t *payload, size_t len, struct err *ret);
/* Whether the frame is an ERROR: then the call is over, and its kind's on_fail has been called. */
bool link_failed(struct link_stream *s, const struct proto_header *h, const uint8_t *payload);

/* --- windows of one stream's data --- */
struct link_flow {
    uint32_t window;   /* most bytes under way in one direction */
    uint32_t in_left;  /* what the guest may still send */
    uint32_t in_held;  /* received, not yet credited by the user */
    uint32_t in_owed;  /* credited by the user, not yet sent to the guest */
    uint32_t out_left; /* what we may still send */
    bool is_short;     /* the last send was cut short: the user waits for room */
    loop_fn *on_writable;
    void *arg;
};

void link_flow_init(struct link_flow *f);
void link_flow_widen(struct link_flow *f);           /* PROTO_WINDOW_WIDE; right after the init */
int link_flow_take(struct link_flow *f, size_t len); /* -EBADMSG: beyond the window */
void link_flow_credit(struct link_stream *s, struct link_flow *f, size_t bytes);
size_t link_flow_send(struct link_stream *s, struct link_flow *f, uint16_t type, const char *data, size_t len);
bool link_flow_can_send(struct link_stream *s, struct link_flow *f,
                        size_t len); /* all of len now; else registers the wait */
/* A CREDIT frame: -EBADMSG when it exceeds the window. Wakes the user, so call it last. */
int link_flow_credited(struct link_flow *f, const uint8_t *payload, size_t len);
void link_flow_wake(struct link_flow *f); /* calls on_writable once if the last send was cut short and there is room */

/* --- calls without a result --- */
struct link_then {
    guest_done_fn *fn; /* may be NULL */
    void *arg;
};
int link_simple(struct guest_link *g, uint16_t type, const struct proto_writer *fields, struct link_then then);
int link_simple_data(struct guest_link *g, uint16_t type, const struct proto_writer *fields, const void *data,
                     size_t len, struct link_then then);
/* Memory for the fields of a request of up to three paths. */
struct link_fields {
    struct proto_writer w;
    uint8_t mem[3 * (PROTO_PATH_MAX + 5) + 64];
};
void link_fields_init(struct link_fields *f);
size_t link_strs_size(const char *const *list); /* bytes of a list of strings in a request; NULL is an empty one */
bool link_exit_get(struct proto_reader *r, struct guest_exit *ret); /* false: values no kernel gives */

void link_stat_from(const struct proto_stat *st, struct guest_stat *ret); /* strings stay where they are */
bool link_is_path(const char *path);                                      /* absolute and not too long */

/* link_job.c's part of the link */
struct link_jobs {
    void (*on_exit)(void *arg, const char *tag, const struct guest_exit *ex);
    void *arg;
};
struct link_jobs *link_jobs(struct guest_link *g);
/* A JOB_EXIT frame of stream 0. Calls the user last. -EBADMSG when a value is impossible. */
int link_jobs_on_exit(struct link_jobs *j, const uint8_t *payload, size_t len);
