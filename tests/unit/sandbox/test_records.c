#include "sandbox/lifecycle/records.h"

#include "tap.h"

static struct store *store;

static void open_store(void)
{
    struct err err = ERR_INIT;
    CHECK_INT(store_open(STORE_IN_MEMORY, &store, &err), 0);
}

static json_t *thing(const char *tenant, const char *owner)
{
    return json_pack("{s:s, s:s}", "tenant", tenant, "sandboxId", owner);
}

static void add(struct records *r, const char *id, const char *tenant, const char *owner)
{
    struct err err = ERR_INIT;
    JSON_OWNED rec = thing(tenant, owner);
    CHECK_INT(records_add(r, id, rec, &err), 0);
}

static bool is_wanted(void *arg, const char *id, json_t *record)
{
    (void)arg, (void)record;
    return *id == 'a';
}

TEST(records_are_in_the_store_and_come_back_in_their_order)
{
    struct records r, again;
    struct err err = ERR_INIT;
    open_store();
    records_init(&r, store, "thing", "thing");
    add(&r, "a2", "t", "s1");
    add(&r, "a1", "t", "s2");
    add(&r, "b1", "u", "s1");
    json_t *first = records_find(&r, "a2", &err);
    (void)json_object_set_new(first, "sandboxId", json_string("s9"));
    CHECK_INT(records_save(&r, "a2", &err), 0);
    records_done(&r);

    records_init(&again, store, "thing", "thing");
    CHECK_INT(records_load(&again, is_wanted, NULL, &err), 0);
    JSON_OWNED list = records_list(&again, NULL, NULL, NULL);
    CHECK_INT((int)json_array_size(list), 2);
    CHECK_STR(json_get_str(json_array_get(list, 0), "sandboxId", ""), "s9");
    CHECK(records_find(&again, "b1", NULL) == NULL);
    records_done(&again);
    store_close(store);
}

TEST(a_tenant_sees_its_own_and_lists_filter)
{
    struct records r;
    struct tenant_by by = { .tenant = "t", .view = "t" };
    open_store();
    records_init(&r, store, "thing", "thing");
    add(&r, "a", "t", "s1");
    add(&r, "b", "u", "s1");
    add(&r, "c", "t", "s2");
    JSON_OWNED mine = records_list(&r, &by, NULL, NULL);
    JSON_OWNED of_one = records_list(&r, &by, "sandboxId", "s1");
    CHECK_INT((int)json_array_size(mine), 2);
    CHECK_INT((int)json_array_size(of_one), 1);
    CHECK_INT((int)records_count(&r, "sandboxId", "s1"), 2);
    CHECK_STR(records_owner(&r, "b"), "u");
    CHECK(records_owner(&r, "x") == NULL);
    records_done(&r);
    store_close(store);
}

TEST(what_is_deleted_is_gone_from_both_and_what_is_not_there_is_said)
{
    struct records r;
    struct err err = ERR_INIT;
    json_t *row = NULL;
    open_store();
    records_init(&r, store, "thing", "thing");
    add(&r, "a", "t", "s1");
    add(&r, "b", "t", "s1");
    CHECK_INT(records_delete(&r, "a", &err), 0);
    records_drop(&r, "b");
    CHECK(store_get(store, "thing", "a", &row, NULL) < 0 && store_get(store, "thing", "b", &row, NULL) < 0);
    CHECK(records_delete(&r, "a", &err) < 0);
    CHECK_INT((int)err.code, (int)ERR_NOT_FOUND);
    CHECK_STR(err.msg, "thing not found: a");
    CHECK(map_count(r.by_id) == 0);
    records_done(&r);
    store_close(store);
}

int main(void)
{
    RUN(records_are_in_the_store_and_come_back_in_their_order);
    RUN(a_tenant_sees_its_own_and_lists_filter);
    RUN(what_is_deleted_is_gone_from_both_and_what_is_not_there_is_said);
    return tap_done();
}
