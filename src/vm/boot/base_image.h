/* The read-only root of an image: its layers merged into one erofs file, made once and shared by every guest of that
 * image. Runs in a privileged tool (or as an unprivileged user in a user namespace) and blocks for seconds. May
 * include: base/, os/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/limits.h"

#define VM_BASE_IMAGE_LAYERS_MAX LIMIT_MAX(LAYERS)
#define VM_BASE_IMAGE_HOST       "host" /* how the key of a drive with the host's /usr begins */

/* The key of the contents, derived from the names of the layers (last parts of their paths, lowest first). The image
 * store derives these from the contents or never reuses them. usr: NULL, or what host_usr_key() says when the
 * host's /usr is on the drive. 0 or -EINVAL. */
int vm_base_image_key(const char *const *layers, size_t n, const char *usr, char ret[DIGEST_HEX]);
bool vm_base_image_is_host(const char *key); /* the host's /usr is on the drive of that key */
/* Whether it is a /usr that the host does not have any more. usr: as host_usr_key() says. */
bool vm_base_image_is_stale(const char *key, const char *usr);
bool vm_base_image_is_key(const char *text);
/* Merges the layers (absolute, lowest first, each below image_dir) into the empty file out. Owners, modes, times and
 * attributes stay; overlayfs's own attributes are left out. Equal layers give equal bytes. usr: NULL, or the folder
 * (HOST_USR) to copy to /usr, which the layers must have; host_usr_scan() says what is left out of it.
 * With usr an unprivileged maker gives all files to root and leaves out attributes. */
int vm_base_image_build(const char *image_dir, const char *const *layers, size_t n, const char *usr, int out,
                        struct err *err);
