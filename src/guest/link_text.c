/* grep, sed and counted chmod: requests answered by rows. A row is only shown to the caller, never used as a path on
 * the host, so any text is accepted; its size is bounded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "guest/link_core.h"

#define ROWS_BYTES_MAX (64u * 1024 * 1024)

struct rows_call {
    struct link_stream s;
    guest_rows_fn *fn;
    void *arg;
    size_t count;
    struct buf bytes;
};

static void rows_fail(struct link_stream *s, const struct err *err)
{
    struct rows_call c = *(struct rows_call *)s;
    free(s);
    buf_done(&c.bytes);
    c.fn(c.arg, NULL, 0, err);
}

static void rows_done(struct rows_call *c)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) struct guest_row *rows = try_alloc((c->count + 1) * sizeof(*rows));
    link_close(&c->s);
    if (!rows) {
        (void)err_set(&err, ERR_CAPACITY, ENOMEM, "read %zu rows", c->count);
        rows_fail(&c->s, &err);
        return;
    }
    struct proto_reader r;
    proto_reader_init(&r, c->bytes.data ? c->bytes.data : "", c->bytes.len);
    for (size_t i = 0; i < c->count; i++) {
        struct proto_row row;
        proto_get_row(&r, &row);
        rows[i] = (struct guest_row){ .path = row.path, .text = row.text, .number = row.number, .is_set = row.is_set };
    }
    struct rows_call over = *c;
    free(c);
    over.fn(over.arg, rows, over.count, NULL);
    buf_done(&over.bytes);
}

static int rows_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct rows_call *c = (struct rows_call *)s;
    struct err err = ERR_INIT;
    struct proto_reader r;
    struct proto_row row;
    if (link_failed(s, h, payload))
        return 0;
    if (h->type != PROTO_FS_ROWS)
        return -EBADMSG;
    if (buf_add(&c->bytes, payload, h->length) < 0) {
        link_drop(s);
        (void)err_set(&err, ERR_TOO_LARGE, 0, "the result has more than %u bytes: narrow the search", ROWS_BYTES_MAX);
        rows_fail(s, &err);
        return 0;
    }
    for (proto_reader_init(&r, payload, h->length); r.left && !r.is_bad; c->count++)
        proto_get_row(&r, &row);
    if (!(h->flags & PROTO_MORE))
        rows_done(c);
    return 0;
}

static const struct link_kind rows_kind = { .name = "rows", .on_frame = rows_frame, .on_fail = rows_fail };

static int send_rows(struct guest_link *g, uint16_t type, const struct proto_writer *w, const char *data,
                     guest_rows_fn *fn, void *arg)
{
    struct rows_call *c = xzalloc(sizeof(*c));
    *c = (struct rows_call){ .s.kind = &rows_kind, .fn = fn, .arg = arg };
    buf_init(&c->bytes, ROWS_BYTES_MAX);
    int r = w->is_full ? -EINVAL : link_request(g, &c->s, type, w, data, data ? strlen(data) : 0);
    if (r < 0)
        free(c);
    return r;
}

static void put_texts(struct proto_writer *w, const char *const *list)
{
    uint32_t n = 0;
    while (list && list[n])
        n++;
    proto_put_u32(w, n ? n : PROTO_NO_STRS);
    for (uint32_t i = 0; i < n; i++)
        proto_put_str(w, list[i]);
}

static int start_text(struct guest_link *g, uint16_t type, const struct guest_text_plan *p, guest_rows_fn *fn,
                      void *arg)
{
    for (const char *const *path = p->paths; *path; path++)
        if (!link_is_path(*path))
            return -EINVAL;
    size_t size =
        64 + strlen(p->pattern) + link_strs_size(p->include) + link_strs_size(p->exclude) + link_strs_size(p->paths);
    CLEANUP(free_p) uint8_t *mem = try_alloc(size);
    if (!mem)
        return -ENOMEM;
    struct proto_writer w;
    proto_writer_init(&w, mem, size);
    proto_put_u32(&w, p->flags);
    if (type == PROTO_FS_GREP) {
        proto_put_u64(&w, p->max_matches);
        proto_put_u32(&w, p->max_line_bytes);
        proto_put_str(&w, p->paths[0]);
    }
    proto_put_str(&w, p->pattern);
    put_texts(&w, p->include);
    put_texts(&w, p->exclude);
    if (type == PROTO_FS_SED)
        put_texts(&w, p->paths);
    return send_rows(g, type, &w, type == PROTO_FS_SED ? p->replacement : NULL, fn, arg);
}

int guest_fs_grep(struct guest_link *g, const struct guest_text_plan *plan, guest_rows_fn *fn, void *arg)
{
    return start_text(g, PROTO_FS_GREP, plan, fn, arg);
}

int guest_fs_sed(struct guest_link *g, const struct guest_text_plan *plan, guest_rows_fn *fn, void *arg)
{
    return start_text(g, PROTO_FS_SED, plan, fn, arg);
}

int guest_fs_change(struct guest_link *g, const char *path, const struct guest_change *what, guest_rows_fn *fn,
                    void *arg)
{
    if (!link_is_path(path))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u32(&f.w, what->mode);
    proto_put_u32(&f.w, what->uid);
    proto_put_u32(&f.w, what->gid);
    proto_put_u8(&f.w, what->is_recursive);
    return send_rows(g, PROTO_FS_CHANGE, &f.w, NULL, fn, arg);
}
