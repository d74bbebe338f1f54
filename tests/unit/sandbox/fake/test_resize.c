/* Change of limits: what box, record and quota say after a success, a refusal, a death, a crash. */
#include "sandbox/fake/fakerig.h"
#include "sandbox/lifecycle/lifecycle.h"

static const struct manager_stop_plan at_once = { .reason = "request" };

static struct answer resize(struct rig *g, struct sandbox *s, struct sandbox_config to, const struct tenant_by *by)
{
    struct answer a = answer_init(g);
    manager_resize(s, &to, by, answer_sandbox, &a);
    CHECK(rig_settle(g));
    CHECK_INT(a.n, 1);
    return a;
}

static struct sandbox_config memory(int64_t mb)
{
    return (struct sandbox_config){ .given = SANDBOX_CONFIG_MEMORY, .memory_mb = mb };
}

/* Record, configuration and box say the same, and no change is under way. */
static void check_memory(struct rig *g, const struct sandbox *s, int64_t mb)
{
    struct fake_view v = { 0 };
    JSON_OWNED rec = NULL;
    CHECK_INT(s->config.memory_mb, mb);
    CHECK_INT(json_get_int(s->config_json, "memory", 0), mb);
    CHECK(fake_find(g->host, s->box_id, &v));
    if (!v.is_halted)
        CHECK_INT(v.memory_mb, mb);
    CHECK_INT(store_get(g->store, "sandbox", s->id, &rec, NULL), 0);
    CHECK_INT(json_get_int(json_get(rec, "config"), "memory", 0), mb);
    CHECK(!json_get(json_get(json_get(rec, "internal"), "extra"), "resizing"));
    CHECK(!s->is_changing);
}

TEST(box_and_record_change_together)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    int64_t pids = s->config.pids;
    CHECK_INT(resize(&g, s, memory(640), NULL).err.code, ERR_NONE);
    check_memory(&g, s, 640);
    CHECK_INT(s->config.pids, pids);
    CHECK_INT(resize(&g, s, memory(1), NULL).err.code, ERR_NONE); /* moved into its range */
    check_memory(&g, s, LIMIT_MIN(MEMORY_MB));
    rig_close(&g);
}

TEST(a_refusal_leaves_everything_as_it_was)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    int64_t mb = s->config.memory_mb;
    fake_script(g.host, FAKE_SET_LIMITS, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_CONFLICT });
    CHECK_INT(resize(&g, s, memory(640), NULL).err.code, ERR_CONFLICT);
    check_memory(&g, s, mb);
    rig_close(&g);
}

TEST(one_change_at_a_time)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer first = answer_init(&g), second = answer_init(&g), third = answer_init(&g);
    struct sandbox_config a = memory(640), b = memory(700);
    manager_resize(s, &a, NULL, answer_sandbox, &first);
    manager_resize(s, &b, NULL, answer_sandbox, &second);
    manager_stop(s, &at_once, answer_sandbox, &third);
    CHECK(rig_settle(&g));
    CHECK_INT(first.err.code, ERR_NONE);
    CHECK_INT(second.err.code, ERR_CONFLICT);
    CHECK_INT(third.err.code, ERR_CONFLICT);
    check_memory(&g, s, 640);
    rig_close(&g);
}

TEST(one_that_dies_meanwhile_is_told)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = sandbox_ref(rig_create(&g));
    fake_script(g.host, FAKE_SET_LIMITS, 1, (struct fake_fate){ .outcome = FAKE_DIE });
    CHECK(resize(&g, s, memory(640), NULL).err.code != ERR_NONE);
    CHECK(s->is_gone);
    sandbox_unref(s);
    rig_check(&g, 0);
    rig_close(&g);
}

