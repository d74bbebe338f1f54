/* Stop and start: what is kept, what each failure leaves, who waits for a start, and what a reboot leaves. */
#include "base/clock.h"
#include "sandbox/fake/fakerig.h"
#include "sandbox/lifecycle/lifecycle.h"

static const struct manager_stop_plan at_once = { .reason = "request" };
static const struct manager_stop_plan politely = { .timeout_ms = 5000, .reason = "request" };

static struct answer stop(struct rig *g, struct sandbox *s, const struct manager_stop_plan *plan)
{
    struct answer a = answer_init(g);
    manager_stop(s, plan, answer_sandbox, &a);
    CHECK(rig_settle(g));
    CHECK_INT(a.n, 1);
    return a;
}

/* One that waits for a start. */
struct waiting {
    struct answer answer;
    struct manager_waiter *waiter;
};

static void wait_for(struct rig *g, struct sandbox *s, const struct tenant_by *by, struct waiting *w)
{
    w->answer = answer_init(g);
    manager_start(s, by, answer_sandbox, &w->answer, &w->waiter);
}

static struct answer start(struct rig *g, struct sandbox *s)
{
    struct waiting w;
    wait_for(g, s, NULL, &w);
    CHECK(rig_settle(g));
    CHECK_INT(w.answer.n, 1);
    CHECK(w.waiter == NULL);
    return w.answer;
}

static void check_stopped(struct rig *g, const struct sandbox *s, const char *reason)
{
    struct fake_view v = { 0 };
    JSON_OWNED rec = NULL;
    CHECK_INT(s->status, SANDBOX_STOPPED);
    CHECK(!s->box && !s->link && s->kept);
    CHECK_STR(s->stop.reason, reason);
    CHECK(fake_find(g->host, s->box_id, &v) && v.is_halted && !v.is_connected);
    CHECK_INT(store_get(g->store, "sandbox", s->id, &rec, NULL), 0);
    CHECK_STR(json_get_str(rec, "status", ""), "stopped");
}

static void check_file(struct rig *g, const struct sandbox *s, const char *text)
{
    const char *found = fake_file(g->host, s->box_id, "/f", NULL);
    CHECK_STR(found ? found : "nothing", text);
}

TEST(keeps_files_and_record_and_starts_with_them)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    int64_t expires_at = s->expires_at;
    rig_write(&g, s, "/f", "text");
    CHECK_INT(stop(&g, s, &politely).err.code, ERR_NONE);
    check_stopped(&g, s, "request");
    CHECK_INT(s->expires_at, 0);                         /* its time does not run */
    CHECK_INT(stop(&g, s, &at_once).err.code, ERR_NONE); /* again: nothing to do */
    CHECK_INT(sandbox_need_running(s, NULL), -EEXIST);
    virtual_advance(g.loop, 3600 * 1000 * 2);
    CHECK(map_get(g.manager->sandboxes, s->id) == s);
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    CHECK_INT(s->status, SANDBOX_RUNNING);
    CHECK(s->expires_at > expires_at); /* and starts anew */
    check_file(&g, s, "text");
    CHECK_INT(start(&g, s).err.code, ERR_NONE); /* it runs */
    rig_check(&g, 1);
    rig_kill(&g, s);
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(starts_once_for_all_who_wait)
{
    struct rig g;
    struct waiting w[3];
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    (void)stop(&g, s, &at_once);
    unsigned before = fake_count_calls(g.host, FAKE_CREATE);
    for (int i = 0; i < 3; i++)
        wait_for(&g, s, NULL, &w[i]);
    manager_start_cancel(w[1].waiter);
    g.n_waiting--;
    CHECK(rig_settle(&g));
    CHECK_INT(fake_count_calls(g.host, FAKE_CREATE) - before, 1);
    CHECK(w[0].answer.count == 1 && w[1].answer.n == 0 && w[2].answer.count == 1);
    rig_close(&g);
}

