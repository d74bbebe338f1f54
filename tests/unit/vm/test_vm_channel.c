/* The reply to a hello is found in whatever stands on a machine's stream: every cut, remains of earlier links, garbage.
 * Who does not answer is greeted again, and not for ever. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loopturn.h"
#include "os/unixsock.h"
#include "tap.h"
#include "vm/channel.h"
#include "vm/vmm/vmm.h"

#define NONCE 0x1122334455667788u

static struct vm_handshake_reply reply_of(uint64_t nonce)
{
    struct vm_handshake_reply r = { .version = VM_HANDSHAKE_VERSION, .nonce = nonce, .text = "text" };
    memcpy(r.magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    return r;
}

/* Reads the stream in pieces of at most `step`, as recv() would; returns how many bytes were taken until the reply was
 * whole, 0 when it never was. */
static size_t scan(const unsigned char *stream, size_t len, size_t first, size_t step, struct vm_channel_scan *s)
{
    *s = (struct vm_channel_scan){ 0 };
    for (size_t at = 0, n; at < len; at += n) {
        size_t room = vm_channel_scan_room(s);
        n = at == 0 && first ? first : step;
        n = n < room ? n : room;
        n = n < len - at ? n : len - at;
        CHECK(room > 0);
        if (!n)
            return 0;
        memcpy(s->bytes + s->have, stream + at, n);
        if (vm_channel_scan_added(s, n, NONCE))
            return at + n;
    }
    return 0;
}

/* `before` bytes of something, the reply, and what the guest said after it, which must not be taken. */
static void expect_found(const void *before, size_t n, const char *what)
{
    struct vm_handshake_reply good = reply_of(NONCE), got;
    struct vm_channel_scan s;
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
    for (size_t n = 1; n < VM_HANDSHAKE_MAGIC_LEN; n++)
        expect_found(VM_HANDSHAKE_MAGIC, n, "a begin of the magic");
    expect_found("\x02\x02\x02iii-v\x02iii-vm", 16, "several begins");
}

TEST(a_reply_to_an_earlier_handshake_is_passed_over)
{
    struct vm_handshake_reply old[3] = { reply_of(NONCE + 1), reply_of(0), reply_of(NONCE) };
    old[2].version++; /* of another version of this program */
    expect_found(old, sizeof(old), "stale replies");
    expect_found(old, sizeof(old[0]) - 1, "half a stale reply");
}

TEST(a_reply_inside_the_text_of_a_stale_one)
{
    struct vm_handshake_reply old = reply_of(1);
    memcpy(old.text, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    memcpy(old.text + sizeof(old.text) - VM_HANDSHAKE_MAGIC_LEN, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN);
    expect_found(&old, sizeof(old), "a magic in a text");
}

TEST(without_the_nonce_nothing_is_a_reply)
{
    unsigned char stream[3 * sizeof(struct vm_handshake_reply)];
    struct vm_handshake_reply bad = reply_of(NONCE ^ 1);
    struct vm_channel_scan s;
    for (size_t i = 0; i < 3; i++)
        memcpy(stream + i * sizeof(bad), &bad, sizeof(bad));
    for (size_t step = 1; step < sizeof(bad) + 2; step++)
        CHECK_INT(scan(stream, sizeof(stream), 0, step, &s), 0);
}

/* --- the life of one: a listener in the place of the monitor --- */

static struct loop *loop;
static char folder[] = "/tmp/vmchannel-XXXXXX", path[64];
static int listener = NO_FD, calls, got_fd;
static struct err got_err;

static void on_end(void *arg, int fd, const struct err *err)
{
    (void)arg;
    calls++;
    got_fd = fd;
    got_err = err ? *err : (struct err)ERR_INIT;
    loop_stop(loop);
}

static struct vm_channel *begin(int64_t first_ms, int64_t deadline_ms)
{
    struct vm_channel_options opt = { .loop = loop,
                                      .path = path,
                                      .first_ms = first_ms,
                                      .deadline_ms = deadline_ms,
                                      .handshake.what = VM_HANDSHAKE_PROBE };
    calls = 0;
    got_fd = NO_FD;
    return vm_channel_open(&opt, on_end, NULL);
}

/* The next connection and the hello on it; the loop runs until they are there. */
static int take_handshake(struct vm_handshake *ret)
{
    for (int i = 0; i < 1000 && !calls; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && recv(fd, ret, sizeof(*ret), MSG_WAITALL) == (ssize_t)sizeof(*ret))
            return fd;
        if (fd >= 0)
            (void)close(fd);
        loopturn_ms(loop, 10);
    }
    return NO_FD;
}

