/* Volumes: in one sandbox at a time, and never mounted where no record says so. */
#include "sandbox/fake/fakerig.h"

static struct rig g;
static char volume[IDENT_MAX];

static void make_volume(void)
{
    struct err err = ERR_INIT;
    const json_t *rec = volumes_create(g.manager->volumes, NULL, &(struct volumes_plan){ .name = "data" }, &err);
    (void)snprintf(volume, sizeof(volume), "%s", json_get_str(rec, "id", ""));
}

static struct answer *begin_attach(struct sandbox *s, struct answer *a)
{
    struct box_volume how = { .target = "/data" };
    *a = answer_init(&g);
    volumes_attach(g.manager->volumes, volume, s, &how, answer_done, a);
    return a;
}

static enum err_code attach(struct sandbox *s)
{
    struct answer a;
    begin_attach(s, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    return a.err.code;
}

static enum err_code change(void (*how)(struct volumes *, const char *, volumes_done_fn *, void *))
{
    struct answer a = answer_init(&g);
    how(g.manager->volumes, volume, answer_done, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    return a.err.code;
}

/* Where the record says that it is: a sandbox id, or "". */
static char *place(void)
{
    JSON_OWNED rec = NULL;
    CHECK_INT(store_get(g.store, "volume", volume, &rec, NULL), 0);
    return xstrdup(json_get_str(rec, "sandboxId", ""));
}

static void check_place(const char *id)
{
    CLEANUP(free_p) char *is = place();
    CHECK_STR(is, id);
}

static bool is_mounted(const struct sandbox *s)
{
    const char *there = fake_mounted(g.host, s->box_id, "/data");
    return there && strcmp(there, volume) == 0;
}

TEST(a_volume_is_in_one_sandbox_at_a_time)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g), *other = rig_create(&g);
    CHECK_INT(attach(s), ERR_NONE);
    CHECK(is_mounted(s));
    check_place(s->id);
    CHECK_INT(attach(other), ERR_CONFLICT);
    CHECK_INT(change(volumes_delete), ERR_CONFLICT);
    CHECK_INT(change(volumes_detach), ERR_NONE);
    CHECK(!is_mounted(s));
    check_place("");
    CHECK_INT(change(volumes_detach), ERR_CONFLICT);
    CHECK_INT(attach(other), ERR_NONE);
    CHECK_INT(change(volumes_detach), ERR_NONE);
    CHECK_INT(change(volumes_delete), ERR_NONE);
    CHECK(!fake_has_volume(g.host, volume));
    CHECK_INT(store_count(g.store, "volume"), 0);
    rig_close(&g);
}

TEST(a_failed_first_attach_binds_it_to_nothing)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g);
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_NO_SPACE });
    CHECK_INT(attach(s), ERR_NO_SPACE);
    check_place("");
    JSON_OWNED rec = NULL;
    CHECK_INT(store_get(g.store, "volume", volume, &rec, NULL), 0);
    CHECK(json_get(rec, "backend") == NULL);
    CHECK_INT(attach(s), ERR_NONE);
    rig_close(&g);
}

/* It was mounted, and nobody said so: then it must not stay mounted, since the next attach is somewhere else. */
TEST(an_attach_without_an_answer_does_not_stay_mounted)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g), *other = rig_create(&g);
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .outcome = FAKE_LOSE, .delay_ms = 20 });
    CHECK(attach(s) != ERR_NONE);
    check_place("");
    CHECK(!is_mounted(s));
    CHECK_INT(attach(other), ERR_NONE);
    rig_close(&g);
}

TEST(a_detach_without_an_answer_leaves_it_where_the_record_says)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g);
    CHECK_INT(attach(s), ERR_NONE);
    fake_script(g.host, FAKE_UNMOUNT, 1, (struct fake_fate){ .outcome = FAKE_LOSE, .delay_ms = 20 });
    CHECK(change(volumes_detach) != ERR_NONE);
    virtual_advance(g.loop, 1000);
    CHECK(rig_settle(&g));
    check_place(s->id);
    CHECK(is_mounted(s));
    CHECK_INT(change(volumes_detach), ERR_NONE);
    rig_close(&g);
}

