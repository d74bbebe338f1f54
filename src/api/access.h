/* Who may do what, in one place: the role against the row's flags, and every id of the request against the caller's
 * tenant, by the marks of the row's fields. Every entry point calls it before any handler runs. May include: base/,
 * spec/, sandbox/, api/keyring.h. Invariant: to a caller that is bound to a tenant, something of another tenant and
 * something that never existed are the same: both are detected here and answered with the same error. */
#pragma once
#include "api/keyring.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"
#include "spec/spec.h"

/* ERR_FORBIDDEN when the role does not cover the row. who NULL: the server itself, which may do all. */
int access_role(const struct caller *who, const struct op *op, struct err *err);
/* What the role may do where no row says it. */
int access_need(const struct caller *who, bool is_write, bool is_admin, const char *what, struct err *err);
/* ERR_NOT_FOUND for an id that is not the caller's. params has passed spec_check(). */
int access_ids(struct manager *m, const struct caller *who, const struct op *op, const json_t *params, struct err *err);
/* A sandbox by id or UUID, as the caller sees it; ERR_NOT_FOUND. Borrowed. */
struct sandbox *access_sandbox(struct manager *m, const struct caller *who, const char *id, struct err *err);
const struct tenant_by *access_by(const struct caller *who); /* NULL for the server itself */
