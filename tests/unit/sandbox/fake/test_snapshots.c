/* Snapshots, restores, clones and forks: the files of the moment, and nothing left of what failed. */
#include <dirent.h>

#include "sandbox/fake/fakerig.h"

static struct rig g;

static struct answer take(struct sandbox *s)
{
    struct answer a = answer_init(&g);
    snapshots_create(g.manager->snapshots, s, &(struct snapshots_plan){ 0 }, answer_snapshot, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    return a;
}

static enum err_code restore(struct sandbox *s, const char *id)
{
    struct answer a = answer_init(&g);
    snapshots_restore(g.manager->snapshots, s, id, answer_sandbox, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    return a.err.code;
}

static void check_file(const struct sandbox *s, const char *text)
{
    const char *is = fake_file(g.host, s->box_id, "/data", NULL);
    CHECK_STR(is ? is : "(none)", text);
}

/* Entries of a folder of the rig, without those that begin with a dot. */
static size_t entries(const char *folder)
{
    char path[128];
    size_t n = 0;
    (void)snprintf(path, sizeof(path), "%s/%s", g.dir, folder);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir));)
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

TEST(a_restore_brings_the_files_of_the_moment_back)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/data", "one");
    struct answer snap = take(s);
    CHECK_INT(snap.err.code, ERR_NONE);
    rig_write(&g, s, "/data", "two");
    check_file(s, "two");
    CHECK_INT(restore(s, snap.id), ERR_NONE);
    check_file(s, "one");
    rig_check(&g, 1);
    struct answer a = answer_init(&g);
    snapshots_clone(g.manager->snapshots, snap.id, &(struct snapshots_plan){ 0 }, answer_sandbox, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.err.code, ERR_NONE);
    check_file(map_get(g.manager->sandboxes, a.id), "one");
    rig_close(&g);
}

TEST(a_copied_capture_does_the_same)
{
    rig_open(&g);
    fake_share(g.host, false);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/data", "one");
    struct answer snap = take(s);
    rig_write(&g, s, "/data", "two");
    CHECK_INT(restore(s, snap.id), ERR_NONE);
    check_file(s, "one");
    CHECK_INT(entries("fake"), 0);
    rig_close(&g);
}

TEST(a_capture_that_fails_leaves_no_snapshot_and_no_pin)
{
    static const struct fake_fate fates[] = { { .outcome = FAKE_FAIL }, { .outcome = FAKE_DIE } };
    rig_open(&g);
    for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++) {
        struct sandbox *s = rig_create(&g);
        fake_script(g.host, FAKE_CAPTURE, 1, fates[i]);
        (void)take(s);
        for (struct map_iter it = map_iter(g.manager->sandboxes); map_next(&it);)
            rig_kill(&g, it.value);
    }
    virtual_advance(g.loop, 2000);
    CHECK(rig_settle(&g));
    CHECK_INT((size_t)store_count(g.store, "snapshot"), entries("images/pins"));
    rig_close(&g);
}

/* The helper had captured it, and ended before it said so: the capture is taken, not made twice. */
TEST(a_capture_without_an_answer_is_found_again)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/data", "one");
    fake_script(g.host, FAKE_CAPTURE, 1, (struct fake_fate){ .outcome = FAKE_LOSE, .delay_ms = 10 });
    struct answer snap = take(s);
    CHECK_INT(snap.err.code, ERR_NONE);
    rig_write(&g, s, "/data", "two");
    CHECK_INT(restore(s, snap.id), ERR_NONE);
    check_file(s, "one");
    CHECK_INT(entries("fake"), 0);
    rig_close(&g);
}

TEST(a_crash_in_the_middle_of_a_capture_loses_no_files)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct sandbox *s = rig_create(&g);
    char id[IDENT_MAX];
    memcpy(id, s->id, sizeof(id));
    rig_write(&g, s, "/data", "one");
    struct answer a = answer_init(&g);
    fake_script(g.host, FAKE_CAPTURE, 1, (struct fake_fate){ .delay_ms = 1000 });
    snapshots_create(g.manager->snapshots, s, &(struct snapshots_plan){ 0 }, answer_snapshot, &a);
    virtual_advance(g.loop, 10);
    rig_crash(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    s = map_get(g.manager->sandboxes, id);
    CHECK(s != NULL);
    CHECK_INT(entries("fake"), 0);
    check_file(s, "one");
    CHECK_INT(take(s).err.code, ERR_NONE);
    rig_close(&g);
}

static int64_t a_second(void)
{
    return 1000;
}

/* Its layers are pinned and being counted. */
TEST(a_crash_before_a_snapshot_is_recorded_leaves_no_pin)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    struct sandbox *s = rig_create(&g);
    struct answer a = answer_init(&g);
    virtual_work_ms = a_second;
    snapshots_create(g.manager->snapshots, s, &(struct snapshots_plan){ 0 }, answer_snapshot, &a);
    virtual_advance(g.loop, 100);
    virtual_work_ms = NULL;
    CHECK_INT(a.n, 0);
    CHECK_INT(entries("images/pins"), 2);
    rig_crash(&g);
    rig_start(&g);
    CHECK(rig_settle(&g));
    CHECK_INT(store_count(g.store, "snapshot"), 0);
    CHECK_INT(entries("images/pins"), 1);
    rig_close(&g);
}

