/* NULL-terminated lists of strings. May include: base/. */
#pragma once
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"

char **wordlist_free(char **list); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(char **, wordlist_free)
size_t wordlist_len(char *const *list); /* NULL counts as empty */
/* From an array of strings without NUL bytes, each at most max_bytes, at most max_items. j NULL: *ret becomes NULL.
 * what names the list in the error. */
int wordlist_from_json(const json_t *j, const char *what, size_t max_items, size_t max_bytes, char ***ret,
                       struct err *err);
json_t *wordlist_to_json(char *const *list); /* NULL gives null */
