/* The tools as rows over the operation table: what clients see of them, and how their arguments become parameters of an
 * operation. Untrusted: arguments. May include: base/, spec/. Invariants: (1) every argument is a field of its
 * operation, with the field's type and limits; (2) what mcptool_params() lets pass has passed spec_check(). */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "spec/spec.h"

enum mcptool_form {
    MCPTOOL_JSON,
    MCPTOOL_TEXT,
    MCPTOOL_SAY,
    MCPTOOL_EXEC,
    MCPTOOL_CODE,
    MCPTOOL_ENV,
    MCPTOOL_LINES,
    MCPTOOL_CONTEXT,
    MCPTOOL_BYTES,
};
enum mcptool_hint {
    MCPTOOL_DESTROYS = 1, /* may change or remove what is there, not only add */
    MCPTOOL_REPEATS = 2,  /* a second time changes nothing more */
    MCPTOOL_OPEN = 4,     /* may reach the world outside */
};
struct mcptool {
    const char *name, *title;
    enum op_id op;
    const char *args;
    enum mcptool_form form;
    const char *detail;
    unsigned hints;
    const char *help;
};
extern const struct mcptool mcptool_rows[]; /* ended by name NULL */

const struct mcptool *mcptool_find(const char *name); /* NULL when unknown */
/* Whether a choice of tools has this one: a comma list of names, each with or without "sandbox_", with * at the end for
 * all that begin so. NULL or "": all. */
bool mcptool_is_chosen(const struct mcptool *t, const char *choice);
/* One entry of tools/list; with_output: clients of 2025-06-18 and later know schemas of results. Caller owns. */
json_t *mcptool_describe(const struct mcptool *t, bool with_output);
/* All of them, made on first use; borrowed. */
json_t *mcptool_list(bool with_output);
/* What the tool's results look like as structuredContent; an answer that is no object stands in "result". Caller owns.
 */
json_t *mcptool_output_schema(const struct mcptool *t);
/* Arguments (borrowed; NULL or null: none) to parameters of the operation, checked. Unknown arguments are ignored.
 * ERR_INVALID names the argument. Caller owns *ret. */
int mcptool_params(const struct mcptool *t, const json_t *args, int64_t now_ms, json_t **ret, struct err *err);
