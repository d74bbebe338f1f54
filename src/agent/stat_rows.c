#include "agent/stat_rows.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static void frame_begin(struct agent_stat_rows *s)
{
    proto_frame_begin(&s->frame, s->mem, PROTO_FRAME_MAX);
}

int agent_stat_rows_init(struct agent_stat_rows *s, struct agent_reply *r)
{
    *s = (struct agent_stat_rows){ .reply = r, .mem = malloc(PROTO_FRAME_MAX) };
    if (!s->mem)
        return -ENOMEM;
    frame_begin(s);
    return 0;
}

void agent_stat_rows_done(struct agent_stat_rows *s)
{
    agent_user_names_done(&s->names);
    free(s->mem);
}

static void send_frame(struct agent_stat_rows *s, uint16_t flags)
{
    int len = proto_frame_end(&s->frame, s->reply->stream, PROTO_FS_STATS, flags);

    assert(len > 0);
    agent_reply_frame(s->reply, s->mem, (size_t)len);
}

static void put_record(struct proto_writer *w, struct agent_user_names *names, const char *path, const struct stat *st,
                       const char *target)
{
    struct proto_stat record = {
        .path = path,
        .size = (uint64_t)st->st_size,
        .mode = st->st_mode,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .owner = agent_user_names_user(names, st->st_uid),
        .group = agent_user_names_group(names, st->st_gid),
        .mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
        .target = target,
    };

    proto_put_stat(w, &record);
}

void agent_stat_rows_add(struct agent_stat_rows *s, int dirfd, const char *name, const char *path,
                         const struct stat *st)
{
    char target[PATH_MAX] = "";

    if (S_ISLNK(st->st_mode)) {
        ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
    }
    put_record(&s->frame, &s->names, path, st, target);
    if (!s->frame.is_full)
        return;
    s->frame.is_full = false;
    send_frame(s, PROTO_MORE);
    frame_begin(s);
    put_record(&s->frame, &s->names, path, st, target);
    assert(!s->frame.is_full); /* two paths and two names are far below one payload */
}

void agent_stat_rows_send(struct agent_stat_rows *s)
{
    send_frame(s, 0);
}

void agent_stat_rows_one(struct agent_reply *r, uint16_t type, const struct agent_stat_head *head, const char *path,
                         const struct stat *st)
{
    uint8_t frame[PROTO_HEADER + PROTO_PATH_MAX + 512];
    struct agent_user_names names = { 0 };
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    if (head) {
        proto_put_u64(&w, head->version);
        proto_put_u8(&w, head->flag);
    }
    put_record(&w, &names, path, st, "");
    agent_user_names_done(&names);
    int len = proto_frame_end(&w, r->stream, type, 0);
    assert(len > 0);
    agent_reply_frame(r, frame, (size_t)len);
}
