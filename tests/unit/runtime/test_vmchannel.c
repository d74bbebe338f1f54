/* The reply to a hello is found in whatever stands on a machine's stream: every cut, remains of earlier links, garbage.
 */
#include <string.h>

#include "runtime/vm/vmchannel.h"
#include "tap.h"

#define NONCE 0x1122334455667788u

static struct vmhello_reply reply_of(uint64_t nonce)
{
    struct vmhello_reply r = { .version = VMHELLO_VERSION, .nonce = nonce, .text = "text" };
    memcpy(r.magic, VMHELLO_MAGIC, VMHELLO_MAGIC_LEN);
    return r;
}

/* Reads the stream in pieces of at most `step`, as recv() would; returns how many bytes were taken until the reply was
 * whole, 0 when it never was. */
static size_t scan(const unsigned char *stream, size_t len, size_t first, size_t step, struct vmchannel_scan *s)
{
    *s = (struct vmchannel_scan){ 0 };
    for (size_t at = 0, n; at < len; at += n) {
        size_t room = vmchannel_scan_room(s);
        n = at == 0 && first ? first : step;
        n = n < room ? n : room;
        n = n < len - at ? n : len - at;
        CHECK(room > 0);
        if (!n)
            return 0;
        memcpy(s->bytes + s->have, stream + at, n);
        if (vmchannel_scan_added(s, n, NONCE))
            return at + n;
    }
    return 0;
}

/* `before` bytes of something, the reply, and what the guest said after it, which must not be taken. */
static void expect_found(const void *before, size_t n, const char *what)
{
    struct vmhello_reply good = reply_of(NONCE), got;
    struct vmchannel_scan s;
    unsigned char stream[4096];
    CHECK(n + sizeof(good) + 5 <= sizeof(stream));
    memcpy(stream, before, n);
    memcpy(stream + n, &good, sizeof(good));
    memcpy(stream + n + sizeof(good), "after", 5);
    for (size_t first = 1; first <= n + sizeof(good); first++) {
        size_t end = scan(stream, n + sizeof(good) + 5, first, sizeof(stream), &s);
        memcpy(&got, s.bytes, sizeof(got));
        if (end != n + sizeof(good) || memcmp(&got, &good, sizeof(good)) != 0) {
            printf("# %s, first piece of %zu bytes: ended at %zu, not %zu\n", what, first, end, n + sizeof(good));
            tap_bad = 1;
            return;
        }
    }
    CHECK_INT(scan(stream, n + sizeof(good) + 5, 0, 1, &s), n + sizeof(good));
}

TEST(a_reply_is_found_at_every_cut)
{
    expect_found("", 0, "alone");
}

TEST(garbage_before_it_is_dropped)
{
    unsigned char noise[2000];
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (unsigned char)(i * 31 + i / 7);
    expect_found(noise, sizeof(noise), "noise");
    expect_found("\0\0\0\0", 4, "zeros");
}

TEST(begins_of_the_magic_do_not_hide_it)
{
    for (size_t n = 1; n < VMHELLO_MAGIC_LEN; n++)
        expect_found(VMHELLO_MAGIC, n, "a begin of the magic");
    expect_found("\x02\x02\x02iii-v\x02iii-vm", 16, "several begins");
}

TEST(a_reply_to_an_earlier_hello_is_passed_over)
{
    struct vmhello_reply old[3] = { reply_of(NONCE + 1), reply_of(0), reply_of(NONCE) };
    old[2].version++; /* of another version of this program */
    expect_found(old, sizeof(old), "stale replies");
    expect_found(old, sizeof(old[0]) - 1, "half a stale reply");
}

TEST(a_reply_inside_the_text_of_a_stale_one)
{
    struct vmhello_reply old = reply_of(1);
    memcpy(old.text, VMHELLO_MAGIC, VMHELLO_MAGIC_LEN);
    memcpy(old.text + sizeof(old.text) - VMHELLO_MAGIC_LEN, VMHELLO_MAGIC, VMHELLO_MAGIC_LEN);
    expect_found(&old, sizeof(old), "a magic in a text");
}

TEST(without_the_nonce_nothing_is_a_reply)
{
    unsigned char stream[3 * sizeof(struct vmhello_reply)];
    struct vmhello_reply bad = reply_of(NONCE ^ 1);
    struct vmchannel_scan s;
    for (size_t i = 0; i < 3; i++)
        memcpy(stream + i * sizeof(bad), &bad, sizeof(bad));
    for (size_t step = 1; step < sizeof(bad) + 2; step++)
        CHECK_INT(scan(stream, sizeof(stream), 0, step, &s), 0);
}

int main(void)
{
    RUN(a_reply_is_found_at_every_cut);
    RUN(garbage_before_it_is_dropped);
    RUN(begins_of_the_magic_do_not_hide_it);
    RUN(a_reply_to_an_earlier_hello_is_passed_over);
    RUN(a_reply_inside_the_text_of_a_stale_one);
    RUN(without_the_nonce_nothing_is_a_reply);
    return tap_done();
}
