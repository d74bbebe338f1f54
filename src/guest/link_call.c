/* Calls without a result, errors as the guest reports them, and the calls on the box itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "guest/link_core.h"

struct simple_call {
    struct link_stream s;
    struct link_then then;
};

/* Error codes for an errno of a file or process call, beyond those of base/. */
static enum err_code kind_of(int sys)
{
    switch (sys) {
    case ESRCH:
        return ERR_NOT_FOUND;
    case EROFS:
        return ERR_FORBIDDEN;
    case EBUSY:
    case ETXTBSY:
    case EPIPE:
        return ERR_CONFLICT;
    case ERANGE:
        return ERR_GONE;
    case ENOEXEC:
    case EXDEV:
        return ERR_INVALID;
    case ENOSYS:
    case EOPNOTSUPP:
        return ERR_UNSUPPORTED;
    case PROTO_UNMET:
        return ERR_UNMET;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
        return ERR_CAPACITY;
    default:
        return err_from_errno(sys);
    }
}

void link_error(const uint8_t *payload, size_t len, struct err *ret)
{
    struct proto_reader r;
    proto_reader_init(&r, payload, len);
    uint32_t sys = proto_get_u32(&r);
    const char *step = proto_get_str(&r, PROTO_PATH_MAX);
    if (sys == 0 || sys > 4095) /* not an errno: the agent is broken, but the call has failed all the same */
        sys = EIO;
    (void)err_set(ret, kind_of((int)sys), (int)sys, "%.300s", step);
}

bool link_failed(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct err err = ERR_INIT;
    if (h->type != PROTO_ERROR)
        return false;
    link_error(payload, h->length, &err);
    link_close(s);
    s->kind->on_fail(s, &err);
    return true;
}

bool link_exit_get(struct proto_reader *r, struct guest_exit *ret)
{
    struct proto_exit x;
    proto_get_exit(r, &x);
    if (r->is_bad || x.code > 255 || x.signal > 64 || (x.flags & ~(PROTO_EXIT_TIMEOUT | PROTO_EXIT_OOM)))
        return false;
    *ret = (struct guest_exit){
        .code = (int)x.code,
        .signal = (int)x.signal,
        .is_timeout = x.flags & PROTO_EXIT_TIMEOUT,
        .is_oom = x.flags & PROTO_EXIT_OOM,
        .user_us = x.user_us,
        .system_us = x.system_us,
        .max_rss_kb = x.max_rss_kb,
        .wall_us = x.wall_us,
    };
    return true;
}

void link_stat_from(const struct proto_stat *st, struct guest_stat *ret)
{
    *ret = (struct guest_stat){
        .path = st->path,
        .size = st->size,
        .mode = st->mode,
        .uid = st->uid,
        .gid = st->gid,
        .owner = st->owner,
        .group = st->group,
        .mtime_ms = st->mtime_ms,
        .target = st->target[0] ? st->target : NULL,
    };
}

bool link_is_path(const char *path)
{
    return path && path[0] == '/' && strlen(path) <= PROTO_PATH_MAX;
}

size_t link_strs_size(const char *const *list)
{
    size_t n = 4;
    for (; list && *list; list++)
        n += 5 + strlen(*list);
    return n;
}

void link_fields_init(struct link_fields *f)
{
    proto_writer_init(&f->w, f->mem, sizeof(f->mem));
}

static void simple_end(struct link_stream *s, const struct err *err)
{
    struct link_then then = ((struct simple_call *)s)->then;
    free(s);
    if (then.fn)
        then.fn(then.arg, err);
}

static int simple_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct err err = ERR_INIT;
    if (h->type == PROTO_ERROR)
        link_error(payload, h->length, &err);
    else if (h->type != PROTO_DONE)
        return -EBADMSG;
    link_close(s);
    simple_end(s, err.code ? &err : NULL);
    return 0;
}

static const struct link_kind simple_kind = { .name = "call", .on_frame = simple_frame, .on_fail = simple_end };

int link_simple_data(struct guest_link *g, uint16_t type, const struct proto_writer *fields, const void *data,
                     size_t len, struct link_then then)
{
    struct simple_call *c = xzalloc(sizeof(*c));
    c->s.kind = &simple_kind;
    c->then = then;
    int r = link_request(g, &c->s, type, fields, data, len);
    if (r < 0)
        free(c);
    return r;
}

int link_simple(struct guest_link *g, uint16_t type, const struct proto_writer *fields, struct link_then then)
{
    return link_simple_data(g, type, fields, NULL, 0, then);
}

int guest_ping(struct guest_link *g, guest_done_fn *fn, void *arg)
{
    return link_simple(g, PROTO_PING, NULL, (struct link_then){ fn, arg });
}

int guest_set_hostname(struct guest_link *g, const char *name, guest_done_fn *fn, void *arg)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, name);
    return link_simple(g, PROTO_HOSTNAME, &f.w, (struct link_then){ fn, arg });
}

int guest_reseed(struct guest_link *g, const void *seed, size_t len, guest_done_fn *fn, void *arg)
{
    uint8_t mem[8];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u64(&w, (uint64_t)clock_wall_ms() * 1000);
    return link_simple_data(g, PROTO_RESEED, &w, seed, len, (struct link_then){ fn, arg });
}

struct usage_call {
    struct link_stream s;
    guest_usage_fn *fn;
    void *arg;
};

static void usage_fail(struct link_stream *s, const struct err *err)
{
    struct usage_call c = *(struct usage_call *)s;
    free(s);
    c.fn(c.arg, NULL, err);
}

static int usage_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_usage usage = { 0 };
    struct proto_reader r;
    if (link_failed(s, h, payload))
        return 0;
    if (h->type != PROTO_USAGE_REPLY)
        return -EBADMSG;
    proto_reader_init(&r, payload, h->length);
    usage.pids = proto_get_u32(&r);
    usage.memory_bytes = proto_get_u64(&r);
    usage.oom_kills = proto_get_u64(&r);
    struct usage_call c = *(struct usage_call *)s;
    link_close(s);
    free(s);
    c.fn(c.arg, &usage, NULL);
    return 0;
}

static const struct link_kind usage_kind = { .name = "usage", .on_frame = usage_frame, .on_fail = usage_fail };

int guest_usage(struct guest_link *g, guest_usage_fn *fn, void *arg)
{
    struct usage_call *c = xzalloc(sizeof(*c));
    *c = (struct usage_call){ .s.kind = &usage_kind, .fn = fn, .arg = arg };
    int r = link_request(g, &c->s, PROTO_USAGE, NULL, NULL, 0);
    if (r < 0)
        free(c);
    return r;
}
