/* Files of any size: a reader forwards the guest's bytes as they arrive, a writer sends as the window allows. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guest/link_core.h"

struct guest_reader {
    struct link_stream s;
    struct guest_read_events ev;
    void *arg;
    struct link_flow flow;
    uint64_t left; /* of the requested bytes */
    bool is_open;
    bool is_content, has_range; /* of guest_content_open() */
};

struct guest_writer {
    struct link_stream s;
    guest_done_fn *fn;
    guest_content_fn *stored;    /* instead of fn: of guest_content_store() */
    guest_unpacked_fn *unpacked; /* the same: of guest_tree_unpack() */
    void *arg;
    struct link_flow flow;
    bool is_ended;
};

static void read_content(const uint8_t *payload, size_t len, struct guest_content *ret)
{
    struct proto_reader p;
    struct proto_stat st;
    proto_reader_init(&p, payload, len);
    ret->version = proto_get_u64(&p);
    ret->has_size = ret->is_new = proto_get_u8(&p);
    proto_get_stat(&p, &st);
    link_stat_from(&st, &ret->stat);
}

/* --- reader --- */

static void reader_fail(struct link_stream *s, const struct err *err)
{
    struct guest_reader r = *(struct guest_reader *)s;
    free(s);
    if (r.ev.on_done)
        r.ev.on_done(r.arg, err);
}

static int reader_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_reader *r = (struct guest_reader *)s;
    struct err err = ERR_INIT;
    if (h->type == PROTO_FS_CONTENT) {
        struct guest_content content;
        if (r->is_open || !r->is_content)
            return -EBADMSG;
        r->is_open = true;
        read_content(payload, h->length, &content);
        r->ev.on_content(r->arg, &content);
        return 0;
    }
    if (h->type == PROTO_FS_OPENED) {
        struct proto_reader p;
        struct proto_stat st;
        struct guest_stat out;
        if (r->is_open || r->is_content)
            return -EBADMSG;
        r->is_open = true;
        proto_reader_init(&p, payload, h->length);
        proto_get_stat(&p, &st);
        link_stat_from(&st, &out);
        if (r->ev.on_open)
            r->ev.on_open(r->arg, &out);
        return 0;
    }
    if (h->type == PROTO_FS_DATA) {
        if (!r->is_open || h->length > r->left || link_flow_take(&r->flow, h->length) < 0)
            return -EBADMSG;
        r->left -= h->length;
        link_time_again(s);
        r->ev.on_data(r->arg, (const char *)payload, h->length);
        return 0;
    }
    if (h->type == PROTO_ERROR)
        link_error(payload, h->length, &err);
    else if (h->type != PROTO_DONE || !r->is_open || (r->is_content && !r->has_range))
        return -EBADMSG;
    link_close(s);
    reader_fail(s, err.code ? &err : NULL);
    return 0;
}

static bool reader_is_users_turn(const struct link_stream *s)
{
    const struct guest_reader *r = (const struct guest_reader *)s;
    return r->flow.in_held > 0 || (r->is_content && r->is_open && !r->has_range);
}

static const struct link_kind reader_kind = {
    .name = "read", .on_frame = reader_frame, .on_fail = reader_fail, .is_users_turn = reader_is_users_turn
};

static int start_read(struct guest_link *g, uint16_t type, const struct proto_writer *w,
                      const struct guest_reader *like, struct guest_reader **ret)
{
    struct guest_reader *r = xzalloc(sizeof(*r));
    *r = *like;
    r->s.kind = &reader_kind;
    link_flow_init(&r->flow);
    if (type != PROTO_FS_READ)
        link_flow_widen(&r->flow);
    int n = link_request(g, &r->s, type, w, NULL, 0);
    if (n < 0) {
        free(r);
        return n;
    }
    if (ret)
        *ret = r;
    return 0;
}

int guest_fs_read(struct guest_link *g, const char *path, uint64_t offset, uint64_t max,
                  const struct guest_read_events *ev, void *arg, struct guest_reader **ret)
{
    if (!link_is_path(path))
        return -EINVAL;
    if (max == 0)
        max = UINT64_MAX;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u64(&f.w, offset);
    proto_put_u64(&f.w, max);
    return start_read(g, PROTO_FS_READ, &f.w, &(struct guest_reader){ .ev = *ev, .arg = arg, .left = max }, ret);
}

