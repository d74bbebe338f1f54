/* The hello of a virtual machine in a stream: found however it is cut and whatever is around it, refused field by
 * field. */
#include <stdint.h>

#include "guest/proto_vm.h"
#include "tap.h"

static struct vm_handshake good_handshake(void)
{
    struct vm_handshake h = { .magic = VM_HANDSHAKE_MAGIC,
                              .version = VM_HANDSHAKE_VERSION,
                              .what = VM_HANDSHAKE_ENTER,
                              .nonce = 0x1122334455667788u,
                              .realtime_ns = 1800000000000000000u,
                              .nofile = 1024,
                              .shm_mb = 64,
                              .hostname = "box-1",
                              .workdir = "/workspace" };
    memset(h.seed, 0x02, sizeof(h.seed)); /* the first byte of the magic, over and over */
    memset(h.token, 0xab, sizeof(h.token));
    return h;
}

/* Feeds in pieces; returns how many hellos were whole, the last of them in ret. */
static int feed(const uint8_t *data, size_t len, size_t piece, struct vm_handshake *ret)
{
    struct proto_vm v;
    int found = 0;
    proto_vm_init(&v, sizeof(struct vm_handshake));
    for (size_t at = 0; at < len;) {
        size_t n = len - at < piece ? len - at : piece;
        size_t took = proto_vm_feed(&v, data + at, n);
        CHECK(took == n || proto_vm_is_whole(&v));
        at += took;
        if (!proto_vm_is_whole(&v))
            continue;
        *ret = v.msg.handshake;
        found++;
        proto_vm_next(&v);
    }
    return found;
}

TEST(every_cut_and_every_rubbish_before)
{
    static const char *const before[] = { "",
                                          "x",
                                          "\x02",
                                          "\x02iii-vm",
                                          "\x02\x02iii",
                                          "\x02iii-vm\x02",
                                          "some frame\nof an older link",
                                          "\x02iii-v\n\x02iii-vn" };
    static uint8_t data[4096];
    struct vm_handshake h = good_handshake(), got;
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        size_t skip = strlen(before[i]);
        memcpy(data, before[i], skip);
        memcpy(data + skip, &h, sizeof(h));
        for (size_t piece = 1; piece <= skip + sizeof(h); piece++) {
            memset(&got, 0, sizeof(got));
            CHECK_INT(feed(data, skip + sizeof(h), piece, &got), 1);
            CHECK(memcmp(&got, &h, sizeof(h)) == 0);
        }
    }
}

TEST(what_comes_behind_is_not_taken)
{
    struct vm_handshake h = good_handshake();
    struct proto_vm v;
    uint8_t data[sizeof(h) + 5];
    memcpy(data, &h, sizeof(h));
    memcpy(data + sizeof(h), "after", 5);
    proto_vm_init(&v, sizeof(h));
    CHECK_INT(proto_vm_feed(&v, data, sizeof(data)), sizeof(h));
    CHECK(proto_vm_is_whole(&v));
    CHECK_INT(proto_vm_feed(&v, data, 1), 0);
    proto_vm_next(&v);
    CHECK_INT(v.have, 0);
}

/* A sender that was cut off anywhere in its hello does not cost the next one its own. */
TEST(half_a_handshake_before_a_whole_one)
{
    static uint8_t data[3 * sizeof(struct vm_handshake)];
    struct vm_handshake h = good_handshake(), got;
    for (size_t half = 1; half < sizeof(h); half++) {
        memcpy(data, &h, half);
        memcpy(data + half, &h, sizeof(h));
        for (size_t piece = 1; piece < 3000; piece = piece * 3 + 1) {
            memset(&got, 0, sizeof(got));
            int found = feed(data, half + sizeof(h), piece, &got);
            /* With less than a magic missing the remains fill up a message, which nobody can take for a good one. */
            CHECK(found == 1 || (found == 2 && half > sizeof(h) - VM_HANDSHAKE_MAGIC_LEN));
            CHECK(memcmp(&got, &h, sizeof(h)) == 0);
        }
    }
}

