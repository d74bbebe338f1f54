/* Changes of files that wait to be told, in order, merged by path: several writes of a file are one change, a file that
 * was made and removed meanwhile is none. Bounded by number and bytes: beyond, all are dropped and only the need to
 * list again is kept. Used by the helper process of a watch alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/proto.h"

struct agent_watch_change;

struct agent_watch_queue {
    struct agent_watch_change *first, **last; /* in the order in which they are told */
    struct agent_watch_change **by_path;      /* hash table */
    size_t n, bytes;
    bool has_lost; /* some were dropped: OVERFLOW of root comes before anything else */
    const char *root;
};

int agent_watch_queue_init(struct agent_watch_queue *q, const char *root); /* 0 or -ENOMEM; root is kept */
/* text: the old path of MOVED, the reason of LIMIT; else "". MOVED and the kinds after ATTRIBUTES merge with nothing.
 */
void agent_watch_queue_add(struct agent_watch_queue *q, uint8_t kind, bool is_folder, const char *path,
                           const char *text);
/* Drops what waits; OVERFLOW is told in its place. */
void agent_watch_queue_lose(struct agent_watch_queue *q);
bool agent_watch_queue_is_empty(const struct agent_watch_queue *q);
/* Moves whole records into w, as many as fit and at most max. Their number. */
size_t agent_watch_queue_take(struct agent_watch_queue *q, struct proto_writer *w, size_t max);
