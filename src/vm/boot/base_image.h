/* The read-only root of an image: its layers merged into one erofs file, made once and shared by every guest of that
 * image. Runs in a privileged tool (or as an unprivileged user in a user namespace) and blocks for seconds. May
 * include: base/, os/. */
#pragma once
#include <stddef.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/limits.h"

#define VM_BASE_IMAGE_LAYERS_MAX LIMIT_MAX(LAYERS)

/* The key of the contents, derived from the names of the layers (last parts of their paths, lowest first). The image
 * store derives these from the contents or never reuses them. 0 or -EINVAL. */
int vm_base_image_key(const char *const *layers, size_t n, char ret[DIGEST_HEX]);
/* Merges the layers (absolute, lowest first, each below image_dir) into the empty file out. Owners, modes, times and
 * attributes stay; overlayfs's own attributes are left out. Equal layers give equal bytes. */
int vm_base_image_build(const char *image_dir, const char *const *layers, size_t n, int out, struct err *err);