TEST(a_message_of_remains_is_refused)
{
    struct vm_handshake h = good_handshake();
    struct proto_vm v;
    for (size_t half = sizeof(h) - VM_HANDSHAKE_MAGIC_LEN + 1; half < sizeof(h); half++) {
        proto_vm_init(&v, sizeof(h));
        (void)proto_vm_feed(&v, &h, half);
        (void)proto_vm_feed(&v, &h, sizeof(h) - half);
        CHECK(proto_vm_is_whole(&v));
        CHECK(proto_vm_complaint(&v.msg.handshake) != NULL);
    }
}

TEST(truncated_is_never_whole)
{
    struct vm_handshake h = good_handshake(), got;
    for (size_t len = 0; len < sizeof(h); len++)
        CHECK_INT(feed((const uint8_t *)&h, len, 7, &got), 0);
}

TEST(several_in_a_row)
{
    static uint8_t data[4 * sizeof(struct vm_handshake) + 16];
    struct vm_handshake h = good_handshake(), got;
    size_t len = 0;
    for (int i = 0; i < 4; i++) {
        memcpy(data + len, "junk", 4);
        memcpy(data + len + 4, &h, sizeof(h));
        len += 4 + sizeof(h);
    }
    for (size_t piece = 1; piece < 200; piece++)
        CHECK_INT(feed(data, len, piece, &got), 4);
}

TEST(replies_too)
{
    struct vm_handshake_reply r = {
        .magic = VM_HANDSHAKE_MAGIC, .version = VM_HANDSHAKE_VERSION, .result = -13, .nonce = 7
    };
    struct proto_vm v;
    proto_vm_init(&v, sizeof(r));
    CHECK_INT(proto_vm_feed(&v, "remains", 7), 7);
    CHECK_INT(proto_vm_feed(&v, &r, sizeof(r)), sizeof(r));
    CHECK(proto_vm_is_whole(&v) && v.msg.reply.nonce == 7 && v.msg.reply.result == -13);
}

TEST(the_begin_of_a_magic)
{
    CHECK(proto_vm_is_magic("\x02iii", 4));
    CHECK(proto_vm_is_magic(VM_HANDSHAKE_MAGIC "more", 12));
    CHECK(!proto_vm_is_magic("\x02iij", 4));
    CHECK(!proto_vm_is_magic("\x02iii-vm\r", 8));
}

#define REFUSED(change)                           \
    do {                                          \
        struct vm_handshake h = good_handshake(); \
        CHECK(proto_vm_complaint(&h) == NULL);    \
        change;                                   \
        CHECK(proto_vm_complaint(&h) != NULL);    \
    } while (0)

TEST(fields_out_of_range)
{
    REFUSED(h.version = 0);
    REFUSED(h.version = VM_HANDSHAKE_VERSION + 1);
    REFUSED(h.what = 0);
    REFUSED(h.what = 99);
    REFUSED(h.flags = VM_HANDSHAKE_READONLY);
    REFUSED(h.what = VM_HANDSHAKE_CLOCK); /* only inside of the guest */
    REFUSED(h.what = VM_HANDSHAKE_NAME);
    REFUSED(h.realtime_ns = 0);
    REFUSED(h.realtime_ns = UINT64_MAX);
    REFUSED(h.nofile = 0);
    REFUSED(h.nofile = UINT32_MAX);
    REFUSED(h.shm_mb = 0); /* would be no limit at all */
    REFUSED(h.shm_mb = UINT32_MAX);
    REFUSED(h.pids_max = UINT32_MAX);
}

TEST(texts)
{
    REFUSED(h.hostname[0] = '\0');
    REFUSED(memset(h.hostname, 'a', sizeof(h.hostname)));
    REFUSED(h.hostname[1] = ' ');
    REFUSED(h.hostname[1] = '/');
    REFUSED(h.hostname[40] = 'x'); /* behind its end */
    REFUSED(h.workdir[0] = 'w');
    REFUSED(h.workdir[0] = '\0');
    REFUSED(memset(h.workdir, '/', sizeof(h.workdir)));
    REFUSED(h.workdir[1023] = 'x');
}

