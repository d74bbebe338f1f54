/* Traces: which are kept, which a question finds, their figures, and what clearing removes. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "api/traces.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "tap.h"

static char folder[] = "/tmp/test_traces.XXXXXX";

static struct store *open_store(const char *name)
{
    struct store *s = NULL;
    CLEANUP(free_p) char *path = xasprintf("%s/%s", folder, name);
    CHECK_INT(store_open(path, &s, NULL), 0);
    return s;
}

static void add(struct traces *t, const char *fn, const char *sandbox_id, const char *tenant, int64_t ms)
{
    struct op op = { .fn = fn };
    traces_add(t,
               &(struct api_trace){ .op = &op, .sandbox_id = sandbox_id, .tenant = tenant, .duration_us = ms * 1000 });
}

static void add_failed(struct traces *t, const char *fn, const char *msg)
{
    struct op op = { .fn = fn };
    struct err err = ERR_INIT;
    (void)err_set(&err, ERR_INTERNAL, 0, "%s", msg);
    traces_add(t, &(struct api_trace){ .op = &op, .tenant = "", .duration_us = 1499, .err = &err });
}

static int64_t total(struct traces *t, struct traces_query q)
{
    JSON_OWNED page = traces_page(t, &q, NULL);
    return json_get_int(page, "total", -1);
}

/* The durations of a page, joined. */
static const char *page(struct traces *t, struct traces_query q)
{
    static char text[200];
    JSON_OWNED found = traces_page(t, &q, NULL);
    const json_t *row;
    size_t i, n = 0;
    *text = '\0';
    json_array_foreach(json_object_get(found, "traces"), i, row) n +=
        (size_t)snprintf(text + n, sizeof(text) - n, "%lld ", (long long)json_get_int(row, "duration", -1));
    return text;
}

TEST(pages_are_newest_first_and_filtered)
{
    CLEANUP(store_close_p) struct store *s = open_store("pages");
    struct traces *t = traces_new(s, 100);
    add(t, "a::x", "sbx_1", "one", 1);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "1 "); /* read from the store, from here on in memory */
    add(t, "a::y", "sbx_2", "one", 2);
    add(t, "a::x", NULL, "two", 3);
    add(t, "a::x", "sbx_1", "", 4);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "4 3 2 1 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 2, .offset = 1 }), "3 2 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .offset = 4 }), "");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .fn = "a::x" }), "4 3 1 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .sandbox_id = "sbx_1" }), "4 1 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .tenant = "one" }), "2 1 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .tenant = "one", .fn = "a::x" }), "1 ");
    CHECK_INT(total(t, (struct traces_query){ .limit = 1, .offset = 1 }), 4); /* of the filter, not of the page */
    traces_free(t);
}

TEST(the_newest_are_kept_and_found_again)
{
    CLEANUP(store_close_p) struct store *s = open_store("kept");
    struct traces *t = traces_new(s, 3);
    for (int i = 1; i <= 3; i++)
        add(t, "a::x", NULL, "", i);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "3 2 1 ");
    add(t, "a::x", NULL, "", 4);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "4 3 2 ");
    CHECK_INT(total(t, (struct traces_query){ .limit = 1 }), 3);
    for (int i = 5; i <= 1300; i++) /* past two trims */
        add(t, "a::x", NULL, "", i);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "1300 1299 1298 ");
    traces_free(t);
    t = traces_new(s, 3);
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "1300 1299 1298 ");
    traces_free(t);
}

TEST(a_flood_of_one_tenant_pushes_out_nothing_of_another)
{
    CLEANUP(store_close_p) struct store *s = open_store("flood");
    struct traces *t = traces_new(s, 100);
    for (int i = 1; i <= 3; i++)
        add(t, "a::x", NULL, "quiet", i);
    add(t, "a::x", NULL, "", 4);
    for (int i = 0; i < 2000; i++) { /* past four trims, before anybody asks */
        add(t, "a::y", NULL, i % 2 ? "loud" : "louder", i);
    }
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .tenant = "quiet" }), "3 2 1 ");
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .fn = "a::x" }), "4 3 2 1 ");
    CHECK_INT(total(t, (struct traces_query){ .limit = 1 }), 100);
    CHECK_INT(total(t, (struct traces_query){ .limit = 1, .tenant = "loud" }), 48);
    traces_free(t);
    t = traces_new(s, 100); /* the same after a restart */
    CHECK_STR(page(t, (struct traces_query){ .limit = 10, .tenant = "quiet" }), "3 2 1 ");
    CHECK_INT(total(t, (struct traces_query){ .limit = 1 }), 100);
    traces_free(t);
}

