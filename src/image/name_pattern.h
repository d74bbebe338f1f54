/* Patterns of image names, as III_ALLOWED_IMAGES and the image policy have them: a name in any spelling, or the
 * beginning of names and "*". Pure. May include: base/, image/. */
#pragma once
#include <stdbool.h>

/* A preset is its own image, or a name that no registry knows. */
bool name_pattern_matches(const char *pattern, const char *image);
/* "*" stands for any bytes, everything else for itself. */
bool name_pattern_glob(const char *pattern, const char *text);
/* HOST[:PORT], *.DOMAIN[:PORT] or *; upper and lower case are the same. */
bool name_pattern_host(const char *pattern, const char *host);
