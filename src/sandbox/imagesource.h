/* Where images come from: our own store, or a backend that keeps its own (an engine). A struct image of the second kind
 * has one layer, "BACKEND:…", where one of ours has folders; so records, snapshots and plans are the same for both.
 * May include: base/, image/, runtime/, sandbox/. */
#pragma once
#include "sandbox/manager.h"

/* image is borrowed; NULL with err. */
typedef void imagesource_fn(void *arg, const struct image *image, const struct err *err);
/* Asks a backend with images of its own. ERR_NOT_FOUND: it has to be pulled first. */
void imagesource_resolve(struct manager *m, struct runtime *rt, const char *name, imagesource_fn *fn, void *arg);
struct image *imagesource_image(const char *name, const struct box_image *from); /* caller frees */
/* It is in our own store; else a backend keeps it. */
bool imagesource_is_stored(const struct image *image);
/* A backend that runs this image; NULL: one that the server does not have (any more). */
struct runtime *imagesource_runtime(const struct manager *m, const struct image *image);
/* ERR_CONFLICT when rt cannot run the image. */
int imagesource_check(const struct manager *m, const struct runtime *rt, const struct image *image, struct err *err);