TEST(a_start_that_fails_tells_all_and_keeps_the_files)
{
    struct rig g;
    struct waiting w[2];
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/f", "text");
    (void)stop(&g, s, &at_once);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_NO_SPACE });
    wait_for(&g, s, NULL, &w[0]);
    wait_for(&g, s, NULL, &w[1]);
    CHECK(rig_settle(&g));
    CHECK_INT(w[0].answer.err.code, ERR_NO_SPACE);
    CHECK_INT(w[1].answer.err.code, ERR_NO_SPACE);
    check_stopped(&g, s, "request");
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_DIE });
    (void)start(&g, s); /* it may have been complete before it died */
    check_stopped(&g, s, "died");
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_LOSE });
    CHECK_INT(start(&g, s).err.sys, EPIPE);
    check_stopped(&g, s, "died");
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    check_file(&g, s, "text");
    rig_check(&g, 1);
    rig_close(&g);
}

TEST(a_halt_that_fails_is_told_and_tried_again)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/f", "text");
    fake_script(g.host, FAKE_HALT, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    fake_script(g.host, FAKE_RETAIN, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    CHECK_INT(stop(&g, s, &at_once).err.code, ERR_INTERNAL);
    check_stopped(&g, s, "request"); /* the second try was right */
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    check_file(&g, s, "text");
    rig_close(&g);
}

TEST(a_kill_in_the_middle_leaves_nothing)
{
    for (int i = 0; i < 4; i++) {
        struct rig g;
        struct waiting w = { 0 };
        struct answer a = { 0 };
        rig_open(&g);
        struct sandbox *s = rig_create(&g);
        if (i >= 2)
            (void)stop(&g, s, &at_once);
        fake_script(g.host, i < 2 ? FAKE_HALT : FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 100 });
        if (i < 2) {
            a = answer_init(&g);
            manager_stop(s, i == 0 ? &politely : &at_once, answer_sandbox, &a);
        } else {
            wait_for(&g, s, NULL, &w);
        }
        if (i == 1 || i == 3)
            virtual_advance(g.loop, 50);
        CHECK_INT(manager_kill(g.manager, s, "sandbox.killed", NULL), 0);
        CHECK(rig_settle(&g));
        CHECK_INT((i < 2 ? a : w.answer).err.code, ERR_NOT_FOUND);
        rig_check(&g, 0);
        rig_close(&g);
    }
}

TEST(what_waits_for_a_stop_starts_after_it)
{
    struct rig g;
    struct waiting w;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g), b = answer_init(&g), c = answer_init(&g);
    manager_stop(s, &at_once, answer_sandbox, &a);
    wait_for(&g, s, NULL, &w);
    manager_stop(s, &at_once, answer_sandbox, &b);
    manager_pause(g.manager, s, answer_sandbox, &c);
    CHECK(rig_settle(&g));
    CHECK_INT(a.err.code, ERR_NONE);
    CHECK_INT(w.answer.err.code, ERR_NONE);
    CHECK_INT(b.err.code, ERR_CONFLICT);
    CHECK_INT(c.err.code, ERR_CONFLICT);
    CHECK_INT(s->status, SANDBOX_RUNNING);
    a = answer_init(&g); /* a paused one is resumed, and stopped as it is */
    manager_pause(g.manager, s, answer_sandbox, &a);
    wait_for(&g, s, NULL, &w);
    CHECK(rig_settle(&g));
    CHECK_INT(w.answer.err.code, ERR_NONE);
    CHECK_INT(s->status, SANDBOX_RUNNING);
    rig_close(&g);
}

TEST(memory_and_cpus_of_a_stopped_one_are_free_for_others)
{
    struct rig g;
    struct waiting w;
    struct tenant_by by = { .tenant = "acme" };
    by.quota.set = 1u << QUOTA_MEMORY_MB | 1u << QUOTA_SANDBOXES;
    by.quota.max[QUOTA_MEMORY_MB] = 600;
    by.quota.max[QUOTA_SANDBOXES] = 2;
    rig_open(&g);
    struct answer a = rig_create_by(&g, &by, "{\"memory\": 512}");
    struct sandbox *s = map_get(g.manager->sandboxes, a.id);
    CHECK_INT(rig_create_by(&g, &by, "{\"memory\": 512}").err.code, ERR_RATE_LIMITED);
    (void)stop(&g, s, &at_once);
    CHECK_INT(tenant_usage(g.manager, "acme", QUOTA_MEMORY_MB), 0);
    CHECK_INT(tenant_usage(g.manager, "acme", QUOTA_SANDBOXES), 1);
    CHECK_INT(rig_create_by(&g, &by, "{\"memory\": 512}").err.code, ERR_NONE);
    CHECK_INT(rig_create_by(&g, &by, "{\"memory\": 64}").err.code, ERR_RATE_LIMITED); /* it is the third */
    wait_for(&g, s, &by, &w);
    CHECK(rig_settle(&g));
    CHECK_INT(w.answer.err.code, ERR_RATE_LIMITED);
    check_stopped(&g, s, "request");
    rig_close(&g);
}

