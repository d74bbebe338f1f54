/* Networks: members by record and by driver are the same, with the same addresses, whatever fails on the way. */
#include "sandbox/fake/fakerig.h"

static struct rig g;
static char net[IDENT_MAX];

static enum err_code make_network(const char *name)
{
    struct answer a = answer_init(&g);
    networks_create(g.manager->networks, NULL, name, answer_record, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    if (!a.err.code)
        memcpy(net, a.id, sizeof(net));
    return a.err.code;
}

typedef void change_fn(struct networks *n, const char *id, struct sandbox *s, networks_done_fn *fn, void *arg);

static enum err_code change(change_fn *how, struct sandbox *s)
{
    struct answer a = answer_init(&g);
    how(g.manager->networks, net, s, answer_done, &a);
    CHECK(rig_settle(&g));
    CHECK_INT(a.n, 1);
    return a.err.code;
}

static size_t members(void)
{
    JSON_OWNED list = networks_list(g.manager->networks, NULL);
    return json_array_size(json_get(json_array_get(list, 0), "sandboxes"));
}

TEST(members_know_each_other_by_name)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g), *b = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    CHECK_INT(change(networks_connect, b), ERR_NONE);
    CHECK_INT(change(networks_connect, b), ERR_CONFLICT);
    CHECK(fake_address(g.host, a->box_id, net) && fake_address(g.host, b->box_id, net));
    const char *hosts = fake_file(g.host, a->box_id, "/etc/hosts", NULL);
    CHECK(hosts && strstr(hosts, b->id));
    CHECK_INT(change(networks_disconnect, b), ERR_NONE);
    hosts = fake_file(g.host, a->box_id, "/etc/hosts", NULL);
    CHECK(hosts && !strstr(hosts, b->id));
    CHECK_INT(fake_address(g.host, b->box_id, net), 0);
    rig_close(&g);
}

TEST(a_connect_that_fails_gives_its_place_back)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g), *b = rig_create(&g);
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    CHECK_INT(change(networks_connect, a), ERR_INTERNAL);
    CHECK_INT(members(), 0);
    CHECK_INT(change(networks_connect, b), ERR_NONE);
    uint32_t first = fake_address(g.host, b->box_id, net);
    CHECK_INT(first & 255, 2);
    rig_close(&g);
}

TEST(a_create_that_fails_takes_no_name)
{
    rig_open(&g);
    fake_script(g.host, FAKE_NET_CREATE, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    CHECK_INT(make_network("lan"), ERR_INTERNAL);
    CHECK_INT(store_count(g.store, "network"), 0);
    CHECK_INT(make_network("lan"), ERR_NONE);
    CHECK_INT(make_network("lan"), ERR_CONFLICT);
    rig_close(&g);
}

TEST(a_taken_range_is_stepped_over)
{
    rig_open(&g);
    fake_script(g.host, FAKE_NET_CREATE, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .code = ERR_CONFLICT });
    CHECK_INT(make_network("lan"), ERR_NONE);
    CHECK_INT(fake_count_networks(g.host), 1);
    rig_close(&g);
}

TEST(networks_are_made_anew_after_the_helper_ended_and_after_a_restart)
{
    rig_open(&g);
    g.end = MANAGER_KEEP;
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g), *b = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    CHECK_INT(change(networks_connect, b), ERR_NONE);
    uint32_t address = fake_address(g.host, b->box_id, net);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_LOSE });
    (void)rig_create_by(&g, NULL, NULL);
    CHECK_INT(fake_address(g.host, b->box_id, net), address);
    char box_id[IDENT_MAX];
    memcpy(box_id, b->box_id, sizeof(box_id));
    rig_stop(&g);
    CHECK_INT(fake_address(g.host, box_id, net), 0);
    rig_start(&g);
    CHECK(rig_settle(&g));
    CHECK_INT(fake_address(g.host, box_id, net), address);
    CHECK_INT(members(), 2);
    rig_close(&g);
}

TEST(a_sandbox_that_ends_while_it_is_connected_is_no_member)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer answer = answer_init(&g);
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .delay_ms = 100 });
    networks_connect(g.manager->networks, net, a, answer_done, &answer);
    rig_kill(&g, a);
    CHECK_INT(answer.n, 1);
    CHECK_INT(answer.err.code, ERR_NOT_FOUND);
    CHECK_INT(members(), 0);
    rig_close(&g);
}

