/* A server that starts again: adopts what lives, drops what does not, removes what nobody names. */
#include "sandbox/fake/fakerig.h"
#include "sandbox/observe/workers.h"

static struct rig g;

static void restart(bool is_crash)
{
    if (is_crash)
        rig_crash(&g);
    else
        rig_stop(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
}

TEST(sandboxes_that_live_are_adopted_with_all_they_had)
{
    for (int is_crash = 0; is_crash < 2; is_crash++) {
        rig_open(&g);
        g.end = MANAGER_KEEP;
        struct sandbox *s = rig_create(&g), *paused = rig_create(&g);
        char ids[2][IDENT_MAX];
        memcpy(ids[0], s->id, IDENT_MAX);
        memcpy(ids[1], paused->id, IDENT_MAX);
        rig_write(&g, s, "/data", "mine");
        struct answer a = answer_init(&g);
        manager_pause(g.manager, paused, answer_sandbox, &a);
        CHECK(rig_settle(&g));
        int64_t expires_at = s->expires_at;
        restart(is_crash);
        rig_check(&g, 2);
        s = map_get(g.manager->sandboxes, ids[0]);
        paused = map_get(g.manager->sandboxes, ids[1]);
        CHECK(s && s->link && s->box);
        CHECK_INT(s->expires_at, expires_at);
        CHECK_INT(paused->status, SANDBOX_PAUSED);
        CHECK_STR(fake_file(g.host, s->box_id, "/data", NULL), "mine");
        rig_write(&g, s, "/data", "again");
        rig_close(&g);
    }
}

TEST(dead_and_refused_boxes_are_stopped_and_lost_ones_lose_their_record)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct sandbox *all[4];
    char box_ids[4][IDENT_MAX];
    for (int i = 0; i < 4; i++) {
        all[i] = rig_create(&g);
        memcpy(box_ids[i], all[i]->box_id, IDENT_MAX);
    }
    rig_stop(&g);
    CHECK_INT(fake_kill_box(g.host, box_ids[0], NULL), 0);
    CHECK_INT(fake_lose_box(g.host, box_ids[1]), 0);
    fake_script(g.host, FAKE_ADOPT, 3, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 100 });
    rig_start(&g);
    CHECK(rig_settle(&g));
    rig_check(&g, 3);
    size_t n_stopped = 0;
    for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);)
        n_stopped += ((struct sandbox *)it.value)->status == SANDBOX_STOPPED;
    CHECK_INT(n_stopped, 2);
    rig_close(&g);
}

TEST(a_box_that_no_record_names_is_swept)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    (void)rig_create(&g);
    struct answer a = answer_init(&g);
    SANDBOX_CONFIG_OWNED config = rig_config(NULL);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 1000 });
    manager_create(g.manager, &(struct create_plan){ .config = &config }, answer_sandbox, &a);
    virtual_advance(g.loop, 10);
    CHECK_INT(rig_boxes(&g), 2);
    restart(true);
    rig_check(&g, 1);
    rig_close(&g);
}

TEST(a_stop_waits_for_what_is_being_made_and_does_not_let_it_in)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct answer a = answer_init(&g);
    SANDBOX_CONFIG_OWNED config = rig_config(NULL);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 1000 });
    manager_create(g.manager, &(struct create_plan){ .config = &config }, answer_sandbox, &a);
    rig_stop(&g);
    CHECK_INT(a.n, 1);
    CHECK_INT(a.err.code, ERR_CAPACITY);
    CHECK_INT(rig_boxes(&g), 0);
    rig_close(&g);
}

TEST(a_stop_that_keeps_nothing_ends_every_box)
{
    rig_open(&g);
    g.end = MANAGER_REMOVE;
    (void)rig_create(&g);
    (void)rig_create(&g);
    rig_stop(&g);
    CHECK_INT(rig_boxes(&g), 0);
    CHECK_INT(store_count(g.store, "sandbox"), 0);
    rig_close(&g);
}

TEST(what_expired_while_the_server_was_down_goes_at_the_first_sweep)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    (void)rig_create_by(&g, NULL, "{\"timeout\": 60}");
    rig_stop(&g);
    virtual_us += 120ll * 1000000;
    rig_start(&g);
    CHECK(rig_settle(&g));
    virtual_advance(g.loop, 31000);
    CHECK(rig_settle(&g));
    rig_check(&g, 0);
    rig_close(&g);
}

/* It is killed while the driver still looks for its box. */
TEST(a_kill_during_adoption_ends_the_box_when_it_is_found)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct sandbox *s = rig_create(&g);
    char id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    rig_stop(&g);
    fake_script(g.host, FAKE_ADOPT, 1, (struct fake_fate){ .delay_ms = 500 });
    rig_start(&g);
    virtual_advance(g.loop, 10);
    s = map_get(g.manager->sandboxes, id);
    CHECK(s != NULL);
    CHECK_INT(manager_kill(g.manager, s, "sandbox.killed", NULL), 0);
    CHECK(rig_settle(&g));
    rig_check(&g, 0);
    rig_close(&g);
}

static void rename_worker(const char *name)
{
    free(g.settings.worker_name);
    g.settings.worker_name = xstrdup(name);
}

TEST(all_sandboxes_of_a_dead_worker_are_taken_over)
{
    struct err err = ERR_INIT;
    rig_init(&g);
    g.end = MANAGER_KEEP;
    rename_worker("old");
    rig_start(&g);
    CHECK(rig_settle(&g));
    (void)rig_create(&g);
    (void)rig_create(&g);
    JSON_OWNED beat = workers_heartbeat(g.manager->workers, &err);
    rig_stop(&g);
    rename_worker("new");
    virtual_us += WORKERS_ALIVE_MS * 1000ll;
    rig_start(&g);
    CHECK(rig_settle(&g));
    for (int is_again = 0; is_again < 2; is_again++) {
        JSON_OWNED done = workers_reap(g.manager->workers, &err);
        CHECK_INT(json_get_int(done, "reaped", -1), is_again ? 0 : 1);
        CHECK_INT(json_get_int(done, "reassigned", -1), is_again ? 0 : 2);
    }
    rig_close(&g);
}

int main(void)
{
    RUN(sandboxes_that_live_are_adopted_with_all_they_had);
    RUN(dead_and_refused_boxes_are_stopped_and_lost_ones_lose_their_record);
    RUN(a_box_that_no_record_names_is_swept);
    RUN(a_stop_waits_for_what_is_being_made_and_does_not_let_it_in);
    RUN(a_stop_that_keeps_nothing_ends_every_box);
    RUN(what_expired_while_the_server_was_down_goes_at_the_first_sweep);
    RUN(a_kill_during_adoption_ends_the_box_when_it_is_found);
    RUN(all_sandboxes_of_a_dead_worker_are_taken_over);
    return tap_done();
}
