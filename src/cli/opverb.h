/* Commands made from operations: what a row of the operations' table becomes on the command line, and how it is run.
 * May include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include "cli/restlink.h"
#include "cli/verbs.h"
#include "spec/spec.h"

enum { OPVERB_OPERANDS_MAX = 8 };

struct opverb_operands {
    const struct field *fields[OPVERB_OPERANDS_MAX];
    size_t n, n_needed;
};
/* Which fields are operands, in the order in which they are typed. */
void opverb_operands(const struct op *op, struct opverb_operands *ret);
/* How the operation is called on the command line: "snapshot create". "" when another command does its work. */
void opverb_path(const struct op *op, char *ret, size_t size);

/* Runs the operation of a's row with operands and options. */
verbs_fn opverb_run;
/* The same with options only, each named like its field: `api OPERATION`. */
verbs_fn opverb_api;

const struct op *opverb_find(const char *name); /* "sandbox_create"; the name must be one of the table */
/* Calls an operation; answer holds a success. Returns 0, or 1 after what went wrong and what to do was said. */
int opverb_call(const struct restlink *l, const struct op *op, const json_t *params, struct restlink_answer *ret);
/* Says what a finished call lacks: err when there was no answer. Returns 0 when nothing went wrong, else 1, or 128 and
 * the signal that ended a stream. */
int opverb_verdict(const struct restlink *l, const struct restlink_answer *answer, int r, const struct err *err);
/* Connects a command to its server: 0, or 1 after the reason was said. */
int opverb_link(const struct verbs_args *a, struct restlink *ret);
/* Prints an answer as JSON with --json, else for people. Returns the exit code. */
int opverb_show(const struct verbs_args *a, const struct op *op, const json_t *reply);