TEST(a_reboot_leaves_stopped_sandboxes_with_their_files)
{
    struct rig g;
    rig_open(&g);
    g.end = MANAGER_KEEP;
    char ids[4][IDENT_MAX];
    for (int i = 0; i < 4; i++) {
        struct sandbox *s = rig_create(&g);
        char text[2] = { (char)('a' + i), '\0' };
        memcpy(ids[i], s->id, sizeof(ids[i]));
        rig_write(&g, s, "/f", text);
    }
    (void)stop(&g, map_get(g.manager->sandboxes, ids[1]), &at_once);
    (void)stop(&g, map_get(g.manager->sandboxes, ids[3]), &at_once);
    rig_stop(&g);
    fake_reboot(g.host);
    CHECK_INT(fake_lose_box(g.host, ids[2]), 0); /* its disk is broken */
    CHECK_INT(fake_lose_box(g.host, ids[3]), 0);
    rig_start(&g);
    CHECK(rig_settle(&g));
    CHECK_INT(map_count(g.manager->sandboxes), 2);
    struct sandbox *lost = map_get(g.manager->sandboxes, ids[0]), *halted = map_get(g.manager->sandboxes, ids[1]);
    check_stopped(&g, lost, "lost");
    check_stopped(&g, halted, "request");
    CHECK(lost->why != NULL && lost->expires_at > 0); /* its time goes on */
    CHECK_INT(start(&g, lost).err.code, ERR_NONE);
    CHECK_INT(start(&g, halted).err.code, ERR_NONE);
    CHECK(lost->why == NULL);
    check_file(&g, lost, "a");
    check_file(&g, halted, "b");
    rig_check(&g, 2);
    rig_close(&g);
}

TEST(a_stop_of_the_server_that_stops_leaves_no_box_and_all_files)
{
    struct rig g;
    rig_open(&g);
    g.end = MANAGER_STOP;
    char ids[2][IDENT_MAX];
    for (int i = 0; i < 2; i++) {
        struct sandbox *s = rig_create(&g);
        memcpy(ids[i], s->id, sizeof(ids[i]));
        rig_write(&g, s, "/f", "x");
    }
    (void)stop(&g, map_get(g.manager->sandboxes, ids[1]), &at_once);
    rig_stop(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    struct sandbox *ended = map_get(g.manager->sandboxes, ids[0]);
    check_stopped(&g, ended, "shutdown");
    CHECK(ended->expires_at > 0); /* its time goes on */
    check_stopped(&g, map_get(g.manager->sandboxes, ids[1]), "request");
    CHECK_INT(start(&g, ended).err.code, ERR_NONE);
    check_file(&g, ended, "x");
    g.end = MANAGER_REMOVE;
    rig_close(&g);
}

TEST(a_crash_in_the_middle_of_a_stop_or_start_loses_nothing)
{
    for (int i = 0; i < 8; i++) {
        struct rig g;
        struct waiting w;
        char id[IDENT_MAX];
        rig_open(&g);
        struct sandbox *s = rig_create(&g);
        memcpy(id, s->id, sizeof(id));
        rig_write(&g, s, "/f", "text");
        if (i >= 4)
            (void)stop(&g, s, &at_once);
        fake_script(g.host, i < 4 ? FAKE_HALT : FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 4 });
        struct answer a = answer_init(&g);
        if (i < 4)
            manager_stop(s, &at_once, answer_sandbox, &a);
        else
            wait_for(&g, s, NULL, &w);
        virtual_advance(g.loop, i % 4 * 2);
        rig_crash(&g);
        rig_start(&g);
        CHECK(rig_settle(&g));
        s = map_get(g.manager->sandboxes, id);
        CHECK(s != NULL);
        CHECK_INT(start(&g, s).err.code, ERR_NONE);
        check_file(&g, s, "text");
        rig_check(&g, 1);
        rig_close(&g);
    }
}