/* The fields of a request about a path and a user. */
static int path_and_user(const struct guest_link *g, const char *path, const char *user, struct link_fields *f)
{
    if (!link_is_path(path))
        return -EINVAL;
    if (!link_can(g, PROTO_CAP_CONTENT))
        return -ENOSYS;
    link_fields_init(f);
    proto_put_str(&f->w, path);
    proto_put_str(&f->w, user);
    return 0;
}

int guest_content_open(struct guest_link *g, const char *path, const char *user, const struct guest_read_events *ev,
                       void *arg, struct guest_reader **ret)
{
    struct link_fields f;
    int r = path_and_user(g, path, user, &f);
    if (r < 0)
        return r;
    return start_read(g, PROTO_FS_OPEN, &f.w, &(struct guest_reader){ .ev = *ev, .arg = arg, .is_content = true }, ret);
}

int guest_tree_pack(struct guest_link *g, const struct guest_pack_plan *plan, const struct guest_read_events *ev,
                    void *arg, struct guest_reader **ret)
{
    struct link_fields f;
    int r = path_and_user(g, plan->path, plan->user, &f);
    if (r < 0)
        return r;
    proto_put_u8(&f.w, plan->is_plain);
    const struct guest_reader like = { .ev = *ev, .arg = arg, .left = UINT64_MAX, .is_open = true };
    return start_read(g, PROTO_FS_PACK, &f.w, &like, ret);
}

void guest_reader_range(struct guest_reader *r, uint64_t offset, uint64_t max)
{
    struct link_fields f;
    link_fields_init(&f);
    proto_put_u64(&f.w, offset);
    proto_put_u64(&f.w, max);
    r->has_range = true;
    r->left = max;
    link_time_again(&r->s);
    link_post(&r->s, PROTO_FS_RANGE, &f.w, NULL, 0);
}

void guest_reader_credit(struct guest_reader *r, size_t bytes)
{
    link_time_again(&r->s);
    link_flow_credit(&r->s, &r->flow, bytes);
}

void guest_reader_drop(struct guest_reader *r)
{
    link_drop(&r->s);
    free(r);
}

/* --- writer --- */

static void writer_fail(struct link_stream *s, const struct err *err)
{
    struct guest_writer w = *(struct guest_writer *)s;
    free(s);
    if (w.stored)
        w.stored(w.arg, NULL, err);
    else if (w.unpacked)
        w.unpacked(w.arg, NULL, err);
    else if (w.fn)
        w.fn(w.arg, err);
}

/* The last frame of a write that has a result. */
static void writer_done(struct guest_writer *w, const uint8_t *payload, size_t len)
{
    struct guest_writer own = *w;
    free(w);
    if (own.stored) {
        struct guest_content content;
        read_content(payload, len, &content);
        own.stored(own.arg, &content, NULL);
        return;
    }
    struct proto_reader p;
    proto_reader_init(&p, payload, len);
    uint64_t entries = proto_get_u64(&p);
    own.unpacked(own.arg, &(struct guest_unpacked){ entries, proto_get_u64(&p) }, NULL);
}

static int writer_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_writer *w = (struct guest_writer *)s;
    struct err err = ERR_INIT;
    if (h->type == PROTO_CREDIT) {
        link_time_again(s);
        return link_flow_credited(&w->flow, payload, h->length);
    }
    uint16_t last = w->stored ? PROTO_FS_STORED : w->unpacked ? PROTO_FS_UNPACKED : PROTO_DONE;
    if (h->type == PROTO_ERROR)
        link_error(payload, h->length, &err);
    else if (h->type != last || !w->is_ended)
        return -EBADMSG;
    link_close(s);
    if (err.code || last == PROTO_DONE)
        writer_fail(s, err.code ? &err : NULL);
    else
        writer_done(w, payload, h->length);
    return 0;
}

static void writer_room(struct link_stream *s)
{
    link_flow_wake(&((struct guest_writer *)s)->flow);
}

