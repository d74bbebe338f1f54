/* NULL-terminated lists of strings that own their entries: environments and argument vectors. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/json.h"

char **strlist_free(char **list);
DEFINE_CLEANUP(char **, strlist_free)
size_t strlist_count(char *const *list);       /* NULL counts 0 */
void strlist_add(char ***list, const char *s); /* grows *list, copies s */
char **strlist_copy(char *const *list);        /* NULL stays NULL */
char **strlist_from_json(const json_t *array); /* strings only, others are skipped; NULL when it is not an array */
json_t *strlist_to_json(char *const *list);    /* new array */
/* "KEY=value" lists: set replaces, unset removes; key has no '='. */
void strlist_env_set(char ***list, const char *key, const char *value);
void strlist_env_unset(char **list, const char *key);
const char *strlist_env_get(char *const *list, const char *key); /* borrowed, or NULL */
