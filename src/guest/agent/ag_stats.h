/* Stat records: filling one, and sending many in as many frames as they take. */
#pragma once
#include <sys/stat.h>

#include "guest/agent/ag_names.h"
#include "guest/agent/ag_reply.h"

struct ag_stats {
    struct ag_reply *reply;
    struct ag_names names;
    struct proto_writer frame;
    uint8_t *mem;
};

int ag_stats_init(struct ag_stats *s, struct ag_reply *r); /* -ENOMEM */
/* name below dirfd is only asked for a symlink's target; path is what the record says. */
void ag_stats_add(struct ag_stats *s, int dirfd, const char *name, const char *path, const struct stat *st);
void ag_stats_send(struct ag_stats *s); /* the last frame */
void ag_stats_done(struct ag_stats *s);

/* One record into w, target "" . */
void ag_stats_put(struct proto_writer *w, struct ag_names *names, const char *path, const struct stat *st,
                  const char *target);
