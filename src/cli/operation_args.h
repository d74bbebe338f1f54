/* Words and options of a command line to the parameters of an operation, as the types of its fields want them. May
 * include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include "cli/verbs.h"
#include "spec/spec.h"

enum { OPERATION_ARGS_NAME_MAX = 64 };

/* "maxRetries" as people type it: "max-retries". */
void operation_args_kebab(const char *field, char ret[OPERATION_ARGS_NAME_MAX]);
/* The field with this name, in either spelling; NULL when there is none. */
const struct field *operation_args_field(const struct op *op, const char *name);
/* Whether a field takes several words when it is an operand. */
bool operation_args_takes_many(const struct field *f);
/* Puts one text into params: lists, maps and commands grow with each. 0, or -EINVAL with the reason in err, which names
 * what was given. */
int operation_args_put(json_t *params, const struct field *f, const char *text, struct err *err);
/* All options of a that are fields of its operation, and what --params holds, into params. 0, or an exit code after the
 * reason was said. */
int operation_args_take(const struct verbs_args *a, json_t *params);
/* Standard input, or a file, up to the largest request. 0 with text the caller frees, or -1 after the reason was said.
 */
int operation_args_slurp(const char *path, char **ret, size_t *ret_len);
