/* Shares of bounded tables, and what they mean for groups of values. */
#include "base/share.h"

#include <stdio.h>

#include "engine/value_store.h"
#include "tap.h"

TEST(a_tenant_holds_a_quarter_and_the_operator_all)
{
    struct share *s = share_new(40);
    CHECK(share_take(s, "a", 9) && share_take(s, "a", 1) && !share_take(s, "a", 1));
    CHECK(share_take(s, "b", 10) && !share_take(s, "c", 11) && !share_take(s, "c", (size_t)-1));
    CHECK(share_take(s, "", 1)); /* what the operator holds is left for nobody else */
    share_give(s, "a", 4);
    CHECK(!share_take(s, "a", 5) && share_take(s, "a", 4));
    share_give(s, "a", 1000); /* more than it holds: it holds nothing */
    CHECK(share_take(s, "a", 10));
    CHECK(!share_take(s, "c", 10) && share_take(s, "c", 9)); /* 10 are left, and as many as it holds stay free */
    share_free(s);
}

TEST(whatever_tenants_hold_there_is_room_for_another)
{
    struct share *s = share_new(1000);
    char name[16];
    for (int i = 0; i < 6; i++) { /* each takes all it may: 250, 250, 250, 125, 62, 31 */
        (void)snprintf(name, sizeof(name), "t%d", i);
        CHECK(share_take(s, name, 1));
        while (share_take(s, name, 1))
            ;
    }
    CHECK_INT(share_held(s, "t0"), 250);
    CHECK_INT(share_held(s, "t3"), 125);
    CHECK(share_held(s, "t5") > 0 && share_has_room(s, "newcomer", 1));
    CHECK(share_has_room(s, "", 32) && !share_has_room(s, "", 1000));
    share_free(s);
}

TEST(over_the_limit_those_go_who_hold_most)
{
    struct share *s = share_new(10);
    share_add(s, "", 10);
    CHECK(!share_is_over(s) && share_level(s) == 10);
    share_add(s, "b", 2);
    CHECK(share_is_over(s) && share_level(s) == 8); /* 8 and 2 */
    share_add(s, "c", 7);
    CHECK(share_level(s) == 4); /* 4, 2 and 4 */
    share_give(s, "", 10);
    CHECK(!share_is_over(s) && share_level(s) == 10);
    share_add(s, "b", (size_t)1 << 40);
    CHECK(share_is_over(s) && share_level(s) == 5);
    share_free(s);
    s = share_new(3);
    for (const char *name = "dcba"; *name; name++)
        share_add(s, name, 1);
    CHECK(share_is_over(s) && share_level(s) == 0); /* more owners than rows: the oldest of all goes */
    share_free(s);
}

TEST(a_guest_fills_a_quarter_of_a_group_and_its_creator_all)
{
    struct err err = ERR_INIT;
    CLEANUP(store_close_p) struct store *store = NULL;
    struct share *groups = share_new(VALUE_STORE_GROUPS_MAX);
    JSON_OWNED one = json_integer(1);
    JSON_OWNED empty = json_object();
    char key[16], owner[SHARE_TENANT_MAX];
    CHECK_INT(store_open(STORE_IN_MEMORY, &store, &err), 0);
    struct value_place p = { store, "scope", key, "index", "g", groups, "creator" };
    (void)snprintf(key, sizeof(key), "first");
    CHECK_INT(value_store_put(&p, one, true, 0, &err), 0);
    CHECK_INT(store_begin(store, &err), 0);
    for (int i = 1; i < VALUE_STORE_KEYS_MAX / SHARE_PARTS; i++) {
        (void)snprintf(key, sizeof(key), "%d", i);
        if (store_put(store, "scope", key, empty, &err) < 0)
            CHECK(!err.msg[0]);
    }
    CHECK_INT(store_commit(store, &err), 0);
    (void)snprintf(key, sizeof(key), "more");
    p.tenant = "guest";
    CHECK(value_store_put(&p, one, true, 0, &err) < 0 && err.code == ERR_CAPACITY);
    CHECK(strstr(err.msg, "in a group of another tenant") != NULL);
    p.tenant = "creator";
    CHECK_INT(value_store_put(&p, one, true, 0, &err), 0);
    value_store_owner(&p, owner);
    CHECK_STR(owner, "creator");
    p.tenant = "guest"; /* an overwrite needs no room, and the value is the guest's */
    CHECK_INT(value_store_put(&p, one, false, 0, &err), 0);
    value_store_owner(&p, owner);
    CHECK_STR(owner, "guest");
    p.tenant = "";
    (void)snprintf(key, sizeof(key), "operator");
    CHECK_INT(value_store_put(&p, one, true, 0, &err), 0); /* only the table's own limit binds it */
    share_free(groups);
}

int main(void)
{
    RUN(a_tenant_holds_a_quarter_and_the_operator_all);
    RUN(whatever_tenants_hold_there_is_room_for_another);
    RUN(over_the_limit_those_go_who_hold_most);
    RUN(a_guest_fills_a_quarter_of_a_group_and_its_creator_all);
    return tap_done();
}
