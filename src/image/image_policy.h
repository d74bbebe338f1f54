/* The operator's policy for images (III_IMAGE_POLICY): which registries may be asked, and whose signatures an image
 * needs. The one place that is asked: before a connection is made (image_policy_may_pull()), and whenever a stored
 * image is used (image_policy_check()), so that a change of the policy holds for what is stored already. Pure. May
 * include: base/, image/.
 *
 *   {registries: [HOST], tenants: {NAME: {registries: [HOST]}}, signatures: [{images: [PATTERN], keys | keyless |
 *   unsigned}]}
 *
 * The first entry of signatures with a pattern that matches applies; an image that none matches needs no signature. */
#pragma once
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"

struct image_policy;

/* text "": everything is allowed. ERR_INVALID names the place; unknown members are errors. */
int image_policy_new(const char *text, struct image_policy **ret, struct err *err);
struct image_policy *image_policy_free(struct image_policy *p);
DEFINE_CLEANUP(struct image_policy *, image_policy_free)

/* ERR_FORBIDDEN: the registry of name is not listed, for all or for this tenant. p NULL: allowed. */
int image_policy_may_pull(const struct image_policy *p, const char *tenant, const char *name, struct err *err);
/* What an image of that name needs; NULL: nothing. Borrowed. p may be NULL. */
const json_t *image_policy_rule(const struct image_policy *p, const char *name);
/* Whether a stored image satisfies its rule: ERR_FORBIDDEN with the pattern, what is missing and the cure. ret_by (may
 * be NULL, SIGNATURE_BY bytes): who has signed, "" when nobody needs to. */
int image_policy_check(const struct image_policy *p, const json_t *record, char *ret_by, struct err *err);
/* found: how many signatures were looked at; why: what is wrong with the last of them, or NULL. */
int image_policy_refuse(const json_t *rule, const char *name, size_t found, const struct err *why, struct err *err);

/* The policy of a server, for commands that work on its store: a file of the data folder. -ENOENT: there is none. */
int image_policy_save(const char *data_dir, const char *text, struct err *err);
int image_policy_load(const char *data_dir, struct image_policy **ret, struct err *err);
