/* The operations of state::update and stream::update: one list of changes applied to one JSON value. Pure functions.
 * Untrusted: the operations. May include: base/. */
#pragma once
#include "base/err.h"
#include "base/json.h"

#define UPDATE_OPS_MAX           1000 /* operations of one call */
#define UPDATE_OPS_PATH_MAX      32   /* segments of a path */
#define UPDATE_OPS_SEGMENT_MAX   256  /* bytes of a segment */
#define UPDATE_OPS_VALUE_DEPTH   16   /* nesting of a merged value */
#define UPDATE_OPS_VALUE_MEMBERS 1024 /* members at the top of a merged value */

/* Applies ops in order to old (borrowed, never changed; NULL: there is no value yet). An operation that does not fit
 * the value adds {op_index, code, message} to *ret_errors and is skipped. -EINVAL: ops is not a list of known
 * operations with their members; err says which, nothing is returned. The caller owns both results; *ret_errors is
 * NULL when all fit. */
int update_ops_apply(json_t *old, const json_t *ops, json_t **ret_value, json_t **ret_errors, struct err *err);
