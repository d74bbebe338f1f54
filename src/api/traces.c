#include "api/traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/share.h"

#define SCOPE      "observability"
#define TRIM_EVERY 500 /* rows between two looks at how many are kept */

struct trace {
    char id[IDENT_MAX];
    char *fn, *sandbox_id, *error, *tenant; /* all but fn may be NULL */
    int64_t duration_ms, timestamp;
};

struct traces {
    struct store *store;
    int64_t keep;
    unsigned since_trim;
    struct trace *rows; /* oldest first; NULL until they are needed */
    size_t n, cap;
    struct share *held; /* of the rows */
};

struct traces *traces_new(struct store *store, int64_t keep)
{
    struct traces *t = xzalloc(sizeof(*t));
    t->store = store;
    t->keep = keep;
    return t;
}

static const char *owner_of(const struct trace *row)
{
    return row->tenant ? row->tenant : "";
}

static void drop_row(struct traces *t, struct trace *row)
{
    share_give(t->held, owner_of(row), 1);
    free(row->fn);
    free(row->sandbox_id);
    free(row->error);
    free(row->tenant);
}

static void free_rows(struct traces *t)
{
    for (size_t i = 0; i < t->n; i++)
        drop_row(t, &t->rows[i]);
    free(STEAL(t->rows));
    t->n = t->cap = 0;
    t->held = share_free(t->held);
}

struct traces *traces_free(struct traces *t)
{
    if (!t)
        return NULL;
    free_rows(t);
    free(t);
    return NULL;
}

static void push(struct traces *t, const struct trace *row)
{
    if (t->n == t->cap) {
        t->cap *= 2;
        t->rows = xrealloc(t->rows, t->cap * sizeof(*t->rows));
    }
    t->rows[t->n++] = (struct trace){ .fn = xstrdup(row->fn),
                                      .sandbox_id = xstrdup(row->sandbox_id),
                                      .error = xstrdup(row->error),
                                      .tenant = xstrdup(row->tenant),
                                      .duration_ms = row->duration_ms,
                                      .timestamp = row->timestamp };
    memcpy(t->rows[t->n - 1].id, row->id, sizeof(row->id));
    share_add(t->held, owner_of(row), 1);
}

/* Deletes what is not kept: the oldest of those who have most. A row that the store keeps in spite of it is removed
 * after the next start. */
static void trim_rows(struct traces *t)
{
    if (!share_is_over(t->held))
        return;
    bool is_stored = store_begin(t->store, NULL) == 0;
    size_t level = share_level(t->held), kept = 0, i = 0;
    int r = 0;
    for (; i < t->n && share_is_over(t->held); i++) {
        struct trace row = t->rows[i];
        if (share_held(t->held, owner_of(&row)) <= level) {
            t->rows[kept++] = row;
            continue;
        }
        if (is_stored && r == 0)
            r = store_delete(t->store, SCOPE, row.id, NULL);
        drop_row(t, &row);
    }
    memmove(t->rows + kept, t->rows + i, (t->n - i) * sizeof(*t->rows));
    t->n -= i - kept;
    if (is_stored && r == 0)
        (void)store_commit(t->store, NULL);
    else if (is_stored)
        store_rollback(t->store);
}

static json_t *row_json(const struct trace *row)
{
    json_t *j = json_pack("{s:s, s:s, s:I, s:s, s:I}", "id", row->id, "functionId", row->fn, "duration",
                          (json_int_t)row->duration_ms, "status", row->error ? "error" : "ok", "timestamp",
                          (json_int_t)row->timestamp);
    if (row->sandbox_id)
        (void)json_object_set_new(j, "sandboxId", json_text(row->sandbox_id, strlen(row->sandbox_id)));
    if (row->tenant)
        (void)json_object_set_new(j, "tenant", json_string(row->tenant));
    if (row->error)
        (void)json_object_set_new(j, "error", json_text(row->error, strlen(row->error)));
    return j;
}

static bool load_one(void *arg, const char *key, json_t *doc)
{
    struct trace row = { .fn = (char *)(uintptr_t)json_get_str(doc, "functionId", ""),
                         .sandbox_id = (char *)(uintptr_t)json_get_str(doc, "sandboxId", NULL),
                         .error = (char *)(uintptr_t)json_get_str(doc, "error", NULL),
                         .tenant = (char *)(uintptr_t)json_get_str(doc, "tenant", NULL),
                         .duration_ms = json_get_int(doc, "duration", 0),
                         .timestamp = json_get_int(doc, "timestamp", 0) };
    (void)snprintf(row.id, sizeof(row.id), "%s", key);
    push(arg, &row);
    return true;
}

static int need_rows(struct traces *t, struct err *err)
{
    int r = 0;
    if (!t->rows) {
        t->cap = 256;
        t->rows = xzalloc(t->cap * sizeof(*t->rows));
        t->held = share_new((size_t)t->keep);
        r = store_each(t->store, SCOPE, false, load_one, t, err);
    }
    if (r < 0)
        free_rows(t);
    else
        trim_rows(t);
    return r;
}

