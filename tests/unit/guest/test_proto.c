/* The wire format: every field and record survives a round trip, and nothing is read beyond what was sent. */
#include "guest/proto.h"

#include <errno.h>

#include "tap.h"

TEST(a_header_survives_and_its_limits_hold)
{
    struct proto_header h = { .length = PROTO_PAYLOAD_MAX, .stream = 0x01020304, .type = 513, .flags = PROTO_MORE };
    struct proto_header back = { 0 };
    uint8_t mem[PROTO_HEADER];
    proto_header_put(mem, &h);
    CHECK_INT(mem[4], 4); /* little-endian */
    CHECK_INT(mem[7], 1);
    CHECK_INT(proto_header_get(mem, &back), 0);
    CHECK_INT(back.length, h.length);
    CHECK_INT(back.stream, h.stream);
    CHECK_INT(back.type, h.type);
    CHECK_INT(back.flags, h.flags);
    h.length = PROTO_PAYLOAD_MAX + 1;
    proto_header_put(mem, &h);
    CHECK_INT(proto_header_get(mem, &back), -EMSGSIZE);
    h.length = 0;
    h.flags = 2;
    proto_header_put(mem, &h);
    CHECK_INT(proto_header_get(mem, &back), -EBADMSG);
}

TEST(numbers_and_texts_survive)
{
    uint8_t mem[64];
    struct proto_writer w;
    struct proto_reader r;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u8(&w, 0xfe);
    proto_put_u16(&w, 0xfedc);
    proto_put_u32(&w, 0xfedcba98);
    proto_put_u64(&w, 0xfedcba9876543210);
    proto_put_str(&w, "text");
    proto_put_str(&w, NULL);
    proto_put_data(&w, "rest", 4);
    CHECK(!w.is_full);
    proto_reader_init(&r, mem, w.len);
    CHECK_INT(proto_get_u8(&r), 0xfe);
    CHECK_INT(proto_get_u16(&r), 0xfedc);
    CHECK_INT(proto_get_u32(&r), 0xfedcba98);
    CHECK(proto_get_u64(&r) == 0xfedcba9876543210);
    CHECK_STR(proto_get_str(&r, 4), "text");
    CHECK_STR(proto_get_str(&r, 4), "");
    size_t n = 0;
    CHECK(memcmp(proto_get_rest(&r, &n), "rest", 4) == 0);
    CHECK_INT(n, 4);
    CHECK_INT(proto_reader_end(&r), 0);
}

TEST(a_short_payload_is_bad_and_stays_bad)
{
    struct proto_reader r;
    proto_reader_init(&r, "\1\2\3", 3);
    CHECK_INT(proto_get_u32(&r), 0);
    CHECK(r.is_bad);
    CHECK_INT(proto_get_u8(&r), 0);
    CHECK_STR(proto_get_str(&r, 100), "");
    size_t n = 9;
    CHECK(proto_get_rest(&r, &n) != NULL);
    CHECK_INT(n, 0);
    CHECK_INT(proto_reader_end(&r), -EBADMSG);
}

TEST(bytes_left_over_are_bad)
{
    struct proto_reader r;
    proto_reader_init(&r, "\1\2", 2);
    CHECK_INT(proto_get_u8(&r), 1);
    CHECK_INT(proto_reader_end(&r), -EBADMSG);
}

