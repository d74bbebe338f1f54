/* The namespaces of a box, for visits (runtime/visit.h) of the launcher. May include: base/, os/, runtime/. */
#pragma once
#include "base/err.h"
#include "runtime/native/box.h"

/* In the child: joins the box's namespaces (CLONE_NEW*). Without root, its user namespace first, which gives the
 * rights. */
int native_box_visit_join(const struct native_box *c, int namespaces, struct err *err);
/* A namespace ("user", "net") of a living box: descriptor, or -errno. */
int native_box_visit_open(const struct native_box *c, const char *kind, struct err *err);
