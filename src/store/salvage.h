/* Rows out of a damaged database. It is worked on in a copy: what was kept aside is never touched. May include: base/.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* One row that could be read and is a JSON document; false ends it. */
typedef bool salvage_fn(void *arg, const char *scope, const char *key, const char *body, size_t len);

/* schema_sql makes an empty database of the same shape, scratch is a path to work at. Rows come in their order. An
 * error is one of this host (no space, no memory); a file without anything readable in it has no rows. */
int salvage_run(const char *damaged, const char *scratch, const char *schema_sql, salvage_fn *fn, void *arg,
                struct err *err);
