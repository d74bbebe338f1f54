/* Names of images in registries: [HOST[:PORT]/]PATH[:TAG][@sha256:DIGEST]. Strict: a name that a registry would reject
 * is rejected here, before a byte is sent. May include: base/, image/. */
#pragma once
#include "base/digest.h"
#include "base/err.h"
#include "image/image.h"

struct reference {
    char host[IMAGE_NAME_MAX + 1];       /* "docker.io" when none is given; with ":port" when there is one */
    char repository[IMAGE_NAME_MAX + 9]; /* "library/python" for a bare "python" on docker.io */
    char tag[129];                       /* "latest" when neither tag nor digest is given; "" with a digest alone */
    char digest[DIGEST_HEX];             /* hex, or "" */
};

int reference_parse(const char *text, struct reference *ret, struct err *err);

#define REFERENCE_MAX (2 * IMAGE_NAME_MAX + 160)
/* The one name of an image that has several spellings: "docker.io/library/python:latest" for "python",
 * "python:latest", "library/python", "oci:docker.io/python". A digest makes the tag redundant. A name that is no
 * reference (an import may have any) is its own. */
void reference_canonical(const char *name, char ret[REFERENCE_MAX]);
