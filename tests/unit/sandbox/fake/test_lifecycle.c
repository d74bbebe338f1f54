/* Create, kill, pause, resume, expiry and limits of sandboxes over the fake backend, and what is left after failures.
 */
#include "sandbox/exec/command.h"
#include "sandbox/fake/fakerig.h"
#include "sandbox/observe/sandbox_usage.h"

static struct rig g;

struct ran {
    struct answer answer;
    struct guest_exit exit;
    char out[64];
};

static void on_ran(void *arg, const struct command_result *res, const struct err *err)
{
    struct ran *r = arg;
    if (res) {
        r->exit = res->exit;
        (void)snprintf(r->out, sizeof(r->out), "%s", buf_text(&res->out));
    }
    answer_take(&r->answer, err);
}

static int start_command(struct sandbox *s, const char *text, struct ran *r, struct command **ret)
{
    static const struct command_events events = { .on_done = on_ran };
    JSON_OWNED command = json_string(text);
    struct command_plan plan = { .command = command };
    struct err err = ERR_INIT;
    *r = (struct ran){ .answer = answer_init(&g) };
    int started = command_start(s, &plan, &events, r, ret, &err);
    if (started < 0)
        answer_take(&r->answer, &err);
    return started;
}

TEST(a_created_sandbox_has_a_record_a_box_and_an_agent)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct ran r;
    struct command *c;
    rig_check(&g, 1);
    CHECK_INT(start_command(s, "echo hello", &r, &c), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(r.answer.n, 1);
    CHECK_STR(r.out, "hello\n");
    CHECK_INT(start_command(s, "exit 7", &r, &c), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(r.exit.code, 7);
    CHECK_INT(manager_kill(g.manager, s, "sandbox.killed", NULL), 0);
    CHECK(rig_settle(&g));
    rig_check(&g, 0);
    CHECK_INT(g.manager->total_killed, 1);
    rig_close(&g);
}

TEST(a_create_that_fails_leaves_nothing)
{
    static const struct fake_fate fates[] = { { .outcome = FAKE_FAIL, .code = ERR_NO_SPACE },
                                              { .outcome = FAKE_LOSE, .delay_ms = 50 },
                                              { .outcome = FAKE_DIE } };
    rig_open(&g);
    for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++) {
        fake_script(g.host, FAKE_CREATE, 1, fates[i]);
        struct answer a = rig_create_by(&g, NULL, NULL);
        CHECK(i == 2 || a.err.code != ERR_NONE); /* one that dies may have been acknowledged a moment before */
        CHECK(i > 0 || a.err.code == ERR_NO_SPACE);
        rig_check(&g, 0);
    }
    CHECK_INT(tenant_usage(g.manager, "", QUOTA_SANDBOXES), 0);
    rig_close(&g);
}

TEST(a_create_counts_from_its_first_moment)
{
    rig_init(&g);
    g.settings.max_sandboxes = 2;
    rig_start(&g);
    CHECK(rig_settle(&g));
    struct answer all[4];
    SANDBOX_CONFIG_OWNED config = rig_config(NULL);
    struct create_plan plan = { .config = &config };
    for (int i = 0; i < 4; i++) {
        fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 1000 });
        all[i] = answer_init(&g);
        manager_create(g.manager, &plan, answer_sandbox, &all[i]);
    }
    CHECK_INT(all[2].err.code, ERR_CAPACITY);
    CHECK_INT(all[3].err.code, ERR_CAPACITY);
    CHECK(rig_settle(&g));
    CHECK_INT(all[0].count + all[1].count, 2);
    rig_check(&g, 2);
    rig_close(&g);
}

TEST(a_tenant_keeps_its_quota_also_while_creates_are_under_way)
{
    struct tenant_by by = { .tenant = "acme", .quota = { .set = 1u << QUOTA_SANDBOXES, .max = { 1 } } };
    rig_open(&g);
    struct answer first = rig_create_by(&g, &by, NULL);
    CHECK_INT(first.count, 1);
    struct answer second = rig_create_by(&g, &by, NULL);
    CHECK_INT(second.err.code, ERR_RATE_LIMITED);
    CHECK_INT(tenant_usage(g.manager, "acme", QUOTA_SANDBOXES), 1);
    CHECK_INT(manager_kill(g.manager, map_get(g.manager->sandboxes, first.id), "sandbox.killed", NULL), 0);
    CHECK_INT(rig_create_by(&g, &by, NULL).count, 1);
    rig_close(&g);
}

