/* What every driver owes those who use a box: one answer to a create or an adoption, word of its death, and word that
 * its clock stood still, or that it takes too much. May include: base/, loop/. */
#pragma once
#include "runtime/runtime.h"

/* The first member of a driver's struct box. */
struct box_life {
    loop_fn *gone_fn, *late_fn;
    void *gone_arg, *late_arg;
    box_overuse_fn *overuse_fn;
    void *overuse_arg;
};

/* on_gone, on_late and on_overuse of a driver. */
void box_life_on_gone(struct box *box, loop_fn *fn, void *arg);
void box_life_on_late(struct box *box, loop_fn *fn, void *arg);
void box_life_on_overuse(struct box *box, box_overuse_fn *fn, void *arg);
void box_life_gone(struct box *box); /* it died: tells once */
void box_life_late(const struct box *box);
void box_life_overuse(const struct box *box, const char *why); /* the box may be gone afterwards */

/* Who waits for a box that is being created or adopted. A driver copies it before it frees its own record of the
 * making, since the callback may call the driver again. */
struct box_life_caller {
    box_ready_fn *fn;
    void *arg;
    int guest_fd; /* of the agent, once it has answered */
};
#define BOX_LIFE_CALLER(fn, arg) ((struct box_life_caller){ fn, arg, NO_FD })

/* Closes guest_fd. err NULL: the server ends, and nobody is called. */
void box_life_fail(const struct box_life_caller *to, const struct err *err);
/* The same from the loop: for a request that is refused before anything was made. */
void box_life_refuse(struct loop *l, box_ready_fn *fn, void *arg, const struct err *err);
