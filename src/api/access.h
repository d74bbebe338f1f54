/* Who may do what, in one place: the role and the token's operations against the row, and every id of the request
 * against the caller's tenant and, where its token is for one sandbox, that sandbox, by the marks of the row's fields.
 * Every entry point calls it before any handler runs. May include: base/, spec/, sandbox/, api/keyring.h. Invariant: to
 * a caller that is bound to a tenant, something of another tenant and something that never existed are the same: both
 * are detected here and answered with the same error. */
#pragma once
#include "api/keyring.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"
#include "spec/spec.h"

/* ERR_FORBIDDEN when the role, the operations or the one sandbox of the token do not cover the row. who NULL: the
 * server itself, which may do all. */
int access_role(const struct caller *who, const struct op *op, struct err *err);
/* What the role may do where no row says it; a token with a scope may do nothing there. */
int access_need(const struct caller *who, bool is_write, bool is_admin, const char *what, struct err *err);
int access_need_admin(const struct caller *who, const char *what,
                      struct err *err); /* of a row that others may call, too */
/* ERR_NOT_FOUND for an id that is not the caller's. params has passed spec_check(); for a token of one sandbox, a list
 * that may be narrowed to one is narrowed to that. */
int access_ids(struct manager *m, const struct caller *who, const struct op *op, json_t *params, struct err *err);
/* A sandbox by id or UUID, as the caller sees it; ERR_NOT_FOUND. Borrowed. */
struct sandbox *access_sandbox(struct manager *m, const struct caller *who, const char *id, struct err *err);
const struct tenant_by *access_by(const struct caller *who); /* NULL for the server itself */
