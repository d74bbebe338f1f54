/* What the files behind `iii image` share. Private to image/. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "image/image.h"

const char *image_cli_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */
/* Pulls with what the III_ variables say, and shows how far it is: a line that is drawn anew on a terminal, plain lines
 * or JSON objects otherwise. */
int image_cli_pull(struct image_store *s, const char *name, bool is_plain, bool is_json, struct err *err);