/* The attach is under way when the network goes. */
TEST(a_network_deleted_while_one_is_connected_is_gone_for_both)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer connected = answer_init(&g), deleted = answer_init(&g);
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .delay_ms = 100 });
    networks_connect(g.manager->networks, net, a, answer_done, &connected);
    networks_delete(g.manager->networks, net, answer_done, &deleted);
    CHECK(rig_settle(&g));
    CHECK_INT(deleted.err.code, ERR_NONE);
    CHECK_INT(connected.err.code, ERR_NOT_FOUND);
    CHECK_INT(fake_address(g.host, a->box_id, net), 0);
    CHECK_INT(fake_count_networks(g.host), 0);
    CHECK_INT(store_count(g.store, "network"), 0);
    rig_close(&g);
}

/* A connect makes the network in the driver when it is not there: not one that is being deleted. */
TEST(nobody_is_connected_to_a_network_that_is_being_deleted)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer deleted = answer_init(&g), connected = answer_init(&g);
    fake_script(g.host, FAKE_NET_DELETE, 1, (struct fake_fate){ .delay_ms = 100 });
    networks_delete(g.manager->networks, net, answer_done, &deleted);
    networks_connect(g.manager->networks, net, a, answer_done, &connected);
    CHECK_INT(connected.err.code, ERR_CONFLICT);
    CHECK(rig_settle(&g));
    CHECK_INT(deleted.err.code, ERR_NONE);
    CHECK_INT(fake_count_networks(g.host), 0);
    CHECK_INT(fake_address(g.host, a->box_id, net), 0);
    rig_close(&g);
}

TEST(a_delete_that_fails_leaves_its_members_connected)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    uint32_t address = fake_address(g.host, a->box_id, net);
    struct answer deleted = answer_init(&g);
    fake_script(g.host, FAKE_NET_DELETE, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    networks_delete(g.manager->networks, net, answer_done, &deleted);
    CHECK(rig_settle(&g));
    CHECK_INT(deleted.err.code, ERR_INTERNAL);
    CHECK_INT(members(), 1);
    CHECK_INT(fake_address(g.host, a->box_id, net), address);
    CHECK_INT(change(networks_disconnect, a), ERR_NONE);
    rig_close(&g);
}

/* The restore connects the new box, since it is still a member by its record. */
TEST(a_disconnect_that_a_restore_overtakes_is_of_the_new_box)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    struct answer snap = answer_init(&g);
    snapshots_create(g.manager->snapshots, a, &(struct snapshots_plan){ 0 }, answer_snapshot, &snap);
    CHECK(rig_settle(&g));
    struct answer cut = answer_init(&g), restored = answer_init(&g);
    fake_script(g.host, FAKE_NET_DETACH, 1, (struct fake_fate){ .delay_ms = 500 });
    networks_disconnect(g.manager->networks, net, a, answer_done, &cut);
    snapshots_restore(g.manager->snapshots, a, snap.id, answer_sandbox, &restored);
    CHECK(rig_settle(&g));
    CHECK_INT(restored.err.code, ERR_NONE);
    CHECK_INT(cut.err.code, ERR_NONE);
    CHECK_INT(members(), 0);
    CHECK_INT(fake_address(g.host, a->box_id, net), 0);
    rig_close(&g);
}

/* The helper has ended and is not there again yet: what it starts with is the record. */
TEST(a_disconnect_before_the_networks_are_made_anew_stays_done)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    struct answer made = answer_init(&g), cut = answer_init(&g);
    SANDBOX_CONFIG_OWNED config = rig_config(NULL);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_LOSE });
    fake_script(g.host, FAKE_NET_DETACH, 1, (struct fake_fate){ .delay_ms = 50 });
    manager_create(g.manager, &(struct create_plan){ .config = &config }, answer_sandbox, &made);
    networks_disconnect(g.manager->networks, net, a, answer_done, &cut);
    CHECK(rig_settle(&g));
    CHECK_INT(cut.err.code, ERR_NONE);
    CHECK_INT(members(), 0);
    CHECK_INT(fake_address(g.host, a->box_id, net), 0);
    rig_close(&g);
}

