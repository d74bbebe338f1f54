/* Recovers rows from a damaged database. It works on a copy: the damaged file is never changed. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Gets one row that is readable and a JSON document; returning false stops. */
typedef bool salvage_fn(void *arg, const char *scope, const char *key, const char *body, size_t len);

/* schema_sql creates an empty database of the same schema, scratch is a path for the copy. Rows come in order. An error
 * is one of this host (no space, no memory); a file without anything readable has no rows. */
int salvage_run(const char *damaged, const char *scratch, const char *schema_sql, salvage_fn *fn, void *arg,
                struct err *err);
