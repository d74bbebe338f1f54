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
/* Plan for the driver from a sandbox that has config, layers and is_host set. Borrows from s. */
struct box_plan lifecycle_box_plan(const struct sandbox *s);
int lifecycle_check_room(const struct manager *m, unsigned count, struct err *err); /* ERR_CAPACITY */
void lifecycle_start_entrypoint(struct sandbox *s);                                 /* when the configuration has one */
/* Fills image-dependent fields of s. */
void lifecycle_use_image(struct sandbox *s, const struct image *image);
