/* The sandbox:: functions of the engine are rows of the table with OP_FUNCTION, carried out as calls like all others.
 * What they have more is here: S-codes for errors, UUIDs for sandboxes, forms of their fields that the table does not
 * know, and the operator's policy (images, caps). May include: base/, api/, sandbox/. */
#pragma once
#include "api/call.h"
#include "api/fn_policy.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/uuid.h"
#include "sandbox/lifecycle/manager.h"

struct fn_set;

#define FN_SANDBOX "sandbox_id" /* the field that names a sandbox */

/* Makes api->functions. ERR_INVALID: a setting of the functions is wrong. */
int fn_new(struct manager *m, struct api *a, struct err *err);
/* Calls that begin from now on go by the rows functions.* of s, of which nothing is kept; sandboxes that are there stay
 * as they are. ERR_INVALID: a setting is wrong, and all stays as it was. */
int fn_reload(struct api *a, const struct settings *s, struct err *err);
struct fn_set *fn_free(struct fn_set *f);
struct fn_set {
    struct manager *manager;
    struct fn_policy *policy; /* for calls that begin now; what one began with is in the call */
    unsigned n_creating;      /* sandboxes of the functions that are on their way */
};
unsigned fn_count_made(const struct fn_set *f); /* … and that are there */

/* --- errors --- */

/* What went wrong, as the contract's envelope. */
struct fn_fault {
    const char *code;   /* "S001"; NULL: nothing is wrong */
    char message[4800]; /* the last output of a VM's console is the longest */
    json_t *fix;        /* owned; NULL: null */
    const char *note;   /* NULL: the code's own */
    json_t *extra;      /* owned: members to add to the envelope; or NULL */
    bool has_no_note;   /* even where the code has one */
};
/* What a call of a function has more: call_fn(). */
struct fn_part {
    struct fn_set *set;
    struct fn_policy *policy;  /* referenced: that of its beginning */
    char sandbox_id[UUID_MAX]; /* "" until known */
    struct fn_fault fault;
};
struct fn_part *fn_part_new(struct fn_set *f);
struct fn_part *fn_part_free(struct fn_part *p);                   /* NULL is fine */
void fn_part_inherit(struct fn_part *p, const struct fn_part *of); /* the policy of the call that it is a step of */
/* The one log record of a call. */
void fn_log(const struct fn_part *p, const char *function, int64_t duration_us);

void fn_fail(struct call *c, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4);
void fn_fail_fault(struct call *c); /* with the fault that was set */
int fn_set_fault(struct call *c, const char *code, const char *fmt, ...) PRINTF_LIKE(3, 4); /* -EINVAL */
const char *fn_code(const char *code); /* the same text, of which nothing has to be kept */
/* What cures the fault: fields to merge into the request before it is sent again (taken). note: the same for people. */
void fn_fix(struct call *c, json_t *fields, const char *note);
/* The cure is to call another function first: {"call": {function_id, payload}}. take: {field of the request: member of
 * the reply} that the reply gives, or NULL. payload and take are taken. */
void fn_fix_call(struct call *c, const char *function, json_t *payload, json_t *take, const char *note);
#define FN_MERGE(what) "merge the fix into the request (" what ") and send it again"
#define FN_CALL(what)  "call fix.call.function_id with fix.call.payload (" what "), then send the request again"
/* A failure of a file call. s may be gone by now. */
void fn_fail_file(struct call *c, const struct sandbox *s, const struct err *err, const char *path);
void fn_fail_start(struct call *c, const struct sandbox *s, int r, const char *path); /* a call that did not begin */
/* The S-code of an error that no handler gave one, unless there is one. */
void fn_fault_from(struct fn_part *p, const struct err *err);
/* The envelope; caller owns. host: as in docs_url(). */
json_t *fn_fault_json(const struct api *a, const char *host, const struct fn_fault *f);
json_t *fn_refusal(const struct api *a, const char *host, const struct err *err); /* for a call that never began */

/* --- sandboxes: 0 or -EINVAL with a fault --- */
int fn_read_id(struct call *c); /* the field sandbox_id: S001, S002 */
/* By the id that was read: S002, S004. Counts as use. NULL: a fault is set. */
struct sandbox *fn_find(struct call *c);

/* --- fields that are more than their type: 0 or -EINVAL with a fault --- */
const char *fn_path(struct call *c, const char *key);                  /* made absolute; borrowed */
int fn_read_mode(struct call *c, const char *fallback, uint32_t *ret); /* S210 */
int fn_read_base64(struct call *c, const char *key, struct buf *ret);
/* The member env: {name: value} in order; caller owns. fn_check_env: the type alone. */
int fn_read_env(struct call *c, json_t **ret);
int fn_check_env(struct call *c);
int fn_read_command(struct call *c, char ***ret); /* from cmd, args and argv; caller frees */