TEST(a_row_says_what_went_wrong)
{
    CLEANUP(store_close_p) struct store *s = open_store("rows");
    struct traces *t = traces_new(s, 10);
    add(t, "a::x", "sbx_1", "one", 7);
    add_failed(t, "a::y", "no such thing");
    JSON_OWNED found = traces_page(t, &(struct traces_query){ .limit = 10 }, NULL);
    const json_t *bad = json_array_get(json_object_get(found, "traces"), 0);
    const json_t *good = json_array_get(json_object_get(found, "traces"), 1);
    CHECK_STR(json_get_str(bad, "status", ""), "error");
    CHECK_STR(json_get_str(bad, "error", ""), "no such thing");
    CHECK_INT(json_get_int(bad, "duration", -1), 1); /* to the nearest millisecond */
    CHECK(!json_get(bad, "sandboxId") && !json_get(bad, "tenant"));
    CHECK_STR(json_get_str(good, "status", ""), "ok");
    CHECK_STR(json_get_str(good, "sandboxId", ""), "sbx_1");
    CHECK_STR(json_get_str(good, "tenant", ""), "one");
    CHECK_STR(json_get_str(good, "functionId", ""), "a::x");
    CHECK(!json_get(good, "error") && strncmp(json_get_str(good, "id", ""), "trc_", 4) == 0);
    traces_free(t);
}

TEST(figures)
{
    CLEANUP(store_close_p) struct store *s = open_store("figures");
    struct traces *t = traces_new(s, 100);
    JSON_OWNED none = traces_metrics(t, NULL, NULL);
    CHECK_INT(json_get_int(none, "totalRequests", -1), 0);
    CHECK(json_get_num(none, "p95Duration", -1) == 0 && json_get_num(none, "avgDuration", -1) == 0);
    for (int i = 20; i > 0; i--) /* not in order: the percentile sorts */
        add(t, i % 4 ? "a::x" : "a::y", NULL, i % 2 ? "odd" : "even", i);
    add_failed(t, "a::z", "no");
    JSON_OWNED all = traces_metrics(t, NULL, NULL);
    CHECK_INT(json_get_int(all, "totalRequests", -1), 21);
    CHECK_INT(json_get_int(all, "totalErrors", -1), 1);
    CHECK(json_get_num(all, "avgDuration", -1) == 211.0 / 21);
    CHECK(json_get_num(all, "p95Duration", -1) == 19); /* 1 1 2 … 20: place 19 of 0 to 20 */
    CHECK(json_get_num(all, "p50Duration", -1) == 10 && json_get_num(all, "p99Duration", -1) == 20);
    CHECK_INT(json_get_int(json_object_get(all, "functionCounts"), "a::x", -1), 15);
    CHECK_INT(json_get_int(json_object_get(all, "functionCounts"), "a::y", -1), 5);
    JSON_OWNED odd = traces_metrics(t, "odd", NULL);
    CHECK_INT(json_get_int(odd, "totalRequests", -1), 10);
    CHECK_INT(json_get_int(odd, "totalErrors", -1), 0);
    CHECK(json_get_num(odd, "avgDuration", -1) == 10);
    traces_free(t);
}

TEST(clearing_removes_what_is_older_and_counts_what_was_seen)
{
    CLEANUP(store_close_p) struct store *s = open_store("clear");
    struct traces *t = traces_new(s, 2);
    for (int i = 1; i <= 3; i++)
        add(t, "a::x", NULL, "", i);
    CHECK_INT(traces_clear(t, clock_wall_ms() - 60000, NULL), 0); /* all are younger */
    CHECK_STR(page(t, (struct traces_query){ .limit = 10 }), "3 2 ");
    add(t, "a::x", NULL, "", 4);
    add(t, "a::x", NULL, "", 5);
    CHECK_INT(traces_clear(t, clock_wall_ms() + 60000, NULL),
              2); /* those that wait to be trimmed were no longer seen */
    CHECK_INT(total(t, (struct traces_query){ .limit = 10 }), 0);
    traces_free(t);
    t = traces_new(s, 2);
    CHECK_INT(total(t, (struct traces_query){ .limit = 10 }), 0);
    traces_free(t);
}

int main(void)
{
    CHECK(mkdtemp(folder) != NULL);
    RUN(pages_are_newest_first_and_filtered);
    RUN(the_newest_are_kept_and_found_again);
    RUN(a_flood_of_one_tenant_pushes_out_nothing_of_another);
    RUN(a_row_says_what_went_wrong);
    RUN(figures);
    RUN(clearing_removes_what_is_older_and_counts_what_was_seen);
    static const char *const made[] = { "pages", "kept", "flood", "rows", "figures", "clear" };
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
        CLEANUP(free_p) char *path = xasprintf("%s/%s", folder, made[i]);
        CHECK_INT(unlink(path), 0);
    }
    CHECK_INT(rmdir(folder), 0);
    return tap_done();
}