/* It is no answer, or not all of one. */
static void give_part(int fd, const void *data, size_t len)
{
    CHECK(send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len);
    for (int i = 0; i < 5 && !calls; i++)
        loopturn_ms(loop, 10);
    CHECK_INT(calls, 0);
}

static void give(int fd, const void *data, size_t len)
{
    CHECK(send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len);
    LOOPTURN_UNTIL(loop, calls);
    CHECK_INT(calls, 1);
}

TEST(an_answer_hands_the_stream_over)
{
    struct vm_handshake handshake;
    (void)begin(60000, 60000);
    CHECK_INT(calls, 0); /* never from inside the call */
    int fd = take_handshake(&handshake);
    CHECK(fd >= 0 && memcmp(handshake.magic, VM_HANDSHAKE_MAGIC, VM_HANDSHAKE_MAGIC_LEN) == 0);
    CHECK_INT(handshake.version, VM_HANDSHAKE_VERSION);
    CHECK_INT(handshake.what, VM_HANDSHAKE_PROBE);
    CHECK(handshake.realtime_ns / 1000000000 - (uint64_t)time(NULL) + 5 < 10);
    struct vm_handshake_reply reply = reply_of(handshake.nonce);
    give(fd, &reply, sizeof(reply));
    CHECK(got_fd >= 0 && got_err.code == ERR_NONE);
    char c = 0;
    CHECK(write(fd, "g", 1) == 1 && read(got_fd, &c, 1) == 1 && c == 'g');
    (void)close(got_fd);
    (void)close(fd);
}

/* What an earlier link left, false beginnings without end, and in the same breath what the next link is to read. */
TEST(nothing_behind_the_reply_is_taken)
{
    enum { NOISE = 70000, BEHIND = 9 };
    static unsigned char stream[NOISE + sizeof(struct vm_handshake_reply) + BEHIND];
    struct vm_handshake handshake;
    char rest[BEHIND + 1] = "";
    (void)begin(60000, 60000);
    int fd = take_handshake(&handshake);
    struct vm_handshake_reply reply = reply_of(handshake.nonce);
    for (size_t i = 0; i < NOISE; i++)
        stream[i] = (unsigned char)VM_HANDSHAKE_MAGIC[i % VM_HANDSHAKE_MAGIC_LEN];
    memcpy(stream + NOISE, &reply, sizeof(reply));
    memcpy(stream + NOISE + sizeof(reply), "the link.", BEHIND);
    give(fd, stream, sizeof(stream));
    CHECK(got_fd >= 0 && recv(got_fd, rest, BEHIND, MSG_DONTWAIT) == BEHIND);
    CHECK_STR(rest, "the link.");
    (void)close(got_fd);
    (void)close(fd);
}

/* A guest's text is read by people, and its number is not believed. */
static void expect_refusal(int32_t result, int sys)
{
    struct vm_handshake handshake;
    (void)begin(60000, 60000);
    int fd = take_handshake(&handshake);
    struct vm_handshake_reply reply = reply_of(handshake.nonce);
    reply.result = result;
    memset(reply.text, 'a', sizeof(reply.text)); /* without an end */
    memcpy(reply.text, "\x1b[2J", 4);
    give(fd, &reply, sizeof(reply));
    CHECK_INT(got_fd, NO_FD);
    CHECK_INT(got_err.code, ERR_UPSTREAM);
    CHECK_INT(got_err.sys, sys);
    const char *text = strstr(got_err.msg, "?[2Jaaa");
    CHECK(text && !strchr(got_err.msg, '\x1b'));
    CHECK_INT(text ? strspn(text + 4, "a") : 0, sizeof(reply.text) - 5); /* ended where it must be */
    (void)close(fd);
}

TEST(a_refusal_is_told)
{
    expect_refusal(-ENOSPC, ENOSPC);
    expect_refusal(-4095, 4095);
    expect_refusal(-4096, EIO);
    expect_refusal(INT32_MIN, EIO);
}

/* With a nonce of its own each time: what comes late to the first is no answer to the second. */
TEST(who_hangs_up_is_greeted_again)
{
    struct vm_handshake first, second;
    (void)begin(60000, 60000);
    int fd = take_handshake(&first);
    (void)close(fd);
    fd = take_handshake(&second);
    CHECK(fd >= 0 && first.nonce != second.nonce);
    CHECK(memcmp(first.seed, second.seed, sizeof(first.seed)) != 0);
    struct vm_handshake_reply late = reply_of(first.nonce), reply = reply_of(second.nonce);
    give_part(fd, &late, sizeof(late));
    give(fd, &reply, sizeof(reply));
    CHECK(got_fd >= 0);
    (void)close(got_fd);
    (void)close(fd);
}