TEST(texts_need_their_nul_and_their_limit)
{
    static const struct {
        const char *bytes;
        size_t len, max;
        int is_bad;
    } cases[] = {
        { "\3\0\0\0abc\0", 8, 3, 0 },  { "\3\0\0\0abc\0", 8, 2, 1 }, { "\3\0\0\0abc", 7, 3, 1 },
        { "\3\0\0\0a\0c\0", 8, 3, 1 }, { "\3\0\0\0abcd", 8, 3, 1 },  { "\377\377\377\377abc\0", 8, SIZE_MAX, 1 },
        { "\0\0\0\0\0", 5, 0, 0 },     { "\0\0\0\0", 4, 0, 1 },      { "\0\0\0", 3, 0, 1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct proto_reader r;
        proto_reader_init(&r, cases[i].bytes, cases[i].len);
        (void)proto_get_str(&r, cases[i].max);
        CHECK_INT(r.is_bad, cases[i].is_bad);
    }
}

TEST(a_count_cannot_promise_more_than_is_there)
{
    struct proto_reader r;
    proto_reader_init(&r, "\2\0\0\0\0\0\0\0\0\0\0\0\0\0", 14);
    CHECK_INT(proto_get_count(&r, 10), 2);
    proto_reader_init(&r, "\3\0\0\0\0\0\0\0\0\0\0\0\0\0", 14);
    CHECK_INT(proto_get_count(&r, 10), 0);
    CHECK(r.is_bad);
    proto_reader_init(&r, "\2\0\0\0\0\0\0\0\0\0\0\0\0\0", 14);
    CHECK_INT(proto_get_count(&r, 1), 0);
    CHECK(r.is_bad);
    proto_reader_init(&r, "\377\377\377\377", 4);
    CHECK(proto_get_count(&r, 1) == PROTO_NO_STRS);
    CHECK(!r.is_bad);
}

TEST(a_full_writer_writes_nothing_more)
{
    uint8_t mem[4] = { 9, 9, 9, 9 };
    struct proto_writer w;
    proto_writer_init(&w, mem, 3);
    proto_put_u32(&w, 1);
    CHECK(w.is_full);
    CHECK_INT(w.len, 0);
    proto_put_u8(&w, 1);
    CHECK_INT(w.len, 0);
    CHECK_INT(mem[0], 9);
    CHECK_INT(mem[3], 9);
    CHECK_INT(proto_frame_end(&w, 1, PROTO_PING, 0), -EMSGSIZE);
}

TEST(a_frame_is_closed_in_place)
{
    static uint8_t mem[PROTO_FRAME_MAX + 1];
    struct proto_writer w;
    struct proto_header h;
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_u32(&w, 77);
    CHECK_INT(proto_frame_end(&w, 5, PROTO_CREDIT, 0), PROTO_HEADER + 4);
    CHECK_INT(proto_header_get(mem, &h), 0);
    CHECK_INT(h.length, 4);
    CHECK_INT(h.stream, 5);
    CHECK_INT(h.type, PROTO_CREDIT);
    static const uint8_t data[PROTO_PAYLOAD_MAX + 1];
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_data(&w, data, PROTO_PAYLOAD_MAX);
    CHECK_INT(proto_frame_end(&w, 5, PROTO_FS_DATA, 0), PROTO_FRAME_MAX);
    proto_frame_begin(&w, mem, sizeof(mem));
    proto_put_data(&w, data, PROTO_PAYLOAD_MAX + 1);
    CHECK_INT(proto_frame_end(&w, 5, PROTO_FS_DATA, 0), -EMSGSIZE);
}

TEST(records_survive)
{
    uint8_t mem[1024];
    struct proto_writer w;
    struct proto_reader r;
    struct proto_exit x = { 137, 9, PROTO_EXIT_OOM, 1, 2, 3, UINT64_MAX }, x2;
    struct proto_stat st = { "/a", "root", "wheel", "/b", 5, -7, 0120777, 1, 2 }, st2;
    struct proto_process p = { 4, 1, 1234, 10, 20, "nobody", "sleep 5", 'S' }, p2;
    struct proto_handshake handshake;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_exit(&w, &x);
    proto_put_stat(&w, &st);
    proto_put_process(&w, &p);
    proto_put_handshake(&w, 6);
    proto_reader_init(&r, mem, w.len);
    proto_get_exit(&r, &x2);
    proto_get_stat(&r, &st2);
    proto_get_process(&r, &p2);
    proto_get_handshake(&r, &handshake);
    CHECK_INT(proto_reader_end(&r), 0);
    CHECK(memcmp(&x, &x2, sizeof(x)) == 0);
    CHECK_STR(st2.path, "/a");
    CHECK_STR(st2.group, "wheel");
    CHECK_STR(st2.target, "/b");
    CHECK_INT(st2.mtime_ms, -7);
    CHECK_INT(st2.mode, 0120777);
    CHECK_STR(p2.command, "sleep 5");
    CHECK_INT(p2.cpu_centi, 1234);
    CHECK_INT(p2.state, 'S');
    CHECK_INT(handshake.magic, PROTO_MAGIC);
    CHECK_INT(handshake.version, PROTO_VERSION);
    CHECK_INT(handshake.caps, 6);
}

TEST(two_versions_agree_on_the_lower_one_or_on_none)
{
    struct proto_handshake peer = { .magic = PROTO_MAGIC, .version = PROTO_VERSION, .oldest = PROTO_OLDEST };
    CHECK_INT(proto_agree(&peer), PROTO_VERSION);
    peer.version = PROTO_VERSION + 3; /* a later one that still speaks ours */
    peer.oldest = PROTO_VERSION;
    CHECK_INT(proto_agree(&peer), PROTO_VERSION);
    peer.oldest = PROTO_VERSION + 1;
    CHECK_INT(proto_agree(&peer), 0);
    peer = (struct proto_handshake){ .magic = PROTO_MAGIC, .version = PROTO_OLDEST - 1, .oldest = 0 };
    CHECK_INT(proto_agree(&peer), 0);
    peer = (struct proto_handshake){ .magic = PROTO_MAGIC + 1, .version = PROTO_VERSION, .oldest = PROTO_OLDEST };
    CHECK_INT(proto_agree(&peer), 0);
}

TEST(a_record_that_does_not_fit_leaves_no_half)
{
    uint8_t mem[48];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u64(&w, 1);
    proto_put_stat(&w, &(struct proto_stat){ .path = "a long enough name" });
    CHECK(w.is_full);
    CHECK_INT(w.len, 8);
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_process(&w, &(struct proto_process){ .command = "a command that does not fit here" });
    CHECK_INT(w.len, 0);
}

static size_t exec_payload(uint8_t *mem, size_t cap, const char *tag, uint32_t argc, uint32_t envc)
{
    struct proto_writer w;
    proto_writer_init(&w, mem, cap);
    proto_put_u32(&w, 0);
    proto_put_u16(&w, 80);
    proto_put_u16(&w, 24);
    proto_put_u32(&w, 0);
    proto_put_str(&w, "/");
    proto_put_str(&w, "");
    proto_put_str(&w, tag);
    proto_put_u32(&w, argc);
    for (uint32_t i = 0; i < argc; i++)
        proto_put_str(&w, "x");
    proto_put_u32(&w, envc);
    for (uint32_t i = 0; i < envc && envc != PROTO_NO_STRS; i++)
        proto_put_str(&w, "A=b");
    return w.is_full ? 0 : w.len;
}

TEST(an_exec_is_checked_field_by_field)
{
    static uint8_t mem[512 * 1024];
    static const char tag[] = "1234567890123456789012345678901234567890123456789012345678901234";
    size_t n = exec_payload(mem, sizeof(mem), "", 1, PROTO_NO_STRS);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), 0);
    CHECK_INT(proto_check(PROTO_FROM_GUEST, PROTO_EXEC_START, mem, n), -EBADMSG);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n - 1), -EBADMSG);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n + 1), -EBADMSG);
    n = exec_payload(mem, sizeof(mem), "", 1, 0);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), 0);
    n = exec_payload(mem, sizeof(mem), tag + 1, PROTO_ARGS_MAX, 3);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), 0);
    n = exec_payload(mem, sizeof(mem), "", PROTO_ARGS_MAX + 1, 3);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), -EBADMSG);
    n = exec_payload(mem, sizeof(mem), tag, 1, 3);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), -EBADMSG);
    n = exec_payload(mem, sizeof(mem), "", 0, 3);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_START, mem, n), -EBADMSG);
}

