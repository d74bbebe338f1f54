/* Contents of files and trees through a real agent: with whose rights, under which conditions, what a failure leaves.
 */
#include "agent_rig.h"

#include <sys/stat.h>

#include "guest/proto.h"

#define NOBODY "65534:65534"

static struct guest_content seen; /* of the last open or store; its texts are gone */
static struct guest_unpacked unpacked;

static void on_content(void *arg, const struct guest_content *content)
{
    struct rig *r = arg;
    seen = *content;
    r->opens++;
    rig_wake(r);
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct rig *r = arg;
    (void)buf_add(&r->out, data, len);
    if (r->does_credit)
        guest_reader_credit(r->reader, len);
    rig_wake(r);
}

static const struct guest_read_events events = { .on_content = on_content, .on_data = on_data, .on_done = rig_on_done };

static void on_stored(void *arg, const struct guest_content *content, const struct err *err)
{
    if (content)
        seen = *content;
    rig_on_done(arg, err);
}

static void on_unpacked(void *arg, const struct guest_unpacked *done, const struct err *err)
{
    if (done)
        unpacked = *done;
    rig_on_done(arg, err);
}

/* The agent's abilities are known once it has answered. */
static void begin(struct rig *r)
{
    rig_init(r);
    CHECK_INT(rig_result(r, guest_ping(r->g, rig_on_done, r)), 0);
}

static int store_as(struct rig *r, const char *name, const char *user, const struct guest_store_plan *like,
                    const char *text)
{
    struct guest_store_plan plan = *like;
    plan.path = rig_path(r, name);
    plan.user = user;
    int before = r->done;
    CHECK_INT(guest_content_store(r->g, &plan, on_stored, r, &r->writer), 0);
    CHECK_INT(guest_writer_send(r->writer, text, strlen(text)), strlen(text));
    guest_writer_end(r->writer);
    rig_wait(r, &r->done, before + 1);
    return r->err.code;
}

static int store(struct rig *r, const char *name, const struct guest_store_plan *like, const char *text)
{
    return store_as(r, name, "", like, text);
}

/* Reads a range into r->out. */
static int fetch(struct rig *r, const char *name, const char *user, uint64_t offset, uint64_t max)
{
    int before = r->done, opened = r->opens;
    buf_clear(&r->out);
    CHECK_INT(guest_content_open(r->g, rig_path(r, name), user, &events, r, &r->reader), 0);
    while (r->opens == opened && r->done == before && !r->is_timed_out)
        loop_run(r->loop);
    if (r->done == before) {
        guest_reader_range(r->reader, offset, max);
        rig_wait(r, &r->done, before + 1);
    }
    return r->err.code;
}

