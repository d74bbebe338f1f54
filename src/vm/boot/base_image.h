/* The read-only root of an image: its layers merged into one erofs file, made once and shared by every guest of that
 * image. Runs in a privileged tool (or as an ordinary user in a user namespace) and blocks for seconds.
 * May include: base/, os/. */
#pragma once
#include <stddef.h>

#include "base/err.h"
#include "base/limits.h"
#include "vm/digest.h"

#define VM_BASE_IMAGE_LAYERS_MAX LIMIT_MAX(LAYERS)

/* Names the contents, by the names of the layers (last parts of their paths, lowest first), which the image store makes
 * from their contents or never uses again. 0 or -EINVAL. */
int vm_base_image_key(const char *const *layers, size_t n, char ret[VM_DIGEST_HEX]);
/* Merges the layers (absolute, lowest first, each below image_dir) into the empty file out. Owners, modes, times and
 * attributes stay; what overlayfs keeps for itself is not in it. Equal layers give equal bytes. */
int vm_base_image_build(const char *image_dir, const char *const *layers, size_t n, int out, struct err *err);
