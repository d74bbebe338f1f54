/* What a caller may write in the place of an id: the name of an object of its own tenant, or the beginning of an id.
 * May include: base/, spec/, sandbox/, api/keyring.h. Invariant: an exact id always means itself; a name never means an
 * object of another tenant, whatever the caller may see; what is unclear is an error that lists the candidates. */
#pragma once
#include "api/keyring.h"
#include "base/json.h"
#include "sandbox/lifecycle/manager.h"
#include "spec/spec.h"

#define LOOKUP_DIGITS_MIN 3 /* hex digits of an id's beginning; fewer are no id that someone meant */

/* Replaces names and beginnings of ids by ids, in every field of the row that names a sandbox, snapshot, volume,
 * network or template. What matches nothing stays: the handler answers. ERR_CONFLICT (of functions ERR_INVALID):
 * several match, err lists them. who NULL: the server itself, which uses ids. */
int lookup_ids(struct manager *m, const struct caller *who, const struct op *op, json_t *params, struct err *err);
