/* JSON values by group and key in a store, with a list of the groups that are not empty: what state:: and stream::
 * share. Private to engine/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "base/share.h"
#include "store/store.h"

#define VALUE_STORE_NAME_MAX   512                /* bytes of a name or key */
#define VALUE_STORE_VALUE_MAX  (16 * 1024 * 1024) /* bytes of one value as JSON text */
#define VALUE_STORE_DEPTH_MAX  512                /* its nesting */
#define VALUE_STORE_KEYS_MAX   100000             /* keys of one group */
#define VALUE_STORE_GROUPS_MAX 10000              /* groups of one index */

/* One key. All texts are borrowed. */
struct value_place {
    struct store *store;
    const char *scope; /* the store's scope of the group */
    const char *key;
    const char *index;    /* the store's scope that lists groups */
    const char *group;    /* the group's name there */
    struct share *groups; /* shares of the index */
    const char *tenant;   /* who writes; "": the operator */
};

bool value_store_is_name(const char *s); /* usable as a group's name or a key; NULL is not */
/* *ret: the value, NULL when there is none; caller owns. -EIO when the store cannot be read. */
int value_store_get(const struct value_place *p, json_t **ret, struct err *err);
/* Who wrote the value; "" when there is none, or it was the operator. */
void value_store_owner(const struct value_place *p, char ret[SHARE_TENANT_MAX]);
/* is_new: value_store_get() gave none. ERR_TOO_LARGE over max bytes (0: VALUE_STORE_VALUE_MAX), ERR_CAPACITY over a
 * limit. A tenant may create its share of the groups, and fill its share of a group that another has created. */
int value_store_put(const struct value_place *p, json_t *value, bool is_new, size_t max, struct err *err);
int value_store_delete(const struct value_place *p, struct err *err); /* absent is fine */
/* All values of a scope in the order of insertion, or its keys. Caller owns. NULL with err. */
json_t *value_store_list(struct store *s, const char *scope, struct err *err);
json_t *value_store_keys(struct store *s, const char *scope, struct err *err); /* sorted */
/* Counts the groups of an index of the store for those who created them. */
void value_store_count(struct store *s, const char *index, struct share *groups);
