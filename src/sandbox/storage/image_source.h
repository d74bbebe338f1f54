/* Where images come from: our own store, or a backend that keeps its own (an engine). A struct image of the second kind
 * has one layer, "BACKEND:…", where one of ours has folders; so records, snapshots and plans are the same for both.
 * May include: base/, image/, runtime/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

/* image is borrowed; NULL with err. */
typedef void image_source_fn(void *arg, const struct image *image, const struct err *err);
/* What a name stands for on this backend, for whom (NULL: the server itself). ERR_NOT_FOUND: it has to be pulled first.
 * fn runs before this returns, unless an engine has to be asked. An engine gets a copy of what only our store has, the
 * host's view included: made once for each content, which takes its time. */
void image_source_resolve(struct manager *m, struct runtime *rt, const struct tenant_by *by, const char *name,
                          image_source_fn *fn, void *arg);
/* Who owns the images that by adds: its tenant, or the operator ("") for callers that see everything. */
const char *image_source_owner(const struct tenant_by *by);
struct image_scope image_source_scope(const struct manager *m, const struct tenant_by *by); /* what by sees; borrows */
/* Whether an engine must not pull it, nor use its own image of that name: it needs a signature, or belongs to a tenant.
 * It is then pulled into our store, and the engine gets a copy. */
bool image_source_is_ours(const struct manager *m, const struct tenant_by *by, const char *name);
struct image *image_source_image(const char *name, const struct box_image *from); /* caller frees */
void image_source_copied(struct image *copy, const struct image *of);             /* shows what it is a copy of */
/* It is in our own store; else a backend keeps it. */
bool image_source_is_stored(const struct image *image);
/* A backend that runs this image; NULL: one that the server does not have (any more). */
struct runtime *image_source_runtime(const struct manager *m, const struct image *image);
/* ERR_CONFLICT when rt cannot run the image. */
int image_source_check(const struct manager *m, const struct runtime *rt, const struct image *image, struct err *err);
