/* Operands and options of a command line to the parameters of an operation, according to the types of its fields. May
 * include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include "cli/verbs.h"
#include "spec/spec.h"

enum { OPERATION_ARGS_NAME_MAX = 64 };

/* "maxRetries" in its command-line form: "max-retries". */
void operation_args_kebab(const char *field, char ret[OPERATION_ARGS_NAME_MAX]);
/* The field with this name, in either form; NULL when there is none. */
const struct field *operation_args_field(const struct op *op, const char *name);
/* Whether a field takes several arguments when it is an operand. */
bool operation_args_takes_many(const struct field *f);
/* Puts one text into params: lists, maps and commands grow with each. 0, or -EINVAL with the reason in err, which names
 * the argument. */
int operation_args_put(json_t *params, const struct field *f, const char *text, struct err *err);
/* Puts all options of a that are fields of its operation, and the content of --params, into params; except: names of
 * options that the command reads itself, ended by NULL, or NULL. 0, or an exit code after the error was printed. */
int operation_args_take(const struct verbs_args *a, json_t *params, const char *const *except);
/* Reads standard input, or a file, up to the largest request. 0 with text the caller frees, or -1 after the error was
 * printed. */
int operation_args_slurp(const char *path, char **ret, size_t *ret_len);