TEST(a_range_is_read_after_the_file_is_known)
{
    struct rig r;
    begin(&r);
    CHECK_INT(store(&r, "f", &(struct guest_store_plan){ 0 }, "0123456789"), 0);
    CHECK(seen.is_new && seen.stat.size == 10 && (seen.stat.mode & 07777) == 0644);
    uint64_t version = seen.version;
    CHECK_INT(fetch(&r, "f", "", 3, 4), 0);
    CHECK_STR(buf_text(&r.out), "3456");
    CHECK(seen.version == version && seen.has_size && seen.stat.size == 10);
    CHECK_INT(fetch(&r, "f", "", 8, UINT64_MAX), 0);
    CHECK_STR(buf_text(&r.out), "89");
    CHECK_INT(fetch(&r, "f", "", UINT64_MAX, 5), 0);
    CHECK_INT(r.out.len, 0);
    CHECK_INT(fetch(&r, "none", "", 0, 1), ERR_NOT_FOUND);
    CHECK_INT(fetch(&r, "", "", 0, 1), ERR_INVALID);
    CHECK_INT(fetch(&r, "f", "nosuchuser", 0, 1), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(a_file_may_be_known_and_not_read)
{
    struct rig r;
    begin(&r);
    CHECK_INT(store(&r, "f", &(struct guest_store_plan){ 0 }, "text"), 0);
    CHECK_INT(guest_content_open(r.g, rig_path(&r, "f"), "", &events, &r, &r.reader), 0);
    rig_wait(&r, &r.opens, 1);
    guest_reader_drop(r.reader);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(r.out.len, 0);
    rig_done(&r);
}

TEST(conditions_are_about_the_version_that_is_there)
{
    struct rig r;
    begin(&r);
    const struct guest_store_plan absent = { .flags = GUEST_STORE_ABSENT }, there = { .flags = GUEST_STORE_EXISTS };
    CHECK_INT(store(&r, "f", &there, "x"), ERR_UNMET);
    CHECK_INT(store(&r, "f", &absent, "one"), 0);
    CHECK_INT(store(&r, "f", &absent, "two"), ERR_UNMET);
    uint64_t versions[2] = { 7, seen.version };
    const struct guest_store_plan match = { .flags = GUEST_STORE_MATCH, .versions = versions, .n_versions = 2 };
    const struct guest_store_plan other = { .flags = GUEST_STORE_OTHER, .versions = versions, .n_versions = 2 };
    const struct guest_store_plan none = { .flags = GUEST_STORE_MATCH };
    CHECK_INT(store(&r, "f", &other, "x"), ERR_UNMET);
    CHECK_INT(store(&r, "f", &none, "x"), ERR_UNMET);
    CHECK_INT(store(&r, "f", &match, "two"), 0);
    CHECK(!seen.is_new && seen.version != versions[1]);
    CHECK_INT(store(&r, "f", &match, "three"), ERR_UNMET);
    CHECK_INT(store(&r, "f", &other, "three"), 0);
    CHECK_INT(store(&r, "f", &there, "four"), 0);
    CHECK_INT(fetch(&r, "f", "", 0, 100), 0);
    CHECK_STR(buf_text(&r.out), "four");
    uint64_t many[GUEST_STORE_VERSIONS + 1] = { 0 };
    struct guest_store_plan plan = { .path = "/a", .versions = many, .n_versions = GUEST_STORE_VERSIONS + 1 };
    CHECK_INT(guest_content_store(r.g, &plan, on_stored, &r, &r.writer), -EINVAL);
    rig_done(&r);
}

TEST(a_condition_is_checked_again_when_the_file_is_replaced)
{
    struct rig r;
    struct guest_writer *slow;
    begin(&r);
    CHECK_INT(store(&r, "f", &(struct guest_store_plan){ 0 }, "old"), 0);
    uint64_t version = seen.version;
    struct guest_store_plan plan = {
        .path = rig_path(&r, "f"), .user = "", .flags = GUEST_STORE_MATCH, .versions = &version, .n_versions = 1
    };
    CHECK_INT(guest_content_store(r.g, &plan, on_stored, &r, &slow), 0);
    CHECK_INT(guest_writer_send(slow, "slow", 4), 4);
    CHECK_INT(store(&r, "f", &plan, "fast"), 0);
    guest_writer_end(slow);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, ERR_UNMET);
    CHECK_INT(fetch(&r, "f", "", 0, 100), 0);
    CHECK_STR(buf_text(&r.out), "fast");
    rig_done(&r);
}

TEST(a_user_has_only_his_own_rights)
{
    struct rig r;
    struct stat st;
    if (geteuid() != 0) {
        printf("# not root: no other user\n");
        return;
    }
    begin(&r);
    CHECK_INT(chmod(r.dir, 0755), 0);
    CHECK_INT(store(&r, "secret", &(struct guest_store_plan){ .mode = 0600 | GUEST_MODE_GIVEN }, "root's"), 0);
    CHECK_INT(fetch(&r, "secret", NOBODY, 0, 100), ERR_FORBIDDEN);
    CHECK_INT(r.out.len, 0);
    CHECK_INT(store_as(&r, "mine", NOBODY, &(struct guest_store_plan){ 0 }, "x"), ERR_FORBIDDEN);
    CHECK_INT(store_as(&r, "deep/mine", NOBODY, &(struct guest_store_plan){ 0 }, "x"), ERR_FORBIDDEN);
    CHECK_INT(stat(rig_path(&r, "deep"), &st), -1);
    CHECK_INT(mkdir(rig_path(&r, "open"), 0777), 0);
    CHECK_INT(chmod(r.path, 01777), 0);
    CHECK_INT(store_as(&r, "open/sub/mine", NOBODY, &(struct guest_store_plan){ 0 }, "mine"), 0);
    CHECK_INT(stat(rig_path(&r, "open/sub/mine"), &st), 0);
    CHECK(st.st_uid == 65534 && st.st_gid == 65534);
    CHECK_INT(stat(rig_path(&r, "open/sub"), &st), 0);
    CHECK(st.st_uid == 65534 && st.st_gid == 65534);
    /* In a sticky folder the file of another stays. */
    CHECK_INT(store(&r, "open/roots", &(struct guest_store_plan){ 0 }, "root's"), 0);
    CHECK_INT(store_as(&r, "open/roots", NOBODY, &(struct guest_store_plan){ 0 }, "x"), ERR_FORBIDDEN);
    /* The agent's own rights are back. */
    CHECK_INT(fetch(&r, "secret", "", 0, 100), 0);
    CHECK_STR(buf_text(&r.out), "root's");
    /* Trees, too. */
    CHECK_INT(guest_tree_pack(r.g, &(struct guest_pack_plan){ rig_path(&r, "secret"), NOBODY, false }, &events, &r,
                              &r.reader),
              0);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, ERR_FORBIDDEN);
    CHECK_INT(guest_tree_unpack(r.g, rig_path(&r, "no"), NOBODY, on_unpacked, &r, &r.writer), 0);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, ERR_FORBIDDEN);
    rig_done(&r);
}