TEST(volumes_and_networks_come_back_with_it)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    const json_t *volume = volumes_create(g.manager->volumes, NULL, &(struct volumes_plan){ .name = "v" }, NULL);
    char vid[IDENT_MAX], nid[IDENT_MAX];
    (void)snprintf(vid, sizeof(vid), "%s", json_get_str(volume, "id", ""));
    struct box_volume how = { .target = "/mnt" };
    struct answer a = answer_init(&g), b = answer_init(&g);
    volumes_attach(g.manager->volumes, vid, s, &how, answer_done, &a);
    networks_create(g.manager->networks, NULL, "net", answer_record, &b);
    CHECK(rig_settle(&g));
    memcpy(nid, b.id, sizeof(nid));
    a = answer_init(&g);
    networks_connect(g.manager->networks, nid, s, answer_done, &a);
    CHECK(rig_settle(&g));
    uint32_t address = fake_address(g.host, s->box_id, nid);
    (void)stop(&g, s, &at_once);
    CHECK(fake_mounted(g.host, s->box_id, "/mnt") == NULL);
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    const char *there = fake_mounted(g.host, s->box_id, "/mnt");
    CHECK_STR(there ? there : "nothing", vid);
    CHECK_INT(fake_address(g.host, s->box_id, nid), address);
    (void)stop(&g, s, &at_once); /* both can be taken from a stopped one */
    a = answer_init(&g);
    b = answer_init(&g);
    volumes_detach(g.manager->volumes, vid, answer_done, &a);
    networks_disconnect(g.manager->networks, nid, s, answer_done, &b);
    CHECK(rig_settle(&g));
    CHECK_INT(a.err.code, ERR_NONE);
    CHECK_INT(b.err.code, ERR_NONE);
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    CHECK(fake_mounted(g.host, s->box_id, "/mnt") == NULL);
    CHECK_INT(fake_address(g.host, s->box_id, nid), 0);
    rig_close(&g);
}

static void set_policy(struct sandbox *s, json_t *members)
{
    struct err err = ERR_INIT;
    CHECK_INT(manager_set_policy(s, members, &err), 0);
    json_decref(members);
}

/* Lets its time be over. */
static void expire(struct rig *g, struct sandbox *s)
{
    sandbox_expire_at(s, clock_wall_ms() + 1000);
    virtual_advance(g->loop, 2000);
    CHECK_INT(manager_sweep(g->manager), 0);
    CHECK(rig_settle(g));
}

TEST(expiry_does_what_the_policy_says)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/f", "text");
    set_policy(s, json_pack("{s:s}", "onTimeout", "pause"));
    expire(&g, s);
    CHECK_INT(s->status, SANDBOX_PAUSED);
    CHECK_INT(s->expires_at, 0);
    expire(&g, s); /* it sleeps, so nothing is left to do */
    CHECK_INT(s->status, SANDBOX_PAUSED);
    CHECK_INT(s->expires_at, 0);
    set_policy(s, json_pack("{s:s}", "onTimeout", "stop"));
    expire(&g, s);
    check_stopped(&g, s, "timeout");
    CHECK_INT(s->expires_at, 0);
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    CHECK(s->expires_at > clock_wall_ms() + 60000); /* the full time again */
    check_file(&g, s, "text");
    set_policy(s, json_pack("{s:s}", "onTimeout", "pause"));
    expire(&g, s);
    CHECK_INT(start(&g, s).err.code, ERR_NONE);
    CHECK(s->expires_at > clock_wall_ms() + 60000);
    set_policy(s, json_pack("{s:s}", "onTimeout", "kill"));
    sandbox_expire_at(s, clock_wall_ms() + 1000);
    virtual_advance(g.loop, 2000);
    CHECK_INT(manager_sweep(g.manager), 1);
    CHECK(rig_settle(&g));
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(a_policy_that_the_backend_cannot_do_is_refused)
{
    struct rig g;
    struct err err = ERR_INIT;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    JSON_OWNED bad = json_pack("{s:s, s:b}", "onIdle", "hibernate", "autoResume", 1);
    CHECK(manager_set_policy(s, bad, &err) < 0 && err.code == ERR_UNSUPPORTED);
    CHECK(!s->config.on_idle && !s->config.auto_resume && !s->is_persistent);
    CHECK_INT(manager_is_to_wake(s), false);
    rig_kill(&g, s);
    rig_close(&g);
}

