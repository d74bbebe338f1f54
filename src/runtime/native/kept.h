/* The files of a box that has ended and is to be started once more: its folder boxes/NAME with the links "id" and
 * "kept", and without "pid", since none of its processes is left. On disk files have the owners that the box sees, so
 * that any range of ids can have them next. Only the launcher process uses this. May include: base/, os/. */
#pragma once
#include "runtime/native/box.h"
#include "runtime/native/task.h"

#define KEPT_UPPER 32 /* bytes of the name of a writable folder */

/* The folder whose link "id" names this sandbox; hint is looked at first. False: there is none. */
bool kept_find(const struct native_box_site *site, const char *id, const char *hint, char ret[WIRE_NAME_MAX]);
/* No sweep for unfinished boxes removes it from here on: before its processes are ended. */
int kept_mark(const struct native_box_site *site, const char *name, struct err *err);
bool kept_is_marked(const struct native_box_site *site, const char *name);
bool kept_has_process(const struct native_box_site *site, const char *name); /* it may have one */
void kept_settle(const struct native_box_site *site, const char *name);      /* its processes are gone */
void kept_unmark(const struct native_box_site *site, const char *name);      /* it runs again */
/* Gives the prepared box c the folder `name` in the place of its own. After a failure either may be in its place: both
 * are found by their links. */
int kept_take(struct native_box_site *site, struct native_box *c, const char *name, struct native_task_list *tasks,
              struct err *err);
/* The writable folder of a kept box: the one that a promote made last. former: what it was made over and nobody has
 * taken yet, the topmost read-only layer; or "". */
int kept_uppers(int box, char top[KEPT_UPPER], char former[KEPT_UPPER], struct err *err);
