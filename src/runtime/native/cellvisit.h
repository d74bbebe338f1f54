/* The namespaces of a box, for visits (runtime/visit.h) of the launcher. May include: base/, os/, runtime/. */
#pragma once
#include "base/err.h"
#include "runtime/native/cell.h"

/* In the child: joins the box's namespaces (CLONE_NEW*). Without root its user namespace first, which gives the rights.
 */
int cellvisit_join(const struct cell *c, int namespaces, struct err *err);
/* A namespace ("user", "net") of a living box: descriptor, or -errno. */
int cellvisit_open(const struct cell *c, const char *kind, struct err *err);
