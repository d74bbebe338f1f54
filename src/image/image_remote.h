/* The server's side of the image tool (image_tool.c): that process does the work on the store that needs privilege or
 * parses untrusted input. Every call blocks until the reply; any thread may call. May include: base/, os/, image/. */
#pragma once
#include <stdatomic.h>

#include "base/err.h"
#include "base/json.h"
#include "image/image.h"
#include "os/keeper.h"

#define IMAGE_REMOTE_MESSAGE IMAGE_BUILD_MESSAGE /* longest request or reply */

struct image_remote;

/* data_dir: box folders are named relative to it. Starts the tool. */
int image_remote_new(const char *data_dir, struct keeper *k, unsigned job, struct image_remote **ret, struct err *err);
struct image_remote *image_remote_free(struct image_remote *r);

/* request: {op, …}, taken over. ret_answer (may be NULL): the operation's result, owned by the caller. */
int image_remote_call(struct image_remote *r, json_t *request, json_t **ret_answer, struct err *err);
/* Options of a call; every member may be NULL. */
struct image_remote_how {
    const atomic_bool *stop;        /* long work stops soon after this becomes true */
    struct image_pull_state *state; /* receives its progress */
    struct image_helper *helper;    /* asked first; one that has exited is not an error */
    struct image_helper **keep;     /* on success: the helper that did it, for further calls about the same layers */
    const int *fd;                  /* sent along, borrowed: the operation writes into it */
    bool is_untrusted;              /* untrusted bytes are parsed: the child must be a fresh one */
};
int image_remote_work(struct image_remote *r, json_t *request, const struct image_remote_how *how, json_t **ret_answer,
                      struct err *err);
/* For the tool: the privileged half of image_stack_layer(). folder, in parent, becomes the layer hex, pinned for owner
 * together with the layers of base. */
int image_stack_at(struct image_store *s, const struct image *base, int parent, const char *folder, const char *hex,
                   const char *owner, struct err *err);
/* The path of a folder relative to the data folder, borrowed; NULL when it is elsewhere. */
const char *image_remote_folder(const struct image_remote *r, const char *folder);
