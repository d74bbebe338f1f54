/* A guest that lies about contents of files and trees. Each case ends the link with a clear error, and the open call
 * fails exactly once. */
#include "hostile_rig.h"

static void on_content(void *arg, const struct guest_content *content)
{
    struct rig *r = arg;
    CHECK(content->stat.path != NULL);
    r->outputs++;
    note(r);
}

static void on_stored(void *arg, const struct guest_content *content, const struct err *err)
{
    CHECK(err || content);
    on_done(arg, err);
}

static void on_unpacked(void *arg, const struct guest_unpacked *done, const struct err *err)
{
    CHECK(err || done);
    on_done(arg, err);
}

/* What an agent that can do everything sends first. Waits until it is known. */
static void able_handshake(struct rig *r)
{
    uint8_t mem[32];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_handshake(&w, PROTO_CAP_CONTENT | PROTO_CAP_WATCH);
    send_frame(r, 0, PROTO_HANDSHAKE, 0, mem, w.len);
    LOOPTURN_UNTIL(r->loop, guest_link_version(r->g));
}

static void send_content(struct rig *r, uint16_t type)
{
    uint8_t mem[PROTO_PAYLOAD_MAX];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u64(&w, 1);
    proto_put_u8(&w, 1);
    proto_put_stat(&w, &(struct proto_stat){ .path = "/a", .size = 4 });
    send_frame(r, 1, type, 0, mem, w.len);
}

TEST(an_agent_that_cannot_is_not_asked)
{
    struct rig r;
    struct guest_store_plan plan = { .path = "/a", .user = "" };
    static const struct guest_read_events events = { .on_content = on_content, .on_data = on_data, .on_done = on_done };
    rig_init(&r);
    mutepeer_handshake(r.peer);
    CHECK_INT(guest_content_open(r.g, "/a", "", &events, &r, &r.reader), -ENOSYS);
    CHECK_INT(guest_content_store(r.g, &plan, on_stored, &r, &r.writer), -ENOSYS);
    CHECK_INT(guest_tree_pack(r.g, &(struct guest_pack_plan){ "/a", "", false }, &events, &r, &r.reader), -ENOSYS);
    CHECK_INT(guest_tree_unpack(r.g, "/a", "", on_unpacked, &r, &r.writer), -ENOSYS);
    CHECK_INT(guest_content_open(r.g, "a", "", &events, &r, &r.reader), -EINVAL);
    rig_done(&r);
}

