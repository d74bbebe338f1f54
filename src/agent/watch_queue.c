#include "agent/watch_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS   4096u
#define BYTES_MAX (4u * 1024 * 1024) /* of all that wait */

struct agent_watch_change {
    struct agent_watch_change *next, *twin; /* in the queue; in its bucket */
    uint8_t kind;                           /* 0: it has become void */
    bool is_folder, is_sealed;              /* sealed: not in the table, later changes of the path stand apart */
    size_t bytes;
    const char *text; /* in path, behind its NUL */
    char path[];
};

int agent_watch_queue_init(struct agent_watch_queue *q, const char *root)
{
    *q = (struct agent_watch_queue){ .root = root, .by_path = calloc(BUCKETS, sizeof(struct agent_watch_change *)) };
    q->last = &q->first;
    return q->by_path ? 0 : -ENOMEM;
}

static struct agent_watch_change **bucket_of(struct agent_watch_queue *q, const char *path)
{
    uint32_t hash = 2166136261u;

    for (; *path; path++)
        hash = (hash ^ (uint8_t)*path) * 16777619u;
    return &q->by_path[hash % BUCKETS];
}

/* The pointer to the unsealed change of this path, or to NULL. */
static struct agent_watch_change **find(struct agent_watch_queue *q, const char *path)
{
    struct agent_watch_change **at = bucket_of(q, path);

    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->twin;
    return at;
}

static void seal(struct agent_watch_queue *q, const char *path)
{
    struct agent_watch_change **at = find(q, path);

    if (*at) {
        (*at)->is_sealed = true;
        *at = (*at)->twin;
    }
}

static void unqueue_first(struct agent_watch_queue *q)
{
    struct agent_watch_change *c = q->first;

    if (!c->is_sealed)
        seal(q, c->path);
    q->first = c->next;
    if (!q->first)
        q->last = &q->first;
    q->n--;
    q->bytes -= c->bytes;
    free(c);
}

/* What is said about the watch itself is rare, and stays. */
void agent_watch_queue_lose(struct agent_watch_queue *q)
{
    struct agent_watch_change *kept = NULL, **end = &kept;

    while (q->first) {
        struct agent_watch_change *c = q->first;
        if (c->kind <= PROTO_CHANGE_OVERFLOW) {
            unqueue_first(q);
            continue;
        }
        q->first = c->next;
        *end = c;
        end = &c->next;
    }
    *end = NULL;
    q->first = kept;
    q->last = kept ? end : &q->first;
    q->has_lost = true;
}

/* What a later change makes of one that still waits. 0: nothing is left to tell; UINT8_MAX: both are told. */
static uint8_t merged(const struct agent_watch_change *old, uint8_t kind, bool is_folder)
{
    if (old->is_folder != is_folder)
        return UINT8_MAX;
    switch (old->kind) {
    case PROTO_CHANGE_CREATED:
        return kind == PROTO_CHANGE_DELETED ? 0 : PROTO_CHANGE_CREATED;
    case PROTO_CHANGE_DELETED: /* a folder that is replaced has other contents: they are told one by one */
        return kind != PROTO_CHANGE_CREATED || is_folder ? UINT8_MAX : PROTO_CHANGE_MODIFIED;
    default:
        if (kind == PROTO_CHANGE_DELETED)
            return kind;
        return kind == PROTO_CHANGE_ATTRIBUTES ? old->kind : PROTO_CHANGE_MODIFIED;
    }
}

/* Whether the change was merged into one that waits. */
static bool merge(struct agent_watch_queue *q, uint8_t kind, bool is_folder, const char *path)
{
    struct agent_watch_change *old = *find(q, path);
    uint8_t result = old ? merged(old, kind, is_folder) : UINT8_MAX;

    if (old && (result == UINT8_MAX || result == 0))
        seal(q, path);
    if (result == UINT8_MAX)
        return false;
    old->kind = result;
    return true;
}

static void append(struct agent_watch_queue *q, uint8_t kind, bool is_folder, const char *path, const char *text)
{
    size_t len = strlen(path), text_len = strlen(text);
    size_t bytes = sizeof(struct agent_watch_change) + len + text_len + 2;
    struct agent_watch_change *c;

    if (q->n >= LIMIT_MAX(WATCH_QUEUE) || q->bytes + bytes > BYTES_MAX || !(c = calloc(1, bytes))) {
        agent_watch_queue_lose(q);
        return;
    }
    c->kind = kind;
    c->is_folder = is_folder;
    c->bytes = bytes;
    memcpy(c->path, path, len + 1);
    memcpy(c->path + len + 1, text, text_len + 1);
    c->text = c->path + len + 1;
    c->is_sealed = kind == PROTO_CHANGE_MOVED || kind > PROTO_CHANGE_ATTRIBUTES;
    if (!c->is_sealed) {
        struct agent_watch_change **bucket = bucket_of(q, path);
        c->twin = *bucket;
        *bucket = c;
    }
    *q->last = c;
    q->last = &c->next;
    q->n++;
    q->bytes += bytes;
}

void agent_watch_queue_add(struct agent_watch_queue *q, uint8_t kind, bool is_folder, const char *path,
                           const char *text)
{
    if (kind == PROTO_CHANGE_MOVED) {
        seal(q, text);
        seal(q, path);
    } else if (kind < PROTO_CHANGE_OVERFLOW && merge(q, kind, is_folder, path)) {
        return;
    }
    append(q, kind, is_folder, path, text);
}

bool agent_watch_queue_is_empty(const struct agent_watch_queue *q)
{
    return !q->first && !q->has_lost;
}

size_t agent_watch_queue_take(struct agent_watch_queue *q, struct proto_writer *w, size_t max)
{
    size_t n = 0;

    if (q->has_lost && max > 0) {
        proto_put_change(w,
                         &(struct proto_change){ .kind = PROTO_CHANGE_OVERFLOW, .is_folder = true, .path = q->root });
        q->has_lost = w->is_full; /* there is room for it in any frame */
        n += !w->is_full;
    }
    while (q->first && n < max) {
        const struct agent_watch_change *c = q->first;
        if (c->kind != 0) {
            proto_put_change(w, &(struct proto_change){
                                    .kind = c->kind, .is_folder = c->is_folder, .path = c->path, .text = c->text });
            if (w->is_full) {
                w->is_full = false; /* it is whole in the next frame */
                break;
            }
            n++;
        }
        unqueue_first(q);
    }
    return n;
}