TEST(data_that_may_not_be_empty_is_not)
{
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_STDIN, "", 0), -EBADMSG);
    CHECK_INT(proto_check(PROTO_FROM_HOST, PROTO_EXEC_STDIN, "x", 1), 0);
    CHECK_INT(proto_check(PROTO_FROM_GUEST, PROTO_EXEC_OUTPUT, "\1", 1), -EBADMSG);
    CHECK_INT(proto_check(PROTO_FROM_GUEST, PROTO_TUNNEL_DATA, "", 0), 0);
    CHECK_INT(proto_check(PROTO_FROM_GUEST, PROTO_FS_STATS, "", 0), 0);
    CHECK_INT(proto_check(PROTO_FROM_GUEST, PROTO_FS_OPENED, "", 0), -EBADMSG);
}

TEST(types_know_their_name_and_rules)
{
    CHECK_STR(proto_name(PROTO_FS_PUT), "FS_PUT");
    CHECK_STR(proto_name(9999), "?");
    CHECK(proto_is_request(PROTO_PING));
    CHECK(!proto_is_request(PROTO_DROP));
    CHECK(!proto_is_request(9999));
    CHECK(proto_can_have_more(PROTO_FS_STATS));
    CHECK(!proto_can_have_more(PROTO_DONE));
    CHECK_INT(proto_check(PROTO_FROM_HOST, 9999, "", 0), -EBADMSG);
}

int main(void)
{
    RUN(a_header_survives_and_its_limits_hold);
    RUN(numbers_and_texts_survive);
    RUN(a_short_payload_is_bad_and_stays_bad);
    RUN(bytes_left_over_are_bad);
    RUN(texts_need_their_nul_and_their_limit);
    RUN(a_count_cannot_promise_more_than_is_there);
    RUN(a_full_writer_writes_nothing_more);
    RUN(a_frame_is_closed_in_place);
    RUN(records_survive);
    RUN(two_versions_agree_on_the_lower_one_or_on_none);
    RUN(a_record_that_does_not_fit_leaves_no_half);
    RUN(an_exec_is_checked_field_by_field);
    RUN(data_that_may_not_be_empty_is_not);
    RUN(types_know_their_name_and_rules);
    return tap_done();
}