TEST(paused_sandboxes_stand_still_and_resume)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g);
    struct fake_view v = { 0 };
    manager_pause(g.manager, s, answer_sandbox, &a);
    CHECK(rig_settle(&g));
    CHECK(fake_find(g.host, s->box_id, &v) && v.is_paused);
    CHECK_INT(s->status, SANDBOX_PAUSED);
    struct answer again = answer_init(&g);
    manager_pause(g.manager, s, answer_sandbox, &again);
    CHECK_INT(again.err.code, ERR_CONFLICT);
    struct answer back = answer_init(&g);
    manager_resume(g.manager, s, answer_sandbox, &back);
    CHECK(rig_settle(&g));
    CHECK(fake_find(g.host, s->box_id, &v) && !v.is_paused);
    rig_close(&g);
}

/* The record says what the box does, whatever becomes of the answer. */
TEST(a_pause_without_an_answer_is_taken_back)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g);
    struct fake_view v = { 0 };
    fake_script(g.host, FAKE_PAUSE, 1, (struct fake_fate){ .outcome = FAKE_LOSE, .delay_ms = 10 });
    manager_pause(g.manager, s, answer_sandbox, &a);
    CHECK(rig_settle(&g));
    CHECK(a.err.code != ERR_NONE);
    CHECK_INT(s->status, SANDBOX_RUNNING);
    CHECK(fake_find(g.host, s->box_id, &v) && !v.is_paused);
    rig_close(&g);
}

/* Pauses, and resumes, over a crash between the driver's act and the record: the box does as the record says. */
TEST(a_change_of_status_that_a_crash_cuts_off_is_undone)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct sandbox *s = rig_create(&g);
    struct fake_view v = { 0 };
    char id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    for (int is_resume = 0; is_resume < 2; is_resume++) {
        struct answer cut = answer_init(&g);
        void (*change)(struct manager *, struct sandbox *, manager_sandbox_fn *, void *) =
            is_resume ? manager_resume : manager_pause;
        fake_script(g.host, is_resume ? FAKE_RESUME : FAKE_PAUSE, 1, (struct fake_fate){ .delay_ms = 100 });
        change(g.manager, s, answer_sandbox, &cut);
        rig_crash(&g);
        CHECK(fake_find(g.host, id, &v) && v.is_paused == !is_resume);
        rig_start(&g);
        CHECK(rig_settle(&g));
        s = map_get(g.manager->sandboxes, id);
        CHECK(s && s->status == (is_resume ? SANDBOX_PAUSED : SANDBOX_RUNNING));
        CHECK(fake_find(g.host, id, &v) && v.is_paused == is_resume);
        struct answer again = answer_init(&g);
        change(g.manager, s, answer_sandbox, &again);
        CHECK(rig_settle(&g));
        CHECK_INT(again.err.code, ERR_NONE);
    }
    rig_close(&g);
}

/* Else answers that overtake each other would leave a record of what the box no longer does. */
TEST(changes_of_one_status_wait_for_each_other)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer first = answer_init(&g), second = answer_init(&g);
    fake_script(g.host, FAKE_PAUSE, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 10 });
    fake_script(g.host, FAKE_PAUSE, 2, (struct fake_fate){ .delay_ms = 100 });
    manager_pause(g.manager, s, answer_sandbox, &first);
    manager_pause(g.manager, s, answer_sandbox, &second);
    CHECK_INT(second.err.code, ERR_CONFLICT);
    CHECK(rig_settle(&g));
    CHECK_INT(first.err.code, ERR_INTERNAL);
    struct fake_view v = { 0 };
    CHECK_INT(s->status, SANDBOX_RUNNING);
    CHECK(fake_find(g.host, s->box_id, &v) && !v.is_paused);
    rig_close(&g);
}

TEST(a_kill_in_the_middle_of_a_pause_ends_both)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g);
    fake_script(g.host, FAKE_PAUSE, 1, (struct fake_fate){ .delay_ms = 100 });
    manager_pause(g.manager, s, answer_sandbox, &a);
    CHECK_INT(manager_kill(g.manager, s, "sandbox.killed", NULL), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(expired_sandboxes_are_removed_at_the_next_sweep)
{
    rig_open(&g);
    struct answer a = rig_create_by(&g, NULL, "{\"timeout\": 60}");
    struct answer b = rig_create_by(&g, NULL, "{\"timeout\": 600}");
    virtual_advance(g.loop, 59000);
    rig_check(&g, 2);
    virtual_advance(g.loop, 32000);
    CHECK(rig_settle(&g));
    rig_check(&g, 1);
    CHECK(!map_get(g.manager->sandboxes, a.id) && map_get(g.manager->sandboxes, b.id));
    CHECK_INT(g.manager->total_expired, 1);
    rig_close(&g);
}

TEST(a_sandbox_whose_box_or_agent_dies_is_gone)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g), *other = rig_create(&g);
    struct ran r;
    struct command *c;
    CHECK_INT(start_command(s, "sleep 100", &r, &c), 0);
    virtual_advance(g.loop, 10);
    CHECK_INT(fake_kill_box(g.host, s->box_id, "kernel panic"), 0);
    CHECK_INT(fake_kill_agent(g.host, other->box_id), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(r.answer.n, 1);
    CHECK_INT(r.answer.err.code, ERR_GONE);
    CHECK(strstr(r.answer.err.msg, "kernel panic"));
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(a_cancelled_command_is_not_heard_of_again)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct ran r;
    struct command *c = NULL;
    struct fake_view v = { 0 };
    CHECK_INT(start_command(s, "sleep 100", &r, &c), 0);
    virtual_advance(g.loop, 10);
    CHECK(fake_find(g.host, s->box_id, &v) && v.n_running == 1);
    command_cancel(c);
    g.n_waiting--; /* no answer is owed */
    virtual_advance(g.loop, 200000);
    CHECK_INT(r.answer.n, 0);
    CHECK(fake_find(g.host, s->box_id, &v) && v.n_running == 0);
    rig_close(&g);
}

