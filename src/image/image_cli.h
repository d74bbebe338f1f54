/* What the files behind `iii image` share. Private to image/. May include: base/, image/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "image/image.h"

const char *image_cli_size(int64_t bytes, char ret[16]); /* "12.5 MiB" */
/* Pulls with the options from the III_ variables, and shows progress: a redrawn line on a terminal, plain lines or JSON
 * objects otherwise. */
struct image_cli_pull_how {
    const char *tenant; /* owns it; "": the operator */
    bool is_plain, is_json;
};
int image_cli_pull(struct image_store *s, const struct image_cli_pull_how *how, const char *name, struct err *err);