TEST(restart_always_starts_what_died_with_growing_pauses)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/f", "text");
    set_policy(s, json_pack("{s:s}", "restart", "always"));
    for (int64_t pause_s = LIMIT_MIN(RESTART_S); pause_s <= 4; pause_s *= 2) {
        CHECK_INT(fake_kill_box(g.host, s->box_id, NULL), 0);
        CHECK(rig_settle(&g));
        check_stopped(&g, s, "died");
        virtual_advance(g.loop, pause_s * 1000 - 10);
        CHECK(rig_settle(&g));
        CHECK_INT(s->status, SANDBOX_STOPPED);
        virtual_advance(g.loop, 20);
        CHECK(rig_settle(&g));
        CHECK_INT(s->status, SANDBOX_RUNNING);
    }
    virtual_advance(g.loop, LIMIT_MAX(RESTART_S) * 1000 + 1000); /* it ran well: the first pause again */
    CHECK_INT(fake_kill_box(g.host, s->box_id, NULL), 0);
    CHECK(rig_settle(&g));
    virtual_advance(g.loop, LIMIT_MIN(RESTART_S) * 1000 + 10);
    CHECK(rig_settle(&g));
    CHECK_INT(s->status, SANDBOX_RUNNING);
    check_file(&g, s, "text");
    (void)stop(&g, s, &at_once); /* somebody wants it to be stopped */
    virtual_advance(g.loop, LIMIT_MAX(RESTART_S) * 1000 * 2);
    CHECK(rig_settle(&g));
    check_stopped(&g, s, "request");
    rig_kill(&g, s);
    rig_close(&g);
}

static void one_memory(void *arg, const char *tenant, struct quota *ret)
{
    CHECK_STR(tenant, "acme");
    ret->set = 1u << QUOTA_MEMORY_MB;
    ret->max[QUOTA_MEMORY_MB] = (double)*(int64_t *)arg;
}

TEST(what_the_server_starts_counts_for_the_tenants_quota)
{
    struct rig g;
    rig_open(&g);
    const struct tenant_by by = { .tenant = "acme" };
    struct sandbox *s = map_get(g.manager->sandboxes, rig_create_by(&g, &by, "{}").id);
    struct sandbox *other = map_get(g.manager->sandboxes, rig_create_by(&g, &by, "{}").id);
    int64_t most = s->config.memory_mb;
    g.manager->quota_of = one_memory;
    g.manager->quota_arg = &most;
    set_policy(s, json_pack("{s:s}", "restart", "always"));
    CHECK_INT(fake_kill_box(g.host, s->box_id, NULL), 0);
    CHECK(rig_settle(&g));
    virtual_advance(g.loop, LIMIT_MAX(RESTART_S) * 3000);
    CHECK(rig_settle(&g));
    CHECK_INT(s->status, SANDBOX_STOPPED); /* the other one has all the memory that the tenant may have */
    rig_kill(&g, other);
    virtual_advance(g.loop, LIMIT_MAX(RESTART_S) * 1000 + 1000);
    CHECK(rig_settle(&g));
    CHECK_INT(s->status, SANDBOX_RUNNING);
    rig_kill(&g, s);
    rig_close(&g);
}

int main(void)
{
    RUN(keeps_files_and_record_and_starts_with_them);
    RUN(starts_once_for_all_who_wait);
    RUN(a_start_that_fails_tells_all_and_keeps_the_files);
    RUN(a_halt_that_fails_is_told_and_tried_again);
    RUN(a_kill_in_the_middle_leaves_nothing);
    RUN(what_waits_for_a_stop_starts_after_it);
    RUN(memory_and_cpus_of_a_stopped_one_are_free_for_others);
    RUN(a_reboot_leaves_stopped_sandboxes_with_their_files);
    RUN(a_stop_of_the_server_that_stops_leaves_no_box_and_all_files);
    RUN(a_crash_in_the_middle_of_a_stop_or_start_loses_nothing);
    RUN(volumes_and_networks_come_back_with_it);
    RUN(expiry_does_what_the_policy_says);
    RUN(a_policy_that_the_backend_cannot_do_is_refused);
    RUN(restart_always_starts_what_died_with_growing_pauses);
    RUN(what_the_server_starts_counts_for_the_tenants_quota);
    return tap_done();
}
