/* Create and kill of sandboxes: lifecycle.c and recover.c implement what manager.h declares. Private to sandbox/.
 * May include: base/, loop/, runtime/, guest/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

/* A box has arrived: takes fd and box into s, links the agent. On failure the box is destroyed. */
int lifecycle_connect(struct sandbox *s, struct box *box, int guest_fd, struct err *err);
void lifecycle_tell_still(struct sandbox *s); /* its link: whether it stands still, paused or being captured */
void lifecycle_forget(struct sandbox *s);     /* drop the handle, leave the box alone */
void manager_entered(struct manager *m, struct sandbox *s);
void manager_leaving(struct manager *m, struct sandbox *s);
void manager_slept(struct manager *m, struct sandbox *s);
void manager_settled(struct sandbox *s); /* a change of its status is over: who waits for it to run continues */
void lifecycle_mark_stopped(struct sandbox *s, const char *reason); /* in memory; its box is gone, s->kept is set */
void lifecycle_pause_expired(struct sandbox *s, manager_sandbox_fn *fn, void *arg);
void lifecycle_drop_saved(struct sandbox *s);           /* the image of a hibernated one is not needed any more */
void lifecycle_pin_saved(struct sandbox *s);            /* after a start of the server */
int64_t lifecycle_next_expiry(const struct sandbox *s); /* when it runs again: a stopped one gets its full time */
void lifecycle_die(struct sandbox *s);                  /* its link or its box ended without a kill */
void lifecycle_stop_dead(struct sandbox *s);
void lifecycle_hurry(struct sandbox *s); /* one that is being stopped gets no more time */
/* Between these two, no other change of its status or its limits begins, and a server that stops waits. */
void lifecycle_change_begin(struct sandbox *s);
void lifecycle_change_end(struct sandbox *s);
int lifecycle_check_unchanging(const struct sandbox *s, struct err *err); /* ERR_CONFLICT: a change is under way */
void lifecycle_resize_again(struct sandbox *s); /* after adoption: a change of its limits that a crash interrupted */
/* Plan for the driver from a sandbox that has config, layers and is_host set. Borrows from s. */
struct box_plan lifecycle_box_plan(const struct sandbox *s);
int lifecycle_check_room(const struct manager *m, unsigned count, struct err *err); /* ERR_CAPACITY */
void lifecycle_start_entrypoint(struct sandbox *s);                                 /* when the configuration has one */
/* Fills image-dependent fields of s. */
void lifecycle_use_image(struct sandbox *s, const struct image *image);