TEST(a_restore_that_fails_leaves_the_sandbox_as_it_was)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/data", "one");
    struct answer snap = take(s);
    rig_write(&g, s, "/data", "two");
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_CAPACITY });
    CHECK_INT(restore(s, snap.id), ERR_CAPACITY);
    check_file(s, "two");
    rig_check(&g, 1);
    rig_close(&g);
}

TEST(a_kill_in_the_middle_of_a_restore_leaves_no_box)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer snap = take(s), a = answer_init(&g);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .delay_ms = 500 });
    snapshots_restore(g.manager->snapshots, s, snap.id, answer_sandbox, &a);
    virtual_advance(g.loop, 100);
    rig_kill(&g, s);
    CHECK_INT(a.n, 1);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    rig_check(&g, 0);
    rig_close(&g);
}

/* The pause was of the box that the restore replaced. */
TEST(a_pause_that_a_restore_overtakes_does_not_mark_the_new_box)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer snap = take(s), paused = answer_init(&g), restored = answer_init(&g);
    struct fake_view v = { 0 };
    fake_script(g.host, FAKE_PAUSE, 1, (struct fake_fate){ .delay_ms = 500 });
    manager_pause(g.manager, s, answer_sandbox, &paused);
    snapshots_restore(g.manager->snapshots, s, snap.id, answer_sandbox, &restored);
    CHECK(rig_settle(&g));
    CHECK_INT(restored.err.code, ERR_NONE);
    CHECK_INT(paused.err.code, ERR_CONFLICT);
    CHECK(fake_find(g.host, s->box_id, &v));
    CHECK_INT(v.is_paused, s->status == SANDBOX_PAUSED);
    rig_close(&g);
}

/* The volume was being mounted in the box that the restore replaced. */
TEST(an_attach_that_a_restore_overtakes_is_in_the_new_box)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    struct answer snap = take(s), attached = answer_init(&g), restored = answer_init(&g);
    char id[IDENT_MAX];
    (void)snprintf(
        id, sizeof(id), "%s",
        json_get_str(volumes_create(g.manager->volumes, NULL, &(struct volumes_plan){ .name = "v" }, NULL), "id", ""));
    fake_script(g.host, FAKE_MOUNT, 1, (struct fake_fate){ .delay_ms = 500 });
    volumes_attach(g.manager->volumes, id, s, &(struct box_volume){ .target = "/v" }, answer_done, &attached);
    snapshots_restore(g.manager->snapshots, s, snap.id, answer_sandbox, &restored);
    CHECK(rig_settle(&g));
    CHECK_INT(restored.err.code, ERR_NONE);
    CHECK_INT(attached.err.code, ERR_NONE);
    const char *there = fake_mounted(g.host, s->box_id, "/v");
    CHECK_STR(there ? there : "(nothing)", id);
    rig_close(&g);
}

TEST(a_fork_makes_all_or_none)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    rig_write(&g, s, "/data", "one");
    struct answer a = answer_init(&g);
    struct manager_fork_plan three = { .count = 3, .name = "child" };
    manager_fork(g.manager, s, &three, answer_children, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.count, 3);
    check_file(map_get(g.manager->sandboxes, a.id), "one");
    rig_check(&g, 4);
    struct answer b = answer_init(&g);
    fake_script(g.host, FAKE_CREATE, 2, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 50 });
    manager_fork(g.manager, s, &three, answer_children, &b);
    CHECK(rig_settle(&g));
    CHECK_INT(b.err.code, ERR_INTERNAL);
    rig_check(&g, 4);
    rig_close(&g);
}

TEST(layers_go_with_the_last_that_stands_on_them)
{
    rig_open(&g);
    struct sandbox *s = rig_create(&g);
    size_t before = entries("images/layers");
    rig_write(&g, s, "/data", "one");
    struct answer snap = take(s);
    CHECK(entries("images/layers") > before);
    rig_kill(&g, s);
    CHECK_INT(snapshots_delete(g.manager->snapshots, snap.id, NULL), 0);
    virtual_advance(g.loop, 2000);
    CHECK(rig_settle(&g));
    CHECK_INT(entries("images/layers"), before);
    CHECK_INT(entries("images/pins"), 0);
    rig_close(&g);
}

int main(void)
{
    RUN(a_restore_brings_the_files_of_the_moment_back);
    RUN(a_copied_capture_does_the_same);
    RUN(a_capture_that_fails_leaves_no_snapshot_and_no_pin);
    RUN(a_capture_without_an_answer_is_found_again);
    RUN(a_crash_in_the_middle_of_a_capture_loses_no_files);
    RUN(a_crash_before_a_snapshot_is_recorded_leaves_no_pin);
    RUN(a_restore_that_fails_leaves_the_sandbox_as_it_was);
    RUN(a_kill_in_the_middle_of_a_restore_leaves_no_box);
    RUN(a_pause_that_a_restore_overtakes_does_not_mark_the_new_box);
    RUN(an_attach_that_a_restore_overtakes_is_in_the_new_box);
    RUN(a_fork_makes_all_or_none);
    RUN(layers_go_with_the_last_that_stands_on_them);
    return tap_done();
}