/* Nothing is under way to the guest: the user has to send next. */
static bool writer_is_users_turn(const struct link_stream *s)
{
    const struct guest_writer *w = (const struct guest_writer *)s;
    return !w->is_ended && !w->flow.is_short;
}

static const struct link_kind writer_kind = { .name = "write",
                                              .on_frame = writer_frame,
                                              .on_fail = writer_fail,
                                              .on_room = writer_room,
                                              .is_users_turn = writer_is_users_turn };

static int open_writer(struct guest_link *g, uint16_t type, const struct proto_writer *fields,
                       const struct guest_writer *like, struct guest_writer **ret)
{
    struct guest_writer *w = xzalloc(sizeof(*w));
    *w = *like;
    w->s.kind = &writer_kind;
    link_flow_init(&w->flow);
    if (type != PROTO_FS_WRITE)
        link_flow_widen(&w->flow);
    int r = link_request(g, &w->s, type, fields, NULL, 0);
    if (r < 0) {
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

static int start_write(struct guest_link *g, const char *path, uint32_t mode, uint8_t flags, struct link_then then,
                       struct guest_writer **ret)
{
    if (!link_is_path(path))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u32(&f.w, mode);
    proto_put_u8(&f.w, flags);
    return open_writer(g, PROTO_FS_WRITE, &f.w, &(struct guest_writer){ .fn = then.fn, .arg = then.arg }, ret);
}

int guest_content_store(struct guest_link *g, const struct guest_store_plan *plan, guest_content_fn *fn, void *arg,
                        struct guest_writer **ret)
{
    struct link_fields f;
    int r = plan->n_versions > PROTO_STORE_VERSIONS ? -EINVAL : path_and_user(g, plan->path, plan->user, &f);
    if (r < 0)
        return r;
    proto_put_u32(&f.w, plan->mode);
    proto_put_u32(&f.w, plan->flags);
    for (size_t i = 0; i < plan->n_versions; i++)
        proto_put_u64(&f.w, plan->versions[i]);
    return open_writer(g, PROTO_FS_STORE, &f.w, &(struct guest_writer){ .stored = fn, .arg = arg }, ret);
}

int guest_tree_unpack(struct guest_link *g, const char *path, const char *user, guest_unpacked_fn *fn, void *arg,
                      struct guest_writer **ret)
{
    struct link_fields f;
    int r = path_and_user(g, path, user, &f);
    if (r < 0)
        return r;
    return open_writer(g, PROTO_FS_UNPACK, &f.w, &(struct guest_writer){ .unpacked = fn, .arg = arg }, ret);
}

int guest_fs_write(struct guest_link *g, const char *path, uint32_t mode, bool has_parents, guest_done_fn *fn,
                   void *arg, struct guest_writer **ret)
{
    return start_write(g, path, mode, has_parents ? PROTO_WRITE_PARENTS : 0, (struct link_then){ fn, arg }, ret);
}

int guest_fs_replace(struct guest_link *g, const char *path, uint32_t mode, bool has_parents, guest_done_fn *fn,
                     void *arg, struct guest_writer **ret)
{
    uint8_t flags = (uint8_t)(PROTO_WRITE_REPLACE | (has_parents ? PROTO_WRITE_PARENTS : 0));
    return start_write(g, path, mode | GUEST_MODE_GIVEN, flags, (struct link_then){ fn, arg }, ret);
}

size_t guest_writer_send(struct guest_writer *w, const char *data, size_t len)
{
    bool was_short = w->flow.is_short;
    size_t n = w->is_ended ? 0 : link_flow_send(&w->s, &w->flow, PROTO_FS_DATA, data, len);
    if (w->flow.is_short && !was_short)
        link_time_again(&w->s); /* from now on it waits for the guest */
    return n;
}

void guest_writer_on_writable(struct guest_writer *w, loop_fn *fn, void *arg)
{
    w->flow.on_writable = fn;
    w->flow.arg = arg;
}

void guest_writer_end(struct guest_writer *w)
{
    if (!w->is_ended) {
        link_time_again(&w->s);
        link_post(&w->s, PROTO_FS_END, NULL, NULL, 0);
    }
    w->is_ended = true;
}

void guest_writer_drop(struct guest_writer *w)
{
    link_drop(&w->s);
    free(w);
}
