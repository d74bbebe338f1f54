/* The WebSocket frame codec over memory. */
#include "base/alloc.h"
#include "http/ws_frame.h"
#include "http/ws_key.h"
#include "tap.h"

static struct ws_frame_reader reader;

/* Feeds bytes in steps of step; returns the last result; items are described in out. */
static int feed(const char *bytes, size_t len, size_t step, struct buf *out)
{
    int r = 0;
    for (size_t off = 0; off < len && r >= 0;) {
        size_t part = len - off < step ? len - off : step, used = 0;
        struct ws_frame_item item;
        r = ws_frame_read(&reader, bytes + off, part, &used, &item);
        off += used;
        if (r > 0)
            (void)buf_addf(out, "%d:%.*s;", (int)item.op, (int)item.len, item.data);
        if (!used && r == 0)
            break;
    }
    return r < 0 ? r : 0;
}

struct frame_case {
    const char *what, *bytes;
    size_t len;
    int result;
    const char *items;
};
#define BYTES(s) s, sizeof(s) - 1

TEST(frames_from_a_server_side_peer_are_read_or_refused)
{
    static const struct frame_case cases[] = {
        { "text", BYTES("\x81\x02hi"), 0, "1:hi;" },
        { "empty text", BYTES("\x81\x00"), 0, "1:;" },
        { "binary", BYTES("\x82\x02\xff\xfe"), 0, "2:\xff\xfe;" },
        { "fragments", BYTES("\x01\x02he\x00\x01l\x80\x02lo"), 0, "1:hello;" },
        { "ping between fragments", BYTES("\x01\x02he\x89\x01p\x80\x03llo"), 0, "9:p;1:hello;" },
        { "two messages",
          BYTES("\x81\x01"
                "a\x82\x01"
                "b"),
          0, "1:a;2:b;" },
        { "letter across fragments", BYTES("\x01\x01\xc3\x80\x01\xa4"), 0, "1:\xc3\xa4;" },
        { "close", BYTES("\x88\x02\x03\xe8"), 0, "8:\x03\xe8;" },
        { "medium length", BYTES("\x82\x7e\x00\x7f"), 0, "" },
        { "not UTF-8", BYTES("\x81\x01\xff"), -1007, "" },
        { "masked",
          BYTES("\x81\x81"
                "abcd"
                "x"),
          -1002, "" },
        { "reserved bit", BYTES("\xc1\x00"), -1002, "" },
        { "reserved opcode", BYTES("\x83\x00"), -1002, "" },
        { "reserved control opcode", BYTES("\x8b\x00"), -1002, "" },
        { "continuation of nothing", BYTES("\x80\x00"), -1002, "" },
        { "text inside a message",
          BYTES("\x01\x01"
                "a\x81\x01"
                "b"),
          -1002, "" },
        { "fragmented ping", BYTES("\x09\x00"), -1002, "" },
        { "long ping", BYTES("\x89\x7e\x00\x7e"), -1002, "" },
        { "length not minimal, 16", BYTES("\x81\x7e\x00\x7d"), -1002, "" },
        { "length not minimal, 64", BYTES("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff"), -1002, "" },
        { "length with the top bit", BYTES("\x81\x7f\x80\x00\x00\x00\x00\x01\x00\x00"), -1002, "" },
        { "too long", BYTES("\x82\x7e\x03\xe9"), -1009, "" },
        { "too long in fragments",
          BYTES("\x02\x01"
                "a\x80\x7e\x03\xe8"),
          -1009, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t step = 1; step <= 64; step *= 4) {
            struct buf out = BUF_INIT(4096);
            ws_frame_reader_init(&reader, false, 1000);
            int r = feed(cases[i].bytes, cases[i].len, step, &out);
            if (r != cases[i].result)
                printf("# %s, step %zu\n", cases[i].what, step);
            CHECK_INT(r, cases[i].result);
            CHECK_STR(buf_text(&out), cases[i].items);
            ws_frame_reader_done(&reader);
            buf_done(&out);
        }
    }
}