/* It has its place already when the networks are made again. */
TEST(a_connect_that_fails_is_not_done_by_a_restarted_helper)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer made = answer_init(&g), connected = answer_init(&g);
    SANDBOX_CONFIG_OWNED config = rig_config(NULL);
    fake_script(g.host, FAKE_CREATE, 1, (struct fake_fate){ .outcome = FAKE_LOSE });
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .outcome = FAKE_FAIL, .delay_ms = 50 });
    manager_create(g.manager, &(struct create_plan){ .config = &config }, answer_sandbox, &made);
    networks_connect(g.manager->networks, net, a, answer_done, &connected);
    CHECK(rig_settle(&g));
    CHECK_INT(connected.err.code, ERR_INTERNAL);
    CHECK_INT(members(), 0);
    CHECK_INT(fake_address(g.host, a->box_id, net), 0);
    rig_close(&g);
}

TEST(a_delete_that_fails_leaves_whom_it_met_on_the_way_in_connected)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer connected = answer_init(&g), deleted = answer_init(&g);
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .delay_ms = 100 });
    fake_script(g.host, FAKE_NET_DELETE, 1, (struct fake_fate){ .outcome = FAKE_FAIL });
    networks_connect(g.manager->networks, net, a, answer_done, &connected);
    networks_delete(g.manager->networks, net, answer_done, &deleted);
    CHECK(rig_settle(&g));
    CHECK_INT(connected.err.code, ERR_NONE);
    CHECK_INT(members(), 1);
    CHECK(fake_address(g.host, a->box_id, net) != 0);
    rig_close(&g);
}

TEST(a_disconnect_waits_for_the_end_of_a_connect)
{
    rig_open(&g);
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    struct answer connected = answer_init(&g), cut = answer_init(&g);
    fake_script(g.host, FAKE_NET_ATTACH, 1, (struct fake_fate){ .delay_ms = 100 });
    networks_connect(g.manager->networks, net, a, answer_done, &connected);
    networks_disconnect(g.manager->networks, net, a, answer_done, &cut);
    CHECK_INT(cut.err.code, ERR_CONFLICT);
    CHECK(rig_settle(&g));
    CHECK_INT(connected.err.code, ERR_NONE);
    CHECK_INT(members(), 1);
    CHECK_INT(change(networks_disconnect, a), ERR_NONE);
    rig_close(&g);
}

/* As after a crash between the end of a sandbox and that of its membership. */
TEST(a_member_whose_record_is_gone_takes_no_place)
{
    char id[IDENT_MAX];
    rig_init(&g);
    g.end = MANAGER_KEEP;
    g.settings.max_network_members = 1;
    rig_start(&g);
    CHECK(rig_settle(&g));
    CHECK_INT(make_network("lan"), ERR_NONE);
    struct sandbox *a = rig_create(&g);
    CHECK_INT(change(networks_connect, a), ERR_NONE);
    memcpy(id, a->id, sizeof(id));
    rig_stop(&g);
    CHECK_INT(store_delete(g.store, "sandbox", id, NULL), 0);
    rig_start(&g);
    CHECK(rig_settle(&g));
    struct sandbox *b = rig_create(&g);
    CHECK_INT(change(networks_connect, b), ERR_NONE);
    CHECK_INT(members(), 1);
    rig_close(&g);
}

int main(void)
{
    RUN(members_know_each_other_by_name);
    RUN(a_connect_that_fails_gives_its_place_back);
    RUN(a_create_that_fails_takes_no_name);
    RUN(a_taken_range_is_stepped_over);
    RUN(networks_are_made_anew_after_the_helper_ended_and_after_a_restart);
    RUN(a_sandbox_that_ends_while_it_is_connected_is_no_member);
    RUN(a_network_deleted_while_one_is_connected_is_gone_for_both);
    RUN(nobody_is_connected_to_a_network_that_is_being_deleted);
    RUN(a_delete_that_fails_leaves_its_members_connected);
    RUN(a_disconnect_that_a_restore_overtakes_is_of_the_new_box);
    RUN(a_disconnect_before_the_networks_are_made_anew_stays_done);
    RUN(a_connect_that_fails_is_not_done_by_a_restarted_helper);
    RUN(a_delete_that_fails_leaves_whom_it_met_on_the_way_in_connected);
    RUN(a_disconnect_waits_for_the_end_of_a_connect);
    RUN(a_member_whose_record_is_gone_takes_no_place);
    return tap_done();
}
