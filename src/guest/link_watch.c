/* Changes of files, as the agent reports them: a frame's records are handed over together and credited by the user. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "guest/link_core.h"

struct guest_watch {
    struct link_stream s;
    struct guest_watch_events ev;
    void *arg;
    struct link_flow flow;
    bool is_ready;
};

static void watch_fail(struct link_stream *s, const struct err *err)
{
    struct guest_watch w = *(struct guest_watch *)s;
    free(s);
    w.ev.on_done(w.arg, err);
}

/* The table checked the layout: every kind is known, there is at least one record. */
static int watch_frame(struct link_stream *s, const struct proto_header *h, const uint8_t *payload)
{
    struct guest_watch *w = (struct guest_watch *)s;
    struct proto_reader r;
    struct proto_change change;
    size_t n = 0;
    if (link_failed(s, h, payload))
        return 0;
    if (h->type != PROTO_FS_CHANGES || link_flow_take(&w->flow, h->length) < 0)
        return -EBADMSG;
    for (proto_reader_init(&r, payload, h->length); r.left; n++) {
        proto_get_change(&r, &change);
        if ((change.kind == PROTO_CHANGE_READY) != (!w->is_ready && n == 0) || change.path[0] != '/')
            return -EBADMSG; /* READY is the first one, once */
    }
    if (!w->is_ready)
        link_time_limit(s, 0); /* from now on it is silent as long as nothing changes */
    w->is_ready = true;
    struct guest_file_change *all = xzalloc(n * sizeof(*all)); /* n is bounded by the length of a frame */
    proto_reader_init(&r, payload, h->length);
    for (size_t i = 0; i < n; i++) {
        proto_get_change(&r, &change);
        all[i] = (struct guest_file_change){
            .kind = change.kind, .is_folder = change.is_folder, .path = change.path, .text = change.text
        };
    }
    w->ev.on_changes(w->arg, all, n, h->length);
    free(all);
    return 0;
}

static const struct link_kind watch_kind = { .name = "watch", .on_frame = watch_frame, .on_fail = watch_fail };

int guest_watch_start(struct guest_link *g, const struct guest_watch_plan *plan, const struct guest_watch_events *ev,
                      void *arg, struct guest_watch **ret)
{
    uint32_t n = 0;
    while (plan->exclude && plan->exclude[n])
        n++;
    if (!link_is_path(plan->path) || n > LIMIT_MAX(WATCH_EXCLUDES))
        return -EINVAL;
    if (!link_can(g, PROTO_CAP_WATCH))
        return -ENOSYS;
    size_t size = 2 * (PROTO_PATH_MAX + 5) + 1 + link_strs_size(plan->exclude);
    CLEANUP(free_p) uint8_t *mem = xzalloc(size);
    struct proto_writer f;
    proto_writer_init(&f, mem, size);
    proto_put_str(&f, plan->path);
    proto_put_str(&f, plan->user);
    proto_put_u8(&f, plan->is_recursive);
    proto_put_u32(&f, n ? n : PROTO_NO_STRS);
    for (uint32_t i = 0; i < n; i++)
        proto_put_str(&f, plan->exclude[i]);
    struct guest_watch *w = xzalloc(sizeof(*w));
    *w = (struct guest_watch){ .s.kind = &watch_kind, .ev = *ev, .arg = arg };
    link_flow_init(&w->flow);
    int r = link_request(g, &w->s, PROTO_FS_WATCH, &f, NULL, 0);
    if (r < 0) {
        free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void guest_watch_credit(struct guest_watch *w, size_t bytes)
{
    link_flow_credit(&w->s, &w->flow, bytes);
}

void guest_watch_drop(struct guest_watch *w)
{
    link_drop(&w->s);
    free(w);
}
