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
/* "Python 3.11.2" as the layer's maker found it, for a preset; NULL: not known. Caller frees. */
char *host_view_version(struct image_store *s, const struct preset *p);
void host_view_config(struct manifest_config *ret); /* end with manifest_config_done() */
