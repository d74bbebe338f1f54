/* Files by path: stat, list, search and changes. Names from the guest are checked here, because the host joins them
 * to paths: an entry of a list is one plain name, a result of a search is absolute. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "guest/link_core.h"

#define STATS_BYTES_MAX (64u * 1024 * 1024) /* of one list: 100,000 typical entries take 10 MiB */

struct stats_call {
    struct link_stream s;
    guest_stats_fn *fn;
    void *arg;
    uint16_t type;     /* of the request */
    size_t count, max; /* records so far; limit */
    struct buf bytes;  /* payloads of the frames before the last */
};

static bool is_good_name(uint16_t type, const char *path)
{
    if (type != PROTO_FS_LIST)
        return path[0] == '/';
    return path[0] && !strchr(path, '/') && strcmp(path, ".") != 0 && strcmp(path, "..") != 0;
}

/* Counts the records in a payload that passed proto_check(), or -EBADMSG. */
static int count_records(const struct stats_call *c, const uint8_t *payload, size_t len, size_t *ret)
{
    struct proto_reader r;
    struct proto_stat st;
    size_t n = 0;
    proto_reader_init(&r, payload, len);
    while (r.left) {
        proto_get_stat(&r, &st);
        if (r.is_bad || !is_good_name(c->type, st.path))
            return -EBADMSG;
        n++;
    }
    *ret = n;
    return 0;
}

static void stats_fail(struct link_stream *s, const struct err *err)
{
    struct stats_call c = *(struct stats_call *)s;
    free(s);
    buf_done(&c.bytes);
    c.fn(c.arg, NULL, 0, err);
}

static void stats_done(struct stats_call *c, const uint8_t *bytes, size_t len)
{
    struct err err = ERR_INIT;
    CLEANUP(free_p) struct guest_stat *st = try_alloc((c->count + 1) * sizeof(*st));
    link_close(&c->s);
    if (!st) {
        (void)err_set(&err, ERR_CAPACITY, ENOMEM, "list %zu files", c->count);
        stats_fail(&c->s, &err);
        return;
    }
    struct proto_reader r;
    struct proto_stat record;
    proto_reader_init(&r, bytes, len);
    for (size_t i = 0; i < c->count; i++) {
        proto_get_stat(&r, &record);
        link_stat_from(&record, &st[i]);
    }
    struct stats_call over = *c;
    free(c);
    over.fn(over.arg, st, over.count, NULL);
    buf_done(&over.bytes);
}

static int stats_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct stats_call *c = (struct stats_call *)s;
    struct err err = ERR_INIT;
    if (link_failed(s, h, payload))
        return 0;
    size_t n;
    if (h->type != PROTO_FS_STATS || count_records(c, payload, h->length, &n) < 0 || n > c->max - c->count)
        return -EBADMSG;
    bool is_last = !(h->flags & PROTO_MORE);
    c->count += n;
    if (is_last && c->type == PROTO_FS_STAT && c->count != c->max)
        return -EBADMSG;
    if (is_last && !c->bytes.len) {
        stats_done(c, payload, h->length); /* the usual case: one frame, no copy */
        return 0;
    }
    int r = buf_add(&c->bytes, payload, h->length);
    if (r < 0) {
        link_drop(s);
        (void)err_set(&err, ERR_TOO_LARGE, 0, "the list of files takes more than %u bytes: list a smaller folder",
                      STATS_BYTES_MAX);
        stats_fail(s, &err);
        return 0;
    }
    if (is_last)
        stats_done(c, (const uint8_t *)c->bytes.data, c->bytes.len);
    return 0;
}

static const struct link_kind stats_kind = { .name = "stat", .on_frame = stats_frame, .on_fail = stats_fail };

