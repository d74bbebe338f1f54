#include "guest/agent/ag_stats.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static void begin(struct ag_stats *s)
{
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
}

int ag_stats_init(struct ag_stats *s, struct ag_reply *r)
{
    *s = (struct ag_stats){ .reply = r, .mem = malloc(PROTO_FRAME_MAX) };
    if (!s->mem)
        return -ENOMEM;
    begin(s);
    return 0;
}

void ag_stats_done(struct ag_stats *s)
{
    ag_names_done(&s->names);
    free(s->mem);
}

static void send_frame(struct ag_stats *s, uint16_t flags)
{
    int len = proto_frame_end(&s->frame, s->reply->stream, PROTO_FS_STATS, flags);

    assert(len > 0);
    ag_reply_frame(s->reply, s->mem, (size_t)len);
}

void ag_stats_put(struct proto_writer *w, struct ag_names *names, const char *path, const struct stat *st,
                  const char *target)
{
    struct proto_stat record = {
        .path = path,
        .size = (uint64_t)st->st_size,
        .mode = st->st_mode,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .owner = ag_names_user(names, st->st_uid),
        .group = ag_names_group(names, st->st_gid),
        .mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
        .target = target,
    };

    proto_put_stat(w, &record);
}

void ag_stats_add(struct ag_stats *s, int dirfd, const char *name, const char *path, const struct stat *st)
{
    char target[PATH_MAX] = "";

    if (S_ISLNK(st->st_mode)) {
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
    }
    ag_stats_put(&s->frame, &s->names, path, st, target);
    if (!s->frame.is_full)
        return;
    s->frame.is_full = false;
    send_frame(s, PROTO_MORE);
    begin(s);
    ag_stats_put(&s->frame, &s->names, path, st, target);
    assert(!s->frame.is_full); /* two paths and two names are far below one payload */
}

void ag_stats_send(struct ag_stats *s)
{
    send_frame(s, 0);
}
