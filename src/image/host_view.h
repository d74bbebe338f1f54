/* The host's own /usr as an image: a generated layer with everything but /usr, which the runtime binds read-only on
 * top. Nothing of the host's /etc that is not world-readable gets in, and of the rest only the files listed in
 * host_view.c. May include: base/, image/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "image/layout.h"
#include "image/manifest.h"
#include "image/preset.h"
#include "image/record.h"

/* Whether this host has the program of a preset. */
bool host_view_fits(const struct preset *p);
/* The layer, rebuilt only when the host has changed since (otherwise a few stat calls). */
int host_view_layer(struct image_store *s, struct layout_layer *ret, struct err *err);
/* Finds out the versions of the presets' programs by running them, for host_view_version(). Blocks, and starts
 * programs: the image tool does it in a child of its own before it gives up that right. */
void host_view_probe(struct image_store *s);
/* "Python 3.11.2"; NULL: not known (yet). Caller frees. Quick. */
char *host_view_version(struct image_store *s, const struct preset *p);
/* Changes with what is installed on this host: for copies of the view, /usr included. */
void host_view_key(char ret[DIGEST_HEX]);
void host_view_config(struct manifest_config *ret); /* end with manifest_config_done() */
