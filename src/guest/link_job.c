/* Durable commands by tag: state, log, input and exit. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "guest/link_core.h"

struct state_call {
    struct link_stream s;
    guest_job_fn *fn;
    void *arg;
};

struct log_call {
    struct link_stream s;
    guest_bytes_fn *fn;
    void *arg;
    struct buf bytes; /* of the frames before the last; its limit is what was requested */
};

/* --- state --- */

static void state_fail(struct link_stream *s, const struct err *err)
{
    struct state_call c = *(struct state_call *)s;
    free(s);
    c.fn(c.arg, NULL, err);
}

static int state_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_job job = { 0 };
    if (link_failed(s, h, payload))
        return 0;
    struct proto_reader r;
    proto_reader_init(&r, payload, h->length);
    job.is_running = proto_get_u8(&r) != 0;
    uint32_t pid = proto_get_u32(&r);
    job.log_bytes = proto_get_u64(&r);
    job.log_start = proto_get_u64(&r);
    if (h->type != PROTO_JOB_STATE_REPLY || !link_exit_get(&r, &job.exit) || pid > INT_MAX ||
        job.log_start > job.log_bytes)
        return -EBADMSG;
    job.pid = (int)pid;
    struct state_call c = *(struct state_call *)s;
    link_close(s);
    free(s);
    c.fn(c.arg, &job, NULL);
    return 0;
}

static const struct link_kind state_kind = { .name = "job state", .on_frame = state_frame, .on_fail = state_fail };

int guest_job_state(struct guest_link *g, const char *tag, guest_job_fn *fn, void *arg)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, tag);
    struct state_call *c = xzalloc(sizeof(*c));
    *c = (struct state_call){ .s.kind = &state_kind, .fn = fn, .arg = arg };
    int r = link_request(g, &c->s, PROTO_JOB_STATE, &f.w, NULL, 0);
    if (r < 0)
        free(c);
    return r;
}

/* --- log --- */

static void log_fail(struct link_stream *s, const struct err *err)
{
    struct log_call *c = (struct log_call *)s;
    struct log_call over = *c;
    buf_done(&c->bytes);
    free(c);
    over.fn(over.arg, NULL, 0, err);
}

static int log_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct log_call *c = (struct log_call *)s;
    struct err err = ERR_INIT;
    int r = 0;
    if (h->type == PROTO_ERROR)
        link_error(payload, h->length, &err);
    else if (h->type != PROTO_JOB_LOG_REPLY || h->length > c->bytes.max - c->bytes.len)
        return -EBADMSG;
    else if ((h->flags & PROTO_MORE) || c->bytes.len)
        r = buf_add(&c->bytes, payload, h->length);
    if (r < 0) {
        link_drop(s);
        (void)err_set(&err, ERR_CAPACITY, -r, "read a log of %zu bytes", c->bytes.len);
        log_fail(s, &err);
        return 0;
    }
    if (h->flags & PROTO_MORE)
        return 0;
    link_close(s);
    if (err.code) {
        log_fail(s, &err);
        return 0;
    }
    struct log_call over = *c;
    free(c);
    if (over.bytes.len)
        over.fn(over.arg, over.bytes.data, over.bytes.len, NULL);
    else
        over.fn(over.arg, (const char *)payload, h->length, NULL); /* the usual case: one frame, no copy */
    buf_done(&over.bytes);
    return 0;
}

static const struct link_kind log_kind = { .name = "job log", .on_frame = log_frame, .on_fail = log_fail };

int guest_job_log(struct guest_link *g, const char *tag, uint64_t offset, size_t max, guest_bytes_fn *fn, void *arg)
{
    if (max > PROTO_PUT_MAX)
        max = PROTO_PUT_MAX;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, tag);
    proto_put_u64(&f.w, offset);
    proto_put_u32(&f.w, (uint32_t)max);
    struct log_call *c = xzalloc(sizeof(*c));
    *c = (struct log_call){ .s.kind = &log_kind, .fn = fn, .arg = arg };
    buf_init(&c->bytes, max);
    int r = link_request(g, &c->s, PROTO_JOB_LOG, &f.w, NULL, 0);
    if (r < 0)
        free(c);
    return r;
}

/* --- the rest --- */

int guest_job_signal(struct guest_link *g, const char *tag, int signo, guest_done_fn *fn, void *arg)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, tag);
    proto_put_u32(&f.w, (uint32_t)signo);
    return link_simple(g, PROTO_JOB_SIGNAL, &f.w, (struct link_then){ fn, arg });
}

int guest_job_input(struct guest_link *g, const char *tag, const char *data, size_t len, bool is_last,
                    guest_done_fn *fn, void *arg)
{
    if (len > PROTO_PUT_MAX)
        return -E2BIG;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_u8(&f.w, is_last);
    proto_put_str(&f.w, tag);
    return link_simple_data(g, PROTO_JOB_INPUT, &f.w, data, len, (struct link_then){ fn, arg });
}

int guest_job_wait(struct guest_link *g, const char *tag, uint64_t offset, guest_done_fn *fn, void *arg)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, tag);
    proto_put_u64(&f.w, offset);
    return link_simple(g, PROTO_JOB_WAIT, &f.w, (struct link_then){ fn, arg });
}

int guest_job_forget(struct guest_link *g, const char *tag, guest_done_fn *fn, void *arg)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, tag);
    return link_simple(g, PROTO_JOB_FORGET, &f.w, (struct link_then){ fn, arg });
}

void guest_on_job_exit(struct guest_link *g, void (*fn)(void *arg, const char *tag, const struct guest_exit *ex),
                       void *arg)
{
    *link_jobs(g) = (struct link_jobs){ .on_exit = fn, .arg = arg };
}

int link_jobs_on_exit(struct link_jobs *j, const uint8_t *payload, size_t len)
{
    struct proto_reader r;
    struct guest_exit ex;
    proto_reader_init(&r, payload, len);
    const char *tag = proto_get_str(&r, PROTO_TAG_MAX);
    if (!tag[0] || !link_exit_get(&r, &ex))
        return -EBADMSG;
    if (j->on_exit)
        j->on_exit(j->arg, tag, &ex);
    return 0;
}
