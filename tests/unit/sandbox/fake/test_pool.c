/* Warm sandboxes: made ahead, handed out under a new name, replaced, ended. */
#include "sandbox/fake/fakerig.h"

static struct rig g;

static void open_pool(int64_t size)
{
    rig_init(&g);
    g.settings.pool_size = size;
    rig_start(&g);
    CHECK(rig_settle(&g));
}

static int64_t ready(void)
{
    JSON_OWNED status = pool_status(g.manager->pool);
    return json_get_int(status, "ready", -1);
}

TEST(a_create_takes_a_warm_box_and_the_pool_makes_another)
{
    open_pool(2);
    CHECK_INT(ready(), 2);
    unsigned before = fake_count_calls(g.host, FAKE_CREATE);
    struct sandbox *s = rig_create(&g);
    CHECK_INT(fake_count_calls(g.host, FAKE_CREATE), before);
    CHECK(strncmp(s->box_id, "pool_", 5) == 0);
    struct fake_view v = { 0 };
    CHECK(fake_find(g.host, s->box_id, &v));
    CHECK_STR(v.hostname, s->id);
    CHECK_INT(ready(), 1);
    virtual_advance(g.loop, 10);
    CHECK(rig_settle(&g));
    CHECK_INT(ready(), 2);
    CHECK_INT(rig_boxes(&g), 3);
    rig_close(&g);
}

TEST(a_create_with_wishes_of_its_own_gets_a_box_of_its_own)
{
    open_pool(1);
    struct answer a = rig_create_by(&g, NULL, "{\"memory\": 1024}");
    const struct sandbox *s = map_get(g.manager->sandboxes, a.id);
    CHECK_STR(s->box_id, s->id);
    CHECK_INT(ready(), 1);
    rig_close(&g);
}

TEST(a_warm_box_that_died_fails_its_create_and_is_not_left_behind)
{
    open_pool(1);
    struct fake_view v = { 0 };
    char id[IDENT_MAX] = "";
    for (struct sandbox *s = rig_create(&g); s; s = NULL)
        memcpy(id, s->box_id, sizeof(id));
    CHECK_INT(fake_kill_agent(g.host, id), 0);
    CHECK(rig_settle(&g));
    CHECK(!fake_find(g.host, id, &v)); /* a taken one ends with its agent */
    virtual_advance(g.loop, 10);
    CHECK(rig_settle(&g));
    CHECK_INT(rig_boxes(&g), 1);
    rig_close(&g);
}

TEST(a_pool_that_cannot_be_filled_is_filled_later)
{
    rig_init(&g);
    g.settings.pool_size = 2;
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    fake_script(g.host, FAKE_CREATE, 2, (struct fake_fate){ .outcome = FAKE_LOSE });
    rig_start(&g);
    CHECK(rig_settle(&g));
    CHECK_INT(ready(), 0);
    CHECK_INT(rig_boxes(&g), 0);
    virtual_advance(g.loop, 31000);
    CHECK(rig_settle(&g));
    CHECK_INT(ready(), 2);
    rig_close(&g);
}

TEST(the_end_of_the_server_ends_the_pool_also_what_is_still_being_made)
{
    rig_init(&g);
    g.settings.pool_size = 2;
    g.end = MANAGER_KEEP;
    fake_script(g.host, FAKE_CREATE, 2, (struct fake_fate){ .delay_ms = 500 });
    rig_start(&g);
    virtual_advance(g.loop, 10);
    CHECK_INT(rig_boxes(&g), 2);
    rig_stop(&g);
    CHECK_INT(rig_boxes(&g), 0);
    rig_close(&g);
}

TEST(a_kept_pool_box_of_a_sandbox_survives_a_restart_and_the_spare_ones_do_not)
{
    open_pool(2);
    g.end = MANAGER_KEEP;
    struct sandbox *s = rig_create(&g);
    char id[IDENT_MAX], box_id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    memcpy(box_id, s->box_id, sizeof(box_id));
    rig_crash(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    s = map_get(g.manager->sandboxes, id);
    CHECK(s != NULL);
    CHECK_STR(s ? s->box_id : "", box_id);
    CHECK_INT(ready(), 2);
    CHECK_INT(rig_boxes(&g), 3);
    rig_close(&g);
}

int main(void)
{
    RUN(a_create_takes_a_warm_box_and_the_pool_makes_another);
    RUN(a_create_with_wishes_of_its_own_gets_a_box_of_its_own);
    RUN(a_warm_box_that_died_fails_its_create_and_is_not_left_behind);
    RUN(a_pool_that_cannot_be_filled_is_filled_later);
    RUN(the_end_of_the_server_ends_the_pool_also_what_is_still_being_made);
    RUN(a_kept_pool_box_of_a_sandbox_survives_a_restart_and_the_spare_ones_do_not);
    return tap_done();
}
