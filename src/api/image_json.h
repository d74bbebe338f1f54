/* An image as replies show it. May include: base/, image/, api/. */
#pragma once
#include "api/call.h"
#include "image/image.h"

json_t *image_json(struct call *c, const struct image *image); /* the schema Image; caller owns */
