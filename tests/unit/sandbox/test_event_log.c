/* The log of events: what is kept when there are too many, and that places stay valid meanwhile. */
#include "sandbox/observe/event_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tap.h"

static int64_t total(struct event_log *e, const char *tenant)
{
    JSON_OWNED page = event_log_page(e, &(struct event_log_query){ .tenant = tenant, .limit = 1 }, NULL);
    return json_get_int(page, "total", -1);
}

static void emit(struct event_log *e, const char *tenant, const char *topic, int count)
{
    for (int i = 0; i < count; i++)
        event_log_emit_for(e, tenant, topic, "sbx_1", json_pack("{s:i}", "i", i));
}

TEST(a_flood_of_one_tenant_pushes_out_nothing_of_another)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    CHECK_INT(store_open(STORE_IN_MEMORY, &s, NULL), 0);
    struct event_log *e = event_log_new(s);
    event_log_set_keep(e, 100);
    emit(e, "quiet", "a", 5);
    emit(e, "loud", "b", 1200); /* past two trims, before anybody asks */
    CHECK_INT(total(e, "quiet"), 5);
    CHECK_INT(total(e, "loud"), 95);
    emit(e, "", "c", 300);
    CHECK_INT(total(e, "quiet"), 5);
    CHECK_INT(total(e, "loud") + total(e, "quiet"), 52); /* and 48 of the server's own */
    CHECK_INT(total(e, NULL), 100);
    event_log_free(e);
    e = event_log_new(s); /* the same after a restart */
    event_log_set_keep(e, 100);
    CHECK_INT(total(e, "quiet"), 5);
    CHECK_INT(total(e, NULL), 100);
    event_log_set_keep(e, 100);
    event_log_free(e);
}

TEST(large_events_of_one_tenant_push_out_its_own)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    CLEANUP(free_p) char *text = xzalloc(EVENT_LOG_DATA_MAX);
    memset(text, 'x', EVENT_LOG_DATA_MAX - 100);
    CHECK_INT(store_open(STORE_IN_MEMORY, &s, NULL), 0);
    struct event_log *e = event_log_new(s);
    JSON_OWNED large = json_pack("{s:s}", "text", text);
    emit(e, "quiet", "a", 5);
    struct event_log_news news = { .data = large, .topic = "b", .sandbox_id = "", .tenant = "loud" };
    for (size_t i = 0; i < EVENT_LOG_BYTES_MAX / EVENT_LOG_DATA_MAX + 300; i++)
        CHECK(event_log_publish(e, &news, NULL));
    CHECK_INT(total(e, "quiet"), 5);
    CHECK(total(e, "loud") <= (int64_t)(EVENT_LOG_BYTES_MAX / (EVENT_LOG_DATA_MAX - 100)));
    CHECK(total(e, "loud") > 900);
    event_log_free(e);
}

TEST(places_stay_valid_while_others_are_trimmed)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    CHECK_INT(store_open(STORE_IN_MEMORY, &s, NULL), 0);
    struct event_log *e = event_log_new(s);
    event_log_set_keep(e, 100);
    const struct event_log_query of_quiet = { .tenant = "quiet" }, all = { 0 };
    emit(e, "loud", "a", 90);
    int64_t place = event_log_end(e), oldest = event_log_after(e, "evt_unknown");
    emit(e, "quiet", "b", 2);
    emit(e, "loud", "a", 1000);
    for (int i = 0; i < 2; i++) {
        JSON_OWNED event = event_log_next(e, &of_quiet, &place);
        CHECK_INT(json_get_int(json_get(event, "data"), "i", -1), i);
        CHECK_INT(event_log_after(e, json_get_str(event, "id", "")), place);
    }
    CHECK(!event_log_next(e, &of_quiet, &place) && place == event_log_end(e));
    (void)total(e, NULL); /* trims */
    int seen = 0;
    for (;; seen++) {
        JSON_OWNED event = event_log_next(e, &all, &oldest);
        if (!event)
            break;
    }
    CHECK_INT(seen, 100);
    event_log_free(e);
}

int main(void)
{
    RUN(a_flood_of_one_tenant_pushes_out_nothing_of_another);
    RUN(large_events_of_one_tenant_push_out_its_own);
    RUN(places_stay_valid_while_others_are_trimmed);
    return tap_done();
}
