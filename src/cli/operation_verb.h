/* Commands generated from operations: the command-line form of a row of the operations' table, and how it runs. May
 * include: base/, spec/, cli/. */
#pragma once
#include "base/json.h"
#include "cli/rest_client.h"
#include "cli/verbs.h"
#include "spec/spec.h"

enum { OPERATION_VERB_OPERANDS_MAX = 8 };

struct operation_verb_operands {
    const struct field *fields[OPERATION_VERB_OPERANDS_MAX];
    size_t n, n_needed;
};
/* Which fields are operands, in the order in which they are typed. */
void operation_verb_operands(const struct op *op, struct operation_verb_operands *ret);
/* The operation's command: "snapshot create". "" when another command covers it. */
void operation_verb_path(const struct op *op, char *ret, size_t size);

/* Runs the operation of a's row with operands and options. */
verbs_fn operation_verb_run;
/* The same with options only, each named like its field: `api OPERATION`. */
verbs_fn operation_verb_api;

const struct op *operation_verb_find(const char *name); /* "sandbox_create"; the name must be one of the table */
/* Calls an operation; answer holds a success. Returns 0, or 1 after the error and what to do were printed. */
int operation_verb_call(const struct rest_client *l, const struct op *op, const json_t *params,
                        struct rest_client_answer *ret);
/* Prints the error of a finished call: err when there was no reply. Returns 0 when there was none, otherwise 1, or 128
 * and the signal that ended a stream. */
int operation_verb_verdict(const struct rest_client *l, const struct rest_client_answer *answer, int r,
                           const struct err *err);
/* The sandbox's record, the contract's first step of every command on one: whether it exists. As operation_verb_call().
 */
int operation_verb_get(const struct rest_client *l, const char *id, struct rest_client_answer *ret);
/* Connects a command to its server: 0, or an exit code after the error was printed. */
int operation_verb_link(const struct verbs_args *a, struct rest_client *ret);
/* Prints a reply as JSON with --json, otherwise for people. Returns the exit code. */
int operation_verb_show(const struct verbs_args *a, const struct op *op, const json_t *reply);
