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
/* The same for long work: ends soon after *stop becomes true; progress goes into state. Either may be NULL. */
int image_remote_work(struct image_remote *r, json_t *request, const atomic_bool *stop, struct image_pull_state *state,
                      json_t **ret_answer, struct err *err);
/* For the tool: the privileged half of image_stack_layer(): folder, in parent, becomes the layer hex, pinned for owner
 * together with the layers of base. */
int image_stack_at(struct image_store *s, const struct image *base, int parent, const char *folder, const char *hex,
                   const char *owner, struct err *err);
/* A folder below the data folder as the tool wants it named, borrowed; NULL when it is elsewhere. */
const char *image_remote_folder(const struct image_remote *r, const char *folder);