TEST(content_frames_out_of_order_end_the_link)
{
    static const struct guest_read_events events = { .on_content = on_content, .on_data = on_data, .on_done = on_done };
    static const struct {
        uint16_t frames[3];
        int outputs; /* of those before the bad one */
    } cases[] = {
        { { PROTO_FS_DATA }, 0 }, /* before it is open */
        { { PROTO_DONE }, 0 },
        { { PROTO_FS_OPENED }, 0 }, /* the answer to another request */
        { { PROTO_FS_STORED }, 0 },
        { { PROTO_FS_CONTENT, PROTO_FS_CONTENT }, 1 }, /* twice */
        { { PROTO_FS_CONTENT, PROTO_FS_DATA }, 1 },    /* before a range was asked for */
        { { PROTO_FS_CONTENT, PROTO_DONE }, 1 },
        { { PROTO_FS_CONTENT, PROTO_CREDIT }, 1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig r;
        rig_init(&r);
        able_handshake(&r);
        CHECK_INT(guest_content_open(r.g, "/a", "", &events, &r, &r.reader), 0);
        for (size_t k = 0; k < 3 && cases[i].frames[k]; k++) {
            uint8_t mem[512];
            uint16_t type = cases[i].frames[k];
            if (type == PROTO_FS_CONTENT || type == PROTO_FS_STORED)
                send_content(&r, type);
            else if (type == PROTO_FS_OPENED)
                send_frame(&r, 1, type, 0, mem, put_entries(mem, "/a", 1));
            else
                send_frame(&r, 1, type, 0, "\1\0\0", type == PROTO_DONE ? 0 : 4);
        }
        check_broken(&r);
        CHECK_INT(r.outputs, cases[i].outputs);
        rig_done(&r);
    }
}

/* --- watches --- */

static void on_changes(void *arg, const struct guest_file_change *changes, size_t n, size_t bytes)
{
    struct rig *r = arg;
    CHECK(n > 0 && bytes > 0 && changes[0].path[0] == '/');
    r->outputs++;
    note(r);
}

static const struct guest_watch_events watch_events = { .on_changes = on_changes, .on_done = on_done };

static void send_changes(struct rig *r, const struct proto_change *changes, size_t n)
{
    uint8_t mem[PROTO_PAYLOAD_MAX];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    for (size_t i = 0; i < n; i++)
        proto_put_change(&w, &changes[i]);
    send_frame(r, 1, PROTO_FS_CHANGES, 0, mem, w.len);
}

TEST(an_agent_that_cannot_watch_is_not_asked)
{
    struct rig r;
    struct guest_watch *watch;
    rig_init(&r);
    mutepeer_handshake(r.peer);
    LOOPTURN_UNTIL(r.loop, guest_link_version(r.g));
    CHECK_INT(guest_watch_start(r.g, &(struct guest_watch_plan){ .path = "/a" }, &watch_events, &r, &watch), -ENOSYS);
    CHECK_INT(guest_watch_start(r.g, &(struct guest_watch_plan){ .path = "a" }, &watch_events, &r, &watch), -EINVAL);
    rig_done(&r);
}

TEST(changes_that_cannot_be_end_the_link)
{
    static const struct {
        struct proto_change changes[3];
        size_t n;
        int outputs; /* of those before the bad one */
    } cases[] = {
        { { { .path = "/a/f", .kind = PROTO_CHANGE_CREATED } }, 1, 0 }, /* before it is ready */
        { { { .path = "/a", .kind = PROTO_CHANGE_READY }, { .path = "/a", .kind = PROTO_CHANGE_READY } }, 2, 0 },
        { { { .path = "a", .kind = PROTO_CHANGE_READY } }, 1, 0 }, /* not absolute */
        { { { .path = "", .kind = PROTO_CHANGE_READY } }, 1, 0 },
        { { { .path = "/a", .kind = 0 } }, 1, 0 },
        { { { .path = "/a", .kind = PROTO_CHANGE_LAST + 1 } }, 1, 0 },
        { { { 0 } }, 0, 0 }, /* an empty frame */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct rig r;
        struct guest_watch *watch;
        rig_init(&r);
        able_handshake(&r);
        CHECK_INT(guest_watch_start(r.g, &(struct guest_watch_plan){ .path = "/a" }, &watch_events, &r, &watch), 0);
        send_changes(&r, cases[i].changes, cases[i].n);
        check_broken(&r);
        CHECK_INT(r.outputs, cases[i].outputs);
        rig_done(&r);
    }
}

TEST(changes_beyond_the_window_end_the_link)
{
    struct rig r;
    struct guest_watch *watch;
    static char name[PROTO_PATH_MAX + 1] = "/";
    memset(name + 1, 'n', sizeof(name) - 2);
    struct proto_change big[15];
    for (size_t i = 0; i < 15; i++)
        big[i] = (struct proto_change){ .path = name, .kind = PROTO_CHANGE_MODIFIED };
    rig_init(&r);
    able_handshake(&r);
    CHECK_INT(guest_watch_start(r.g, &(struct guest_watch_plan){ .path = "/a" }, &watch_events, &r, &watch), 0);
    send_changes(&r, &(struct proto_change){ .path = "/a", .kind = PROTO_CHANGE_READY }, 1);
    wait_for(&r, &r.outputs, 1);
    for (int i = 0; i < 4; i++) { /* nobody credits them */
        send_changes(&r, big, 15);
        wait_for(&r, &r.outputs, i + 2);
    }
    send_changes(&r, big, 15);
    check_broken(&r);
    CHECK_INT(r.outputs, 5);
    rig_done(&r);
}

TEST(more_content_than_asked_for_ends_the_link)
{
    static const struct guest_read_events events = { .on_content = on_content, .on_data = on_data, .on_done = on_done };
    struct rig r;
    rig_init(&r);
    able_handshake(&r);
    CHECK_INT(guest_content_open(r.g, "/a", "", &events, &r, &r.reader), 0);
    send_content(&r, PROTO_FS_CONTENT);
    wait_for(&r, &r.outputs, 1);
    guest_reader_range(r.reader, 0, 3);
    send_frame(&r, 1, PROTO_FS_DATA, 0, "1234", 4);
    check_broken(&r);
    CHECK_INT(r.outputs, 1);
    rig_done(&r);
}

TEST(an_archive_beyond_the_window_ends_the_link)
{
    static const struct guest_read_events events = { .on_data = on_data, .on_done = on_done };
    static char data[PROTO_PAYLOAD_MAX];
    struct rig r;
    rig_init(&r);
    able_handshake(&r);
    CHECK_INT(guest_tree_pack(r.g, &(struct guest_pack_plan){ "/a", "", false }, &events, &r, &r.reader), 0);
    int n = PROTO_WINDOW_WIDE / PROTO_PAYLOAD_MAX;
    for (int i = 0; i < n; i++) {
        send_frame(&r, 1, PROTO_FS_DATA, 0, data, sizeof(data));
        wait_for(&r, &r.outputs, i + 1);
    }
    send_frame(&r, 1, PROTO_FS_DATA, 0, data, 1);
    check_broken(&r);
    CHECK_INT(r.outputs, n);
    rig_done(&r);
}

TEST(a_store_or_unpack_is_not_done_before_its_end_or_by_another_frame)
{
    static const uint16_t last[] = { PROTO_FS_STORED, PROTO_FS_UNPACKED, PROTO_DONE };
    for (size_t i = 0; i < 2 * 3 * 2; i++) {
        bool is_store = i % 2, is_ended = i / 2 % 2;
        uint16_t type = last[i / 4];
        if (is_ended && type == (is_store ? PROTO_FS_STORED : PROTO_FS_UNPACKED))
            continue; /* that is the answer */
        struct rig r;
        rig_init(&r);
        able_handshake(&r);
        struct guest_store_plan plan = { .path = "/a", .user = "" };
        CHECK_INT(is_store ? guest_content_store(r.g, &plan, on_stored, &r, &r.writer)
                           : guest_tree_unpack(r.g, "/a", "", on_unpacked, &r, &r.writer),
                  0);
        if (is_ended)
            guest_writer_end(r.writer);
        if (type == PROTO_FS_STORED)
            send_content(&r, type);
        else
            send_frame(&r, 1, type, 0, "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0", type == PROTO_DONE ? 0 : 16);
        check_broken(&r);
        rig_done(&r);
    }
}

int main(void)
{
    RUN(an_agent_that_cannot_is_not_asked);
    RUN(content_frames_out_of_order_end_the_link);
    RUN(an_agent_that_cannot_watch_is_not_asked);
    RUN(changes_that_cannot_be_end_the_link);
    RUN(changes_beyond_the_window_end_the_link);
    RUN(more_content_than_asked_for_ends_the_link);
    RUN(an_archive_beyond_the_window_ends_the_link);
    RUN(a_store_or_unpack_is_not_done_before_its_end_or_by_another_frame);
    return tap_done();
}
