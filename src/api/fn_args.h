/* Reading the payload of a sandbox:: function. Each reader gives 0, or -EINVAL with c->fault (S001, or what it says).
 * Null counts as absent; numbers and booleans are taken for text where the contract says so. Texts are borrowed from
 * c->in. */
#pragma once
#include "api/fn_core.h"
#include "base/buf.h"

enum {
    FN_ARG_REQUIRED = 1,
    FN_ARG_SCALAR = 2 /* numbers and booleans become text */,
    FN_ARG_ANY_BYTES = 4 /* NUL too */
};

int fn_args_str(struct fn_call *c, const char *key, unsigned flags, const char **ret); /* absent: *ret as it was */
int fn_args_int(struct fn_call *c, const char *key, int64_t min, int64_t max, int64_t *ret);
int fn_args_bool(struct fn_call *c, const char *key, bool *ret);
int fn_args_list(struct fn_call *c, const char *key, char ***ret);        /* caller frees; NULL when absent or empty */
int fn_args_id(struct fn_call *c);                                        /* into c->sandbox_id */
int fn_args_path(struct fn_call *c, const char *key, const char **ret);   /* required; made absolute */
int fn_args_mode(struct fn_call *c, const char *fallback, uint32_t *ret); /* S210 */
int fn_args_base64(struct fn_call *c, const char *key, struct buf *ret);
/* The member env: {name: value} in order; caller owns. is_shape_only: the types alone. */
int fn_args_env(struct fn_call *c, json_t **ret);
int fn_args_env_shape(struct fn_call *c);
/* argv from cmd, args and argv, by the contract's three forms. Caller frees. */
int fn_args_command(struct fn_call *c, char ***ret);