TEST(a_dropped_store_leaves_neither_file_nor_folders)
{
    struct rig r;
    struct stat st;
    begin(&r);
    CHECK_INT(mkdir(rig_path(&r, "old"), 0755), 0);
    struct guest_store_plan plan = { .path = rig_path(&r, "old/a/b/f"), .user = "" };
    CHECK_INT(guest_content_store(r.g, &plan, on_stored, &r, &r.writer), 0);
    CHECK_INT(guest_writer_send(r.writer, "x", 1), 1);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(stat(rig_path(&r, "old/a/b"), &st), 0);
    guest_writer_drop(r.writer);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(stat(rig_path(&r, "old/a"), &st), -1);
    CHECK_INT(stat(rig_path(&r, "old"), &st), 0);
    rig_done(&r);
}

TEST(a_reader_without_credit_gets_one_wide_window)
{
    struct rig r;
    begin(&r);
    CHECK_INT(store(&r, "big", &(struct guest_store_plan){ 0 }, ""), 0);
    CHECK_INT(truncate(rig_path(&r, "big"), 4 * PROTO_WINDOW_WIDE), 0);
    r.does_credit = false;
    CHECK_INT(guest_content_open(r.g, r.path, "", &events, &r, &r.reader), 0);
    rig_wait(&r, &r.opens, 1);
    guest_reader_range(r.reader, 0, UINT64_MAX);
    while (r.out.len < PROTO_WINDOW_WIDE && !r.gone)
        loop_run(r.loop);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(r.out.len, PROTO_WINDOW_WIDE);
    guest_reader_drop(r.reader);
    rig_done(&r);
}

/* The archive of one folder, sent into another in pieces that the window takes. */
struct pour {
    struct rig *r;
    struct buf archive;
};

static void pour_on(void *arg)
{
    struct pour *p = arg;
    while (p->archive.len > 0) {
        size_t n = guest_writer_send(p->r->writer, p->archive.data, p->archive.len);
        if (n == 0)
            return;
        buf_consume(&p->archive, n);
    }
    guest_writer_end(p->r->writer);
}

TEST(a_tree_goes_out_and_in)
{
    struct rig r;
    struct stat st;
    begin(&r);
    CHECK_INT(store(&r, "from/a", &(struct guest_store_plan){ .mode = 0750 | GUEST_MODE_GIVEN }, "one"), 0);
    CHECK_INT(store(&r, "from/sub/big", &(struct guest_store_plan){ 0 }, "x"), 0);
    CHECK_INT(truncate(rig_path(&r, "from/sub/big"), 5 * PROTO_WINDOW_WIDE + 7), 0);
    CHECK_INT(symlink("a", rig_path(&r, "from/link")), 0);
    CHECK_INT(
        guest_tree_pack(r.g, &(struct guest_pack_plan){ rig_path(&r, "from"), "", false }, &events, &r, &r.reader), 0);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, 0);
    struct pour p = { .r = &r, .archive = r.out };
    buf_init(&r.out, 64u << 20);
    CHECK_INT(guest_tree_unpack(r.g, rig_path(&r, "to/here"), "", on_unpacked, &r, &r.writer), 0);
    guest_writer_on_writable(r.writer, pour_on, &p);
    pour_on(&p);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, 0);
    CHECK(unpacked.entries == 4 && unpacked.bytes == 5 * PROTO_WINDOW_WIDE + 7 + 3);
    CHECK(stat(rig_path(&r, "to/here/a"), &st) == 0 && (st.st_mode & 07777) == 0750 && st.st_size == 3);
    CHECK(lstat(rig_path(&r, "to/here/link"), &st) == 0 && S_ISLNK(st.st_mode));
    buf_done(&p.archive);
    rig_done(&r);
}