void traces_add(struct traces *t, const struct api_trace *call)
{
    struct trace row = { .fn = (char *)(uintptr_t)call->op->fn,
                         .sandbox_id = (char *)(uintptr_t)call->sandbox_id,
                         .error = call->err ? (char *)(uintptr_t)call->err->msg : NULL,
                         .tenant = call->tenant && *call->tenant ? (char *)(uintptr_t)call->tenant : NULL,
                         .duration_ms = (call->duration_us + 500) / 1000,
                         .timestamp = clock_wall_ms() };
    ident_new("trc", row.id);
    JSON_OWNED doc = row_json(&row);
    (void)store_put_lazy(t->store, SCOPE, row.id, doc, NULL); /* a full disk costs the trace, not the call */
    if (t->rows)
        push(t, &row);
    if (++t->since_trim < TRIM_EVERY)
        return;
    t->since_trim = 0;
    if (t->rows || store_count(t->store, SCOPE) > t->keep)
        (void)need_rows(t, NULL);
}

static bool is_wanted(const struct trace *row, const struct traces_query *q)
{
    return (!q->tenant || (row->tenant && strcmp(row->tenant, q->tenant) == 0)) &&
           (!q->fn || strcmp(row->fn, q->fn) == 0) &&
           (!q->sandbox_id || (row->sandbox_id && strcmp(row->sandbox_id, q->sandbox_id) == 0));
}

json_t *traces_page(struct traces *t, const struct traces_query *q, struct err *err)
{
    if (need_rows(t, err) < 0)
        return NULL;
    json_t *list = json_array();
    int64_t total = 0;
    for (size_t i = t->n; i > 0; i--) {
        const struct trace *row = &t->rows[i - 1];
        if (!is_wanted(row, q))
            continue;
        if (total >= q->offset && (int64_t)json_array_size(list) < q->limit)
            (void)json_array_append_new(list, row_json(row));
        total++;
    }
    return json_pack("{s:o, s:I}", "traces", list, "total", (json_int_t)total);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

json_t *traces_metrics(struct traces *t, const char *tenant, struct err *err)
{
    if (need_rows(t, err) < 0)
        return NULL;
    const struct traces_query q = { .tenant = tenant };
    size_t n = 0;
    CLEANUP(free_p) int64_t *durations = try_alloc((t->n + 1) * sizeof(*durations));
    if (!durations) {
        (void)err_set(err, ERR_INTERNAL, ENOMEM, "sorting %zu traces", t->n);
        return NULL;
    }
    json_int_t errors = 0;
    double sum = 0;
    json_t *counts = json_object();
    for (size_t i = 0; i < t->n; i++) {
        const struct trace *row = &t->rows[i];
        if (!is_wanted(row, &q))
            continue;
        durations[n++] = row->duration_ms;
        sum += (double)row->duration_ms;
        errors += row->error != NULL;
        json_t *count = json_object_get(counts, row->fn);
        if (count)
            (void)json_integer_set(count, json_integer_value(count) + 1);
        else
            (void)json_object_set_new(counts, row->fn, json_integer(1));
    }
    /* The contract's rule for the 95th percentile: sorted durations at floor(0.95 n). The others follow it. */
    qsort(durations, n, sizeof(*durations), by_size);
    json_t *numbers = json_pack("{s:I, s:I, s:f, s:o}", "totalRequests", (json_int_t)n, "totalErrors", errors,
                                "avgDuration", n ? sum / (double)n : 0.0, "functionCounts", counts);
    static const struct {
        const char *name;
        size_t percent;
    } percentiles[] = { { "p50Duration", 50 }, { "p95Duration", 95 }, { "p99Duration", 99 } };
    for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++) {
        size_t at = n * percentiles[i].percent / 100;
        (void)json_object_set_new(numbers, percentiles[i].name, json_real(n ? (double)durations[at] : 0));
    }
    return numbers;
}

/* Rows of the store in one transaction: all of them or none. */
static int delete_rows(struct traces *t, int64_t before_ms, struct err *err)
{
    int r = store_begin(t->store, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < t->n; i++)
        if (t->rows[i].timestamp < before_ms)
            r = store_delete(t->store, SCOPE, t->rows[i].id, err);
    if (r < 0) {
        store_rollback(t->store);
        return r;
    }
    return store_commit(t->store, err);
}

int64_t traces_clear(struct traces *t, int64_t before_ms, struct err *err)
{
    int r = need_rows(t, err);
    if (r == 0)
        r = delete_rows(t, before_ms, err);
    if (r < 0)
        return r;
    size_t kept = 0;
    int64_t cleared = 0;
    for (size_t i = 0; i < t->n; i++) {
        struct trace row = t->rows[i];
        if (row.timestamp >= before_ms) {
            t->rows[kept++] = row;
            continue;
        }
        cleared++;
        drop_row(t, &row);
    }
    t->n = kept;
    return cleared;
}
