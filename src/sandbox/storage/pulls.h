/* Images that are not in the store yet: one pull for each name, however many wait for it. A waiter that leaves cancels
 * nothing for the others. For a backend with images of its own also the copies that it gets of ours. May include:
 * base/, loop/, image/, runtime/, sandbox/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "image/image.h"
#include "sandbox/lifecycle/manager.h"

struct pulls;
struct pulls_wait;

struct pulls_progress {
    int64_t done_bytes, total_bytes; /* packed, of the layers that were missing */
    int layers_done, layers;         /* 0 until the registry has answered */
};

int pulls_check(const struct settings *s, struct err *err); /* -EINVAL: a setting of images is not usable */
struct pulls *pulls_new(struct manager *m);
struct pulls *pulls_free(struct pulls *p); /* after pulls_stop() and the end of what ran */
/* Cancels what runs or waits, which takes about a second: all are told that the server stops. */
void pulls_stop(struct pulls *p);

/* image is borrowed; NULL with err. */
typedef void pulls_done_fn(void *arg, const struct image *image, const struct err *err);
typedef void pulls_progress_fn(void *arg, const struct pulls_progress *at);
struct pulls_how {
    struct runtime *runtime;     /* NULL: the default. One with its own image store does the pull */
    pulls_progress_fn *progress; /* or NULL */
    const struct tenant_by *by;  /* whose the image will be; borrowed; NULL: the operator's */
    /* Not from a registry, but from our store into the backend's, under the name kept: allowed with III_PULL=never. */
    const struct image *stored;
    const char *kept;
};
/* Pulls name, or joins the pull of it that is under way for the same owner. What a backend with its own store must not
 * pull (image_source_is_ours()) comes into ours: done then gets an image of our store. ERR_FORBIDDEN when the policy
 * denies the registry. done comes later, never from within this call; how may be NULL. ERR_FORBIDDEN when III_PULL is
 * never, ERR_CAPACITY when too many wait. */
int pulls_start(struct pulls *p, const char *name, const struct pulls_how *how, pulls_done_fn *done, void *arg,
                struct pulls_wait **ret, struct err *err);
void pulls_leave(struct pulls_wait *w); /* before done was called: it will not be */
bool pulls_is_allowed(const struct pulls *p);
