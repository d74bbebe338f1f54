/* What the files behind `iii image` share. Private to image/. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "image/image.h"

const char *image_cli_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */
/* Pulls with the options from the III_ variables, and shows progress: a redrawn line on a terminal, plain lines or JSON
 * objects otherwise. */
int image_cli_pull(struct image_store *s, const char *name, bool is_plain, bool is_json, struct err *err);
