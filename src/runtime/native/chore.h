/* Slow work of the launcher, in children of low priority: removing folders of dead boxes (one remover at a time),
 * copying the writable layer of a paused one, counting what one takes. Only the launcher process uses this. May
 * include: base/, os/. */
#pragma once
#include "base/buf.h"
#include "runtime/native/cell.h"

struct chore; /* one child at work */

struct chore_list {
    struct chore *running;
    bool is_removing;
    bool is_ending;    /* somebody waits for the removers: they run at full priority */
    struct buf doomed; /* names below boxes/, NUL-ended */
    int epoll;         /* readable when a child has ended */
    unsigned counter;
};

struct chore_result { /* of a copy or a count */
    bool is_count;
    char name[WIRE_NAME_MAX];
    char upper[32]; /* the folder of the box that is copied */
    bool has_disk;  /* it is on the box's disk */
    uint64_t number;
    int result;
    int64_t bytes;
    char folder[64];
    struct err err;
};
typedef void chore_copied_fn(void *arg, const struct chore_result *res);

void chore_init(struct chore_list *l);
int chore_fd(const struct chore_list *l);
void chore_remove(struct chore_list *l, const char *name); /* queues; chore_step() starts the remover */
int chore_copy(struct chore_list *l, struct cell_site *site, const struct cell *c, uint64_t number, struct err *err);
int chore_count(struct chore_list *l, struct cell_site *site, const struct cell *c, uint64_t number, struct err *err);
/* Collects ended children and starts waiting work. Never blocks. */
void chore_step(struct chore_list *l, struct cell_site *site, chore_copied_fn *fn, void *arg);
/* Waits for all, removes what is left. At the launcher's end only. */
void chore_finish(struct chore_list *l, struct cell_site *site);
