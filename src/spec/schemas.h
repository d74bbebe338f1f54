/* The objects of the interface as rows, for documents; spec_schema() gives one as JSON Schema. May include: base/. */
#pragma once
#include "base/json.h"

struct schema {
    const char *name, *shape, *help;
};
extern const struct schema schemas_rows[]; /* ended by name NULL */

/* The JSON Schema of a shape (the notation is explained in schemas.def). NULL when it is malformed. Caller owns. */
json_t *schemas_from_shape(const char *shape);
const json_t *schemas_all(void); /* {name: schema}, made on first use; borrowed */