TEST(who_is_silent_is_greeted_again_on_another_stream)
{
    struct vm_handshake handshake;
    char c;
    (void)begin(1000, 60000); /* the second waits twice as long */
    int fd = take_handshake(&handshake), next = take_handshake(&handshake);
    CHECK(next >= 0 && recv(fd, &c, 1, MSG_DONTWAIT) == 0); /* the former is shut before */
    struct vm_handshake_reply reply = reply_of(handshake.nonce);
    give(next, &reply, sizeof(reply));
    (void)close(got_fd);
    (void)close(next);
    (void)close(fd);
}

TEST(nobody_is_waited_for_longer_than_the_deadline)
{
    struct vm_channel *c = begin(100000, 300);
    loopturn_ms(loop, 20000);
    CHECK_INT(calls, 1);
    CHECK_INT(got_err.code, ERR_TIMEOUT);
    CHECK_INT(got_fd, NO_FD);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    (void)close(fd);
    (void)unlink(path); /* nor where nobody listens */
    (void)begin(10, 300);
    loopturn_ms(loop, 20000);
    CHECK_INT(calls, 1);
    CHECK_INT(got_err.code, ERR_TIMEOUT);
    c = begin(10, 100);
    vm_channel_cancel(c);
    loopturn_ms(loop, 300);
    CHECK_INT(calls, 0);
}

static size_t sent;

static void babble(void *arg)
{
    static char noise[1 << 16];
    const int *fd = arg;
    for (ssize_t n; (n = send(*fd, noise, sizeof(noise), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0;)
        sent += (size_t)n;
}

/* Last, and the one that takes time: it is 64 MiB. */
TEST(who_talks_without_end_is_not_listened_to)
{
    struct vm_handshake handshake;
    listener = unixsock_listen(path, SOCK_NONBLOCK, 4);
    (void)begin(100000, 100000);
    int fd = take_handshake(&handshake);
    CHECK(fd >= 0);
    struct timer *t = timer_new(loop, 0, 1, babble, &fd);
    loop_run(loop);
    timer_free(t);
    CHECK_INT(calls, 1);
    CHECK_INT(got_err.code, ERR_UPSTREAM);
    CHECK(sent >= (64u << 20));
    (void)close(fd);
}

/* Behind a vsock each connection is one of its own: nothing that an earlier one left is on it. */
TEST(a_fresh_connection_has_the_reply_and_hardly_anything_else)
{
    static char noise[4096];
    CLEANUP(close_fd_p) int box = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct vm_channel_options opt = {
        .loop = loop, .box_fd = box, .first_ms = 60000, .deadline_ms = 60000, .handshake.what = VM_HANDSHAKE_PROBE
    };
    char name[96];
    struct vm_handshake handshake;
    (void)snprintf(name, sizeof(name), "%s/" VMM_VSOCK_NAME, folder);
    listener = unixsock_listen(name, SOCK_NONBLOCK, 4);
    for (int is_too_much = 0; is_too_much < 2; is_too_much++) {
        calls = 0;
        (void)vm_channel_open(&opt, on_end, NULL);
        int fd = take_handshake(&handshake);
        give_part(fd, noise, sizeof(noise));
        struct vm_handshake_reply reply = reply_of(handshake.nonce);
        give(fd, is_too_much ? noise : (char *)&reply, sizeof(reply));
        CHECK_INT(got_err.code, is_too_much ? ERR_UPSTREAM : ERR_NONE);
        if (got_fd >= 0)
            (void)close(got_fd);
        (void)close(fd);
    }
    (void)close(listener);
    (void)unlink(name);
}

int main(void)
{
    struct err err = ERR_INIT;
    RUN(a_reply_is_found_at_every_cut);
    RUN(garbage_before_it_is_dropped);
    RUN(begins_of_the_magic_do_not_hide_it);
    RUN(a_reply_to_an_earlier_handshake_is_passed_over);
    RUN(a_reply_inside_the_text_of_a_stale_one);
    RUN(without_the_nonce_nothing_is_a_reply);
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(path, sizeof(path), "%s/s", folder);
    listener = unixsock_listen(path, SOCK_NONBLOCK, 4);
    CHECK_INT(loop_new(&loop, &err), 0);
    RUN(an_answer_hands_the_stream_over);
    RUN(nothing_behind_the_reply_is_taken);
    RUN(a_refusal_is_told);
    RUN(who_hangs_up_is_greeted_again);
    RUN(who_is_silent_is_greeted_again_on_another_stream);
    RUN(nobody_is_waited_for_longer_than_the_deadline);
    (void)close(listener);
    RUN(a_fresh_connection_has_the_reply_and_hardly_anything_else);
    RUN(who_talks_without_end_is_not_listened_to);
    (void)close(listener);
    loop_free(loop);
    (void)unlink(path);
    (void)rmdir(folder);
    return tap_done();
}