TEST(a_kill_while_it_is_attached_gives_it_back)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g), *other = rig_create(&g);
    struct answer a;
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .delay_ms = 100 });
    begin_attach(s, &a);
    rig_kill(&g, s);
    CHECK_INT(a.n, 1);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    check_place("");
    CHECK_INT(attach(other), ERR_NONE);
    rig_kill(&g, other);
    check_place("");
    rig_close(&g);
}

TEST(two_changes_at_once_do_not_mix)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g), *other = rig_create(&g);
    struct answer first, second;
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .delay_ms = 100 });
    begin_attach(s, &first);
    begin_attach(other, &second);
    CHECK_INT(second.err.code, ERR_CONFLICT);
    CHECK(rig_settle(&g));
    CHECK_INT(first.err.code, ERR_NONE);
    CHECK(is_mounted(s) && !is_mounted(other));
    rig_close(&g);
}

TEST(what_is_attached_is_mounted_again_after_a_crash_in_the_middle)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    make_volume();
    struct sandbox *s = rig_create(&g);
    char id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    struct answer a;
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 100 }); /* not begun yet */
    begin_attach(s, &a);
    rig_crash(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    s = map_get(g.manager->sandboxes, id);
    check_place(id);
    CHECK(s && is_mounted(s));
    rig_close(&g);
}

/* Else a crash would leave a record of a volume at a place where another is mounted. */
/* Hardly any time goes by, so a mount with a delay is still under way afterwards. */
static void restore_now(struct sandbox *s, const char *snapshot)
{
    struct answer a = answer_init(&g);
    snapshots_restore(g.manager->snapshots, s, snapshot, answer_sandbox, &a);
    for (int i = 0; i < 1000 && !a.n; i++) {
        virtual_turn(g.loop);
        (void)virtual_fire(1000);
    }
    CHECK_INT(a.n, 1);
    CHECK_INT(a.err.code, ERR_NONE);
}

/* Of two restores the second may give a box at the address of the first one. */
TEST(restores_during_an_attach_do_not_lose_the_mount)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g);
    struct answer snapshot = answer_init(&g), a;
    snapshots_create(g.manager->snapshots, s, &(struct snapshots_plan){ 0 }, answer_snapshot, &snapshot);
    CHECK(rig_settle(&g));
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .delay_ms = 60000 });
    begin_attach(s, &a);
    fake_reuse_addresses(g.host);
    for (int i = 0; i < 2; i++)
        restore_now(s, snapshot.id);
    CHECK_INT(a.n, 0);
    CHECK(rig_settle(&g));
    CHECK_INT(a.err.code, ERR_NONE);
    check_place(s->id);
    CHECK(is_mounted(s));
    rig_close(&g);
}

TEST(two_volumes_are_not_noted_at_one_place)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g);
    CHECK_INT(attach(s), ERR_NONE);
    make_volume();
    struct answer a;
    begin_attach(s, &a);
    check_place("");
    CHECK(rig_settle(&g));
    CHECK_INT(a.err.code, ERR_CONFLICT);
    rig_close(&g);
}

TEST(a_delete_that_fails_can_be_repeated)
{
    rig_open(&g);
    make_volume();
    struct sandbox *s = rig_create(&g);
    CHECK_INT(attach(s), ERR_NONE);
    rig_kill(&g, s);
    fake_script(g.host, FAKE_REMOVE_VOLUME, 1, (struct fake_fate){ .outcome = FAKE_LOSE });
    CHECK(change(volumes_delete) != ERR_NONE);
    CHECK_INT(store_count(g.store, "volume"), 1);
    CHECK_INT(change(volumes_delete), ERR_NONE);
    CHECK_INT(store_count(g.store, "volume"), 0);
    rig_close(&g);
}

int main(void)
{
    RUN(a_volume_is_in_one_sandbox_at_a_time);
    RUN(a_failed_first_attach_binds_it_to_nothing);
    RUN(an_attach_without_an_answer_does_not_stay_mounted);
    RUN(a_detach_without_an_answer_leaves_it_where_the_record_says);
    RUN(a_kill_while_it_is_attached_gives_it_back);
    RUN(two_changes_at_once_do_not_mix);
    RUN(what_is_attached_is_mounted_again_after_a_crash_in_the_middle);
    RUN(restores_during_an_attach_do_not_lose_the_mount);
    RUN(two_volumes_are_not_noted_at_one_place);
    RUN(a_delete_that_fails_can_be_repeated);
    return tap_done();
}