TEST(a_command_past_its_time_is_reported_as_such)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct ran r;
    struct command *c;
    CHECK_INT(start_command(s, "sleep 100000", &r, &c), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(r.answer.n, 1);
    CHECK(r.exit.is_timeout);
    rig_close(&g);
}

/* A box that the driver could not remove waits for the sweep of the next start. */
TEST(a_kill_is_done_even_if_the_driver_cannot_destroy)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    fake_script(g.host, FAKE_DESTROY, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    CHECK_INT(manager_kill(g.manager, s, "sandbox.killed", NULL), 0);
    CHECK(rig_settle(&g));
    CHECK_INT(map_count(g.manager->sandboxes), 0);
    CHECK_INT(rig_boxes(&g), 1);
    rig_stop(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(a_setting_that_cannot_be_read_ends_the_start)
{
    struct err err = ERR_INIT;
    rig_init(&g);
    free(g.settings.ttl_sweep);
    g.settings.ttl_sweep = xstrdup("never ever");
    CHECK_INT(loop_new(&g.loop, &err), 0);
    g.runtime = fake_new(g.loop, g.host, false);
    CHECK(manager_new(g.loop, &g.settings, g.store, g.images, g.runtime, &g.manager, &err) < 0);
    CHECK(strstr(err.msg, "III_TTL_SWEEP"));
    g.runtime = g.runtime->ops->free(g.runtime);
    g.loop = loop_free(g.loop);
    rig_close(&g);
}

static void on_refreshed(void *arg)
{
    answer_take(arg, NULL);
}

TEST(an_agent_that_cannot_count_leaves_the_numbers_of_the_driver)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    const struct runtime_ops *own = g.runtime->ops;
    struct runtime_ops counting = *own;
    counting.counts_inside = true; /* the fake agent knows no such request */
    g.runtime->ops = &counting;
    struct answer a = answer_init(&g);
    sandbox_usage_refresh(s, on_refreshed, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    CHECK(!s->inside.is_known);
    CHECK_INT(s->inside.n_asked, 0);
    g.runtime->ops = own;
    rig_close(&g);
}

TEST(a_renewal_that_the_store_refuses_changes_nothing)
{
    struct err err = ERR_INIT;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    int64_t was = s->expires_at;
    json_t *inner = json_object();
    CHECK_INT(json_object_set_new(s->metadata, "inner", inner), 0);
    CHECK_INT(json_object_set(inner, "outer", s->metadata), 0); /* no text can hold this */
    CHECK(manager_renew(g.manager, s, was + 60000, &err) < 0);
    CHECK_INT(s->expires_at, was);
    CHECK_INT(json_object_clear(inner), 0);
    CHECK_INT(manager_renew(g.manager, s, was + 60000, &err), 0);
    CHECK_INT(s->expires_at, was + 60000);
    rig_close(&g);
}

int main(void)
{
    RUN(a_created_sandbox_has_a_record_a_box_and_an_agent);
    RUN(a_create_that_fails_leaves_nothing);
    RUN(a_create_counts_from_its_first_moment);
    RUN(a_tenant_keeps_its_quota_also_while_creates_are_under_way);
    RUN(paused_sandboxes_stand_still_and_resume);
    RUN(a_pause_without_an_answer_is_taken_back);
    RUN(a_change_of_status_that_a_crash_cuts_off_is_undone);
    RUN(changes_of_one_status_wait_for_each_other);
    RUN(a_kill_in_the_middle_of_a_pause_ends_both);
    RUN(expired_sandboxes_are_removed_at_the_next_sweep);
    RUN(a_sandbox_whose_box_or_agent_dies_is_gone);
    RUN(a_cancelled_command_is_not_heard_of_again);
    RUN(a_command_past_its_time_is_reported_as_such);
    RUN(a_kill_is_done_even_if_the_driver_cannot_destroy);
    RUN(a_setting_that_cannot_be_read_ends_the_start);
    RUN(an_agent_that_cannot_count_leaves_the_numbers_of_the_driver);
    RUN(a_renewal_that_the_store_refuses_changes_nothing);
    return tap_done();
}
