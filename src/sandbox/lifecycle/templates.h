/* Templates: named configurations that a create starts from. The built-in ones are part of the program, not of the
 * store, so a new version brings its own. May include: base/, store/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "base/settings.h"
#include "sandbox/lifecycle/sandbox_config.h"
#include "sandbox/lifecycle/tenant.h"
#include "store/store.h"

struct templates;

int templates_new(struct store *store, const struct settings *s, struct templates **ret, struct err *err);
struct templates *templates_free(struct templates *t);

/* Whose it is: "": no owner, TENANT_SHARED a built-in one; NULL: there is none. By the id, or as templates_find(). */
const char *templates_owner(const struct templates *t, const char *id);
const char *templates_owner_named(const struct templates *t, const struct tenant_by *by, const char *id_or_name);
json_t *templates_list(const struct templates *t,
                       const struct tenant_by *by); /* array, built-in ones first; caller owns */
/* By id, or by id or name. Borrowed; NULL with ERR_NOT_FOUND. */
json_t *templates_get(const struct templates *t, const char *id, struct err *err);
json_t *templates_find(const struct templates *t, const struct tenant_by *by, const char *id_or_name, struct err *err);
/* Borrowed; NULL with ERR_CONFLICT for a name that is taken, ERR_CAPACITY at the limit. */
json_t *templates_create(struct templates *t, const struct tenant_by *by, const char *name, const char *description,
                         const struct sandbox_config *config, struct err *err);
int templates_delete(struct templates *t, const char *id, struct err *err); /* ERR_CONFLICT for a built-in one */

/* The configuration a create asks for: the template's, with every field of the request over it. A request without
 * template is taken as it is. ret is empty before; the caller calls sandbox_config_done() on it. */
int templates_apply(const struct templates *t, const struct tenant_by *by, const json_t *request,
                    struct sandbox_config *ret, struct err *err);