TEST(a_stopped_one_starts_with_the_new_limits)
{
    struct rig g;
    struct fake_view v = { 0 };
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g);
    struct manager_waiter *waiter = NULL;
    manager_stop(s, &at_once, answer_sandbox, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(resize(&g, s, memory(640), NULL).err.code, ERR_NONE);
    check_memory(&g, s, 640);
    struct answer started = answer_init(&g);
    manager_start(s, NULL, answer_sandbox, &started, &waiter);
    CHECK(rig_settle(&g));
    CHECK(fake_find(g.host, s->box_id, &v));
    CHECK_INT(v.memory_mb, 640);
    rig_close(&g);
}

TEST(a_disk_only_grows)
{
    struct rig g;
    struct fake_view v = { 0 };
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct sandbox_config to = { .given = SANDBOX_CONFIG_DISK, .disk_mb = 100 };
    CHECK_INT(resize(&g, s, to, NULL).err.code, ERR_CONFLICT); /* it has none */
    struct sandbox_config config = sandbox_config_copy(&s->config);
    config.disk_mb = 64;
    config.inodes = 4096;
    sandbox_set_config(s, &config);
    CHECK_INT(resize(&g, s, to, NULL).err.code, ERR_NONE);
    CHECK(fake_find(g.host, s->box_id, &v));
    CHECK_INT(v.disk_mb, 100);
    CHECK_INT(s->config.inodes, 6400); /* in proportion */
    to.disk_mb = 99;
    CHECK_INT(resize(&g, s, to, NULL).err.code, ERR_INVALID);
    to.disk_mb = 0;
    CHECK_INT(resize(&g, s, to, NULL).err.code, ERR_INVALID);
    fake_script(g.host, FAKE_GROW_DISK, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_UNSUPPORTED });
    to = (struct sandbox_config){ .given = SANDBOX_CONFIG_DISK | SANDBOX_CONFIG_MEMORY,
                                  .disk_mb = 200,
                                  .memory_mb = 640 };
    int64_t mb = s->config.memory_mb;
    CHECK_INT(resize(&g, s, to, NULL).err.code, ERR_UNSUPPORTED); /* memory had been changed already */
    check_memory(&g, s, mb);
    CHECK_INT(s->config.disk_mb, 100);
    CHECK_INT(s->config.inodes, 6400);
    rig_close(&g);
}

TEST(the_quota_counts_only_what_is_added)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    free(s->tenant);
    s->tenant = xstrdup("acme");
    struct tenant_by by = { .tenant = "acme" };
    by.quota.set = 1u << QUOTA_MEMORY_MB;
    by.quota.max[QUOTA_MEMORY_MB] = (double)s->config.memory_mb + 100;
    int64_t mb = s->config.memory_mb;
    CHECK_INT(resize(&g, s, memory(mb + 101), &by).err.code, ERR_RATE_LIMITED);
    check_memory(&g, s, mb);
    CHECK_INT(resize(&g, s, memory(mb + 100), &by).err.code, ERR_NONE);
    check_memory(&g, s, mb + 100);
    rig_close(&g);
}

TEST(adoption_completes_what_a_crash_interrupted)
{
    struct rig g;
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    char id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    struct sandbox_config to = memory(640);
    struct answer a = answer_init(&g);
    fake_script(g.host, FAKE_SET_LIMITS, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 60000 });
    manager_resize(s, &to, NULL, answer_sandbox, &a);
    rig_crash(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    s = map_get(g.manager->sandboxes, id);
    CHECK(s != NULL);
    CHECK(rig_settle(&g));
    check_memory(&g, s, 640);
    rig_close(&g);
}

int main(void)
{
    RUN(box_and_record_change_together);
    RUN(a_refusal_leaves_everything_as_it_was);
    RUN(one_change_at_a_time);
    RUN(one_that_dies_meanwhile_is_told);
    RUN(a_stopped_one_starts_with_the_new_limits);
    RUN(a_disk_only_grows);
    RUN(the_quota_counts_only_what_is_added);
    RUN(adoption_completes_what_a_crash_interrupted);
    return tap_done();
}
