/* Stat records: fills one, and sends many in as many frames as needed. */
#pragma once
#include <sys/stat.h>

#include "agent/reply.h"
#include "agent/user_names.h"

struct agent_stat_rows {
    struct agent_reply *reply;
    struct agent_user_names names;
    struct proto_writer frame;
    uint8_t *mem;
};

int agent_stat_rows_init(struct agent_stat_rows *s, struct agent_reply *r); /* -ENOMEM */
/* name below dirfd is only read for a symlink's target; path is what the record shows. */
void agent_stat_rows_add(struct agent_stat_rows *s, int dirfd, const char *name, const char *path,
                         const struct stat *st);
void agent_stat_rows_send(struct agent_stat_rows *s); /* the last frame */
void agent_stat_rows_done(struct agent_stat_rows *s);

/* What stands before the record in FS_CONTENT and FS_STORED: the version, and a yes or no. */
struct agent_stat_head {
    uint64_t version;
    uint8_t flag;
};
/* One frame of this type with one record. head may be NULL. */
void agent_stat_rows_one(struct agent_reply *r, uint16_t type, const struct agent_stat_head *head, const char *path,
                         const struct stat *st);
