/* NULL-terminated lists of strings. May include: base/. */
#pragma once
#include <stddef.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"

char **word_list_free(char **list); /* NULL is fine; returns NULL */
DEFINE_CLEANUP(char **, word_list_free)
size_t word_list_len(char *const *list); /* NULL counts as empty */
/* From an array of strings without NUL bytes, each at most max_bytes, at most max_items. j NULL: *ret becomes NULL.
 * what names the list in the error. */
int word_list_from_json(const json_t *j, const char *what, size_t max_items, size_t max_bytes, char ***ret,
                        struct err *err);
json_t *word_list_to_json(char *const *list); /* NULL gives null */
