/* Capturing the files of a sandbox as one more layer over its image: what snapshots, clones and forks start from. The
 * driver does it without a copy if it can; then the sandbox itself continues on top of that layer. Private to sandbox/.
 * May include: base/, image/, runtime/, sandbox/. */
#pragma once
#include "sandbox/lifecycle/manager.h"

/* image: borrowed, all layers from the lowest on, pinned for owner; NULL with err. */
typedef void capture_fn(void *arg, const struct image *image, const struct err *err);
/* Captures of one sandbox wait for each other. fn may be called before this returns (an early refusal). The pin of
 * owner is the caller's to drop (pins_drop) once capture_fn was called without an error. */
void capture_run(struct sandbox *s, const char *owner, capture_fn *fn, void *arg);
/* After adoption: takes a layer that a killed server had captured but not noted. */
int capture_recover(struct sandbox *s, struct err *err);

/* What the sandbox's original image had: {layers, bytes, resolvedImage, imageDigest, imageVersion}. Kept in s->extra
 * under CAPTURE_BASE, handed on to children. */
#define CAPTURE_BASE "base"
json_t *capture_base(struct sandbox *s);   /* borrowed */
void capture_show_base(struct sandbox *s); /* a child shows its original image, not the captured one */
/* Configuration of a new sandbox with the captured files: the source's, without what belongs to its run. Caller owns.
 */
struct sandbox_config capture_config(const struct sandbox_config *config, const json_t *metadata, const char *image_id,
                                     const char *name);