TEST(interfaces)
{
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
    struct vm_handshake h = good_handshake();
    memcpy(h.nic[0].mac, mac, sizeof(mac));
    CHECK(proto_vm_complaint(&h) == NULL); /* taken down */
    h.nic[0].address = 0x0a000002;
    h.nic[0].prefix = 24;
    CHECK(proto_vm_complaint(&h) == NULL);
    h.nic[0].prefix = 33;
    CHECK(proto_vm_complaint(&h) != NULL);
    h.nic[0].prefix = 0;
    CHECK(proto_vm_complaint(&h) != NULL);
}

TEST(interfaces_refused)
{
    REFUSED(h.nic[1].address = 1);
    REFUSED(h.nic[0].zero = 1);
}

TEST(notes)
{
    struct vm_handshake h = good_handshake();
    h.what = VM_HANDSHAKE_MOUNT;
    h.nofile = 0; /* of no interest */
    CHECK(proto_vm_complaint(&h) == NULL && proto_vm_is_note(&h));
    h.flags = VM_HANDSHAKE_READONLY;
    CHECK(proto_vm_complaint(&h) == NULL);
    h.flags = VM_HANDSHAKE_READONLY << 1;
    CHECK(proto_vm_complaint(&h) != NULL);
    h.flags = 0;
    h.hostname[1] = '/';
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good_handshake();
    h.what = VM_HANDSHAKE_FREEZE;
    CHECK(proto_vm_complaint(&h) == NULL && proto_vm_is_note(&h));
    h.workdir[0] = 'w';
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good_handshake();
    CHECK(!proto_vm_is_note(&h));
}

TEST(notes_about_an_interface)
{
    struct vm_handshake good = good_handshake(), h;
    good.what = VM_HANDSHAKE_PLUG;
    good.workdir[0] = '\0'; /* of no interest */
    memcpy(good.hostname, "net12345", sizeof("net12345"));
    vm_handshake_mac(1, good.nic[0].mac);
    good.nic[0].address = 0x0a400002;
    good.nic[0].prefix = 24;
    h = good;
    CHECK(proto_vm_complaint(&h) == NULL && proto_vm_is_note(&h));
    memset(h.hostname, 'n', 16);
    CHECK(proto_vm_complaint(&h) != NULL); /* longer than a name of an interface can be */
    h.hostname[15] = '\0';
    CHECK(proto_vm_complaint(&h) == NULL);
    h.hostname[3] = '/';
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good;
    h.nic[0].address = 0;
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good;
    h.nic[0].prefix = 0;
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good;
    h.flags = VM_HANDSHAKE_READONLY;
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good;
    memset(&h.nic[0], 0, sizeof(h.nic[0]));
    CHECK(proto_vm_complaint(&h) != NULL);
    h = good;
    h.what = VM_HANDSHAKE_UNPLUG;
    CHECK(proto_vm_complaint(&h) != NULL);
    h.nic[0].address = 0;
    CHECK(proto_vm_complaint(&h) == NULL && proto_vm_is_note(&h));
}

TEST(rejoining_needs_no_identity)
{
    struct vm_handshake h = good_handshake();
    h.what = VM_HANDSHAKE_REJOIN;
    memset(h.hostname, 0xff, sizeof(h.hostname));
    h.nofile = 0;
    CHECK(proto_vm_complaint(&h) == NULL);
    h.realtime_ns = 1;
    CHECK(proto_vm_complaint(&h) != NULL);
}

int main(void)
{
    RUN(every_cut_and_every_rubbish_before);
    RUN(what_comes_behind_is_not_taken);
    RUN(half_a_handshake_before_a_whole_one);
    RUN(a_message_of_remains_is_refused);
    RUN(truncated_is_never_whole);
    RUN(several_in_a_row);
    RUN(replies_too);
    RUN(the_begin_of_a_magic);
    RUN(fields_out_of_range);
    RUN(texts);
    RUN(interfaces);
    RUN(interfaces_refused);
    RUN(notes);
    RUN(notes_about_an_interface);
    RUN(rejoining_needs_no_identity);
    return tap_done();
}