static int stats_start(struct guest_link *g, uint16_t type, const struct proto_writer *w, size_t max,
                       guest_stats_fn *fn, void *arg)
{
    struct stats_call *c = xzalloc(sizeof(*c));
    *c = (struct stats_call){ .s.kind = &stats_kind, .fn = fn, .arg = arg, .type = type, .max = max };
    buf_init(&c->bytes, STATS_BYTES_MAX);
    int r = link_request(g, &c->s, type, w, NULL, 0);
    if (r < 0)
        free(c);
    return r;
}

int guest_fs_stat(struct guest_link *g, const char *const *paths, size_t n, guest_stats_fn *fn, void *arg)
{
    size_t size = 4;
    for (size_t i = 0; i < n; i++) {
        if (!link_is_path(paths[i]))
            return -EINVAL;
        size += 5 + strlen(paths[i]);
    }
    if (n == 0 || n > PROTO_STAT_MAX)
        return -EINVAL;
    CLEANUP(free_p) uint8_t *mem = try_alloc(size);
    if (!mem)
        return -ENOMEM;
    struct proto_writer w;
    proto_writer_init(&w, mem, size);
    proto_put_u32(&w, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        proto_put_str(&w, paths[i]);
    return stats_start(g, PROTO_FS_STAT, &w, n, fn, arg);
}

int guest_fs_list(struct guest_link *g, const char *dir, guest_stats_fn *fn, void *arg)
{
    if (!link_is_path(dir))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, dir);
    return stats_start(g, PROTO_FS_LIST, &f.w, PROTO_LIST_MAX, fn, arg);
}

int guest_fs_search(struct guest_link *g, const char *dir, const char *glob, guest_stats_fn *fn, void *arg)
{
    if (!link_is_path(dir))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, dir);
    proto_put_str(&f.w, glob);
    return stats_start(g, PROTO_FS_SEARCH, &f.w, PROTO_SEARCH_MAX, fn, arg);
}

int guest_fs_move(struct guest_link *g, const char *from, const char *to, guest_done_fn *fn, void *arg)
{
    if (!link_is_path(from) || !link_is_path(to))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, from);
    proto_put_str(&f.w, to);
    return link_simple(g, PROTO_FS_MOVE, &f.w, (struct link_then){ fn, arg });
}

int guest_fs_mkdir(struct guest_link *g, const char *path, bool has_parents, uint32_t mode, guest_done_fn *fn,
                   void *arg)
{
    if (!link_is_path(path))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u8(&f.w, has_parents);
    proto_put_u32(&f.w, mode);
    return link_simple(g, PROTO_FS_MKDIR, &f.w, (struct link_then){ fn, arg });
}

int guest_fs_remove(struct guest_link *g, const char *path, bool is_recursive, bool is_forced, guest_done_fn *fn,
                    void *arg)
{
    if (!link_is_path(path))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u8(&f.w, is_recursive);
    proto_put_u8(&f.w, is_forced);
    return link_simple(g, PROTO_FS_REMOVE, &f.w, (struct link_then){ fn, arg });
}

int guest_fs_chmod(struct guest_link *g, const char *path, const char *mode, const char *owner, bool is_recursive,
                   guest_done_fn *fn, void *arg)
{
    if (!link_is_path(path))
        return -EINVAL;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_str(&f.w, mode);
    proto_put_str(&f.w, owner);
    proto_put_u8(&f.w, is_recursive);
    return link_simple(g, PROTO_FS_CHMOD, &f.w, (struct link_then){ fn, arg });
}

int guest_fs_put(struct guest_link *g, const char *path, const char *data, size_t len, uint32_t mode, guest_done_fn *fn,
                 void *arg)
{
    if (!link_is_path(path))
        return -EINVAL;
    if (len > PROTO_PUT_MAX)
        return -E2BIG;
    struct link_fields f;
    link_fields_init(&f);
    proto_put_str(&f.w, path);
    proto_put_u32(&f.w, mode);
    return link_simple_data(g, PROTO_FS_PUT, &f.w, data, len, (struct link_then){ fn, arg });
}
