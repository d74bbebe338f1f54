/* UUIDs (RFC 4122). May include: base/. */
#pragma once
#include <stdbool.h>

#define UUID_MAX 37 /* bytes of the canonical form with its NUL */

void uuid_new(char out[UUID_MAX]); /* version 4, lower case with hyphens */
/* Converts any form of RFC 4122 (upper case, braces, "urn:uuid:", no hyphens) to the canonical one. False: not a UUID,
 * out unchanged. */
bool uuid_parse(const char *text, char out[UUID_MAX]);