TEST(every_length_survives_a_round_trip_with_a_mask)
{
    static const size_t lengths[] = { 0, 1, 7, 8, 9, 125, 126, 127, 65535, 65536, 70001 };
    static const uint8_t mask[4] = { 0x12, 0x34, 0x56, 0x78 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t len = lengths[i], used = 0;
        char *frame = xzalloc(len + WS_FRAME_HEAD_MAX), *want = xzalloc(len + 1);
        for (size_t k = 0; k < len; k++)
            want[k] = (char)('a' + k % 26);
        size_t head = ws_frame_head(WS_FRAME_BINARY, len, mask, (uint8_t *)frame);
        memcpy(frame + head, want, len);
        ws_frame_mask(frame + head, len, mask, 0);
        struct ws_frame_item item;
        ws_frame_reader_init(&reader, true, 1 << 20);
        size_t half = head + len / 2;
        int r = ws_frame_read(&reader, frame, half, &used, &item); /* the mask goes on where the first half ended */
        if (r == 0)
            r = ws_frame_read(&reader, frame + used, head + len - used, &used, &item);
        CHECK_INT(r, 1);
        CHECK(item.len == len && memcmp(item.data, want, len) == 0);
        ws_frame_reader_done(&reader);
        free(frame);
        free(want);
    }
}

TEST(unmasked_frames_from_a_client_are_refused)
{
    struct buf out = BUF_INIT(100);
    ws_frame_reader_init(&reader, true, 1000);
    CHECK_INT(feed(BYTES("\x81\x02hi"), 64, &out), -1002);
    ws_frame_reader_done(&reader);
    buf_done(&out);
}

TEST(close_payloads_are_checked)
{
    char reason[WS_FRAME_CONTROL_MAX], payload[WS_FRAME_CONTROL_MAX], longest[300];
    int code = 0;
    CHECK_INT(ws_frame_close_parse("", 0, &code, reason), 0);
    CHECK_INT(code, 1005);
    CHECK_INT(ws_frame_close_parse("\x03\xe8"
                                   "bye",
                                   5, &code, reason),
              0);
    CHECK_INT(code, 1000);
    CHECK_STR(reason, "bye");
    CHECK_INT(ws_frame_close_parse("\x03", 1, &code, reason), -1002);
    CHECK_INT(ws_frame_close_parse("\x03\xed", 2, &code, reason), -1002); /* 1005 is never sent */
    CHECK_INT(ws_frame_close_parse("\x03\xee", 2, &code, reason), -1002); /* nor is 1006 */
    CHECK_INT(ws_frame_close_parse("\x00\x01", 2, &code, reason), -1002);
    CHECK_INT(ws_frame_close_parse("\x0b\xb8", 2, &code, reason), 0);     /* 3000 */
    CHECK_INT(ws_frame_close_parse("\x13\x88", 2, &code, reason), -1002); /* 5000 */
    CHECK_INT(ws_frame_close_parse("\x03\xe8\xff", 3, &code, reason), -1007);
    memset(longest, 'r', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_INT(ws_frame_close_make(1000, longest, payload), WS_FRAME_CONTROL_MAX);
    CHECK_INT(ws_frame_close_make(1006, "x", payload), 0);
    CHECK_INT(ws_frame_close_parse(payload, WS_FRAME_CONTROL_MAX, &code, reason), 0);
}

TEST(keys_are_checked_and_answered)
{
    char out[WS_KEY_ACCEPT_MAX], key[WS_KEY_MAX];
    ws_key_accept("dGhlIHNhbXBsZSBub25jZQ==", out); /* the RFC's own example */
    CHECK_STR(out, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    CHECK(ws_key_is_valid("dGhlIHNhbXBsZSBub25jZQ=="));
    CHECK(!ws_key_is_valid("dGhlIHNhbXBsZSBub25jZQ="));
    CHECK(!ws_key_is_valid("dGhlIHNhbXBsZSBub25jZ==="));
    CHECK(!ws_key_is_valid("dGhlIHNhbXBsZSBub25jZQ==="));
    CHECK(!ws_key_is_valid(""));
    ws_key_new(key);
    CHECK(ws_key_is_valid(key));
}

int main(void)
{
    RUN(frames_from_a_server_side_peer_are_read_or_refused);
    RUN(every_length_survives_a_round_trip_with_a_mask);
    RUN(unmasked_frames_from_a_client_are_refused);
    RUN(close_payloads_are_checked);
    RUN(keys_are_checked_and_answered);
    return tap_done();
}