TEST(a_tree_that_cannot_be_says_so)
{
    struct rig r;
    begin(&r);
    CHECK_INT(store(&r, "file", &(struct guest_store_plan){ 0 }, "x"), 0);
    CHECK_INT(rig_result(&r, guest_tree_pack(r.g, &(struct guest_pack_plan){ rig_path(&r, "none"), "", false }, &events,
                                             &r, &r.reader)),
              ERR_NOT_FOUND);
    CHECK_INT(rig_result(&r, guest_tree_pack(r.g, &(struct guest_pack_plan){ "/dev/zero", "", false }, &events, &r,
                                             &r.reader)),
              ERR_INVALID);
    /* Before all is sent, and while more is under way. */
    static char noise[3 * PROTO_WINDOW];
    memset(noise, 'n', sizeof(noise));
    CHECK_INT(guest_tree_unpack(r.g, rig_path(&r, "to"), "", on_unpacked, &r, &r.writer), 0);
    (void)guest_writer_send(r.writer, noise, sizeof(noise));
    rig_wait(&r, &r.done, r.done + 1);
    CHECK_INT(r.err.code, ERR_INVALID);
    CHECK_INT(guest_tree_unpack(r.g, rig_path(&r, "file"), "", on_unpacked, &r, &r.writer), 0);
    rig_wait(&r, &r.done, r.done + 1);
    CHECK(r.err.code == ERR_NOT_FOUND || r.err.code == ERR_CONFLICT);
    rig_done(&r);
}

TEST(a_dropped_tree_ends_its_helper)
{
    struct rig r;
    begin(&r);
    CHECK_INT(store(&r, "big", &(struct guest_store_plan){ 0 }, "x"), 0);
    CHECK_INT(truncate(rig_path(&r, "big"), 64 * PROTO_WINDOW_WIDE), 0);
    r.does_credit = false;
    CHECK_INT(guest_tree_pack(r.g, &(struct guest_pack_plan){ rig_path(&r, "big"), "", false }, &events, &r, &r.reader),
              0);
    while (r.out.len == 0 && !r.gone)
        loop_run(r.loop);
    guest_reader_drop(r.reader);
    CHECK_INT(guest_tree_unpack(r.g, rig_path(&r, "to"), "", on_unpacked, &r, &r.writer), 0);
    (void)guest_writer_send(r.writer, "part", 4);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    guest_writer_drop(r.writer);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    char children[64], text[256];
    (void)snprintf(children, sizeof(children), "/proc/%d/task/%d/children", r.agent, r.agent);
    for (int i = 0; i < 2000; i++) { /* until the kernel has reaped them */
        FILE *f = fopen(children, "r");
        bool is_empty = !f || !fgets(text, sizeof(text), f);
        if (f)
            fclose(f);
        if (is_empty)
            break;
        CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
        CHECK(i < 1999);
    }
    rig_done(&r);
}

int main(void)
{
    if (!rig_program()) {
        printf("1..0 # SKIP III_GUEST names no agent program\n");
        return 0;
    }
    RUN(a_range_is_read_after_the_file_is_known);
    RUN(a_file_may_be_known_and_not_read);
    RUN(conditions_are_about_the_version_that_is_there);
    RUN(a_condition_is_checked_again_when_the_file_is_replaced);
    RUN(a_user_has_only_his_own_rights);
    RUN(a_dropped_store_leaves_neither_file_nor_folders);
    RUN(a_reader_without_credit_gets_one_wide_window);
    RUN(a_tree_goes_out_and_in);
    RUN(a_tree_that_cannot_be_says_so);
    RUN(a_dropped_tree_ends_its_helper);
    return tap_done();
}
