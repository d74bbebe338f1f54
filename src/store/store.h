/* Durable state: JSON documents in named scopes, in insertion order (an update keeps the position). SQLite in WAL mode;
 * one file in the data folder. Calls are synchronous and short (tens of microseconds). May include: base/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"

#define STORE_SCHEMA    1u         /* the newest that this program reads and writes */
#define STORE_IN_MEMORY ":memory:" /* a path without a file: for tests */

struct store;

/* Opens or creates path; migrates an older schema; rejects a newer one. */
int store_open(const char *path, struct store **ret, struct err *err);
/* Whether store_open() would accept path as it is, without changing anything, while another process uses it. A missing
 * path is fine. */
int store_probe(const char *path, struct err *err);
struct store *store_close(struct store *s); /* flushes lazy rows */
DEFINE_CLEANUP(struct store *, store_close)
/* 1 when path held a damaged database: it was moved to store_rescued_path(), and a new one was created and filled with
 * the readable rows. Report it to the operator. */
int store_was_rescued(const struct store *s);
int64_t store_rescued_rows(const struct store *s);     /* how many of its documents were recovered */
const char *store_rescued_path(const struct store *s); /* NULL when nothing was rescued */

int store_put(struct store *s, const char *scope, const char *key, const json_t *doc, struct err *err);
/* Like put, but may be grouped with others and reach the disk up to 100 ms later (events, traces: data that was not
 * acknowledged). */
int store_put_lazy(struct store *s, const char *scope, const char *key, const json_t *doc, struct err *err);
int store_flush(struct store *s, struct err *err); /* writes lazy rows; call from a timer and before exit */
/* -ENOENT when it does not exist (err says "not found"). Caller owns *ret. */
int store_get(struct store *s, const char *scope, const char *key, json_t **ret, struct err *err);
int store_delete(struct store *s, const char *scope, const char *key, struct err *err); /* absent is fine */
/* Walks a scope in order, or newest first; stops when fn returns false. doc is borrowed. */
typedef bool store_each_fn(void *arg, const char *key, json_t *doc);
int store_each(struct store *s, const char *scope, bool is_newest_first, store_each_fn *fn, void *arg, struct err *err);
int64_t store_count(struct store *s, const char *scope);
/* Removes the oldest rows of a scope beyond keep; returns how many. */
int64_t store_trim(struct store *s, const char *scope, int64_t keep);
int64_t store_clear(struct store *s, const char *scope);

/* Several puts and deletes that reach the disk together or not at all. Not nested. */
int store_begin(struct store *s, struct err *err);
int store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);
