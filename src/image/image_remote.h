/* The server's side of the image tool (image_tool.c): work on the store that needs privilege, or parses what came from
 * outside, is asked of that process. Every call blocks until the answer; any thread may call. May include: base/, os/,
 * image/. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "base/json.h"
#include "image/image.h"
#include "os/keeper.h"

#define IMAGE_REMOTE_MESSAGE (512u * 1024u) /* longest request or answer */

struct image_remote;

/* data_dir: what folders of boxes are named below. Starts the tool. */
int image_remote_new(const char *data_dir, struct keeper *k, unsigned job, struct image_remote **ret, struct err *err);
struct image_remote *image_remote_free(struct image_remote *r);

/* request: {op, …}, taken over. ret_answer (may be NULL): what the operation gives, the caller's. */
int image_remote_call(struct image_remote *r, json_t *request, json_t **ret_answer, struct err *err);
/* Any of it may be NULL. */
struct image_remote_how {
    const atomic_bool *stop;        /* long work ends soon after this becomes true */
    struct image_pull_state *state; /* its progress goes here */
    struct image_helper *helper;    /* asked first; one that is gone is no failure */
    struct image_helper **keep;     /* after a success: who did it, for further calls about the same layers */
    bool is_foreign;                /* foreign bytes are read: by a child that has done nothing before */
};
int image_remote_work(struct image_remote *r, json_t *request, const struct image_remote_how *how, json_t **ret_answer,
                      struct err *err);
/* For the tool: the privileged half of image_stack_layer(): folder, in parent, becomes the layer hex, pinned for owner
 * together with the layers of base. */
int image_stack_at(struct image_store *s, const struct image *base, int parent, const char *folder, const char *hex,
                   const char *owner, struct err *err);
/* A folder below the data folder as the tool wants it named, borrowed; NULL when it is elsewhere. */
const char *image_remote_folder(const struct image_remote *r, const char *folder);
