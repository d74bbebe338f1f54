/* A collection of records: the JSON documents of one scope of the store, in memory by id, in the order of their
 * creation. A change is in the store before it is in memory, so what a caller was told survives a crash. May include:
 * base/, store/, sandbox/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "sandbox/lifecycle/tenant.h"
#include "store/store.h"

struct records {
    struct store *store;
    const char *scope, *noun; /* noun: what an error calls one of them */
    struct map *by_id;        /* id -> json_t */
};

void records_init(struct records *r, struct store *store, const char *scope, const char *noun);
void records_done(struct records *r);
/* Reads the scope. take, unless NULL, says whether a document is one of ours. */
typedef bool records_take_fn(void *arg, const char *id, json_t *record);
int records_load(struct records *r, records_take_fn *take, void *arg, struct err *err);

json_t *records_find(const struct records *r, const char *id, struct err *err);      /* borrowed; ERR_NOT_FOUND */
int records_add(struct records *r, const char *id, json_t *record, struct err *err); /* keeps a reference on success */
int records_save(struct records *r, const char *id, struct err *err);                /* after a change in place */
int records_delete(struct records *r, const char *id, struct err *err);              /* ERR_NOT_FOUND */
/* The same for a record whose row may stay: its sandbox is gone, and the next start drops it. */
void records_drop(struct records *r, const char *id);

/* Those whose member has this value (NULL: all) and that by may see. Caller owns the list, which shares the records. */
json_t *records_list(const struct records *r, const struct tenant_by *by, const char *member, const char *value);
size_t records_count(const struct records *r, const char *member, const char *value);
bool records_is(const json_t *record, const char *member, const char *value);
const char *records_owner(const struct records *r, const char *id); /* the record's tenant; NULL: no such record */
