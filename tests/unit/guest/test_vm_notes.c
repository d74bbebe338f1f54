/* The port of notes of a machine's warden, with a unix socket in the place of its vsock: however notes are cut, whoever
 * hangs up, floods or stays, the next one is answered. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/vm_notes.h"
#include "tap.h"

static struct vm_notes notes;
static struct sockaddr_un place = { .sun_family = AF_UNIX };
static int epoll, taken;
static uint64_t last;

static void on_note(void *arg, struct vm_handshake *note, struct vm_handshake_reply *ret)
{
    CHECK(arg == &notes);
    taken++;
    last = note->nonce;
    *ret = (struct vm_handshake_reply){ .magic = VM_HANDSHAKE_MAGIC,
                                        .version = VM_HANDSHAKE_VERSION,
                                        .nonce = note->nonce };
}

/* Until nothing is to be done any more. */
static void settle(void)
{
    struct epoll_event e;
    for (int i = 0; i < 10000 && epoll_wait(epoll, &e, 1, 0) > 0; i++)
        vm_notes_event(&notes, e.data.fd);
    CHECK_INT(epoll_wait(epoll, &e, 1, 0), 0); /* nothing keeps it busy */
}

static int dial(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(connect(fd, (struct sockaddr *)&place, sizeof(place)) == 0);
    settle();
    return fd;
}

static struct vm_handshake note_of(uint64_t nonce)
{
    struct vm_handshake h = {
        .magic = VM_HANDSHAKE_MAGIC, .version = VM_HANDSHAKE_VERSION, .what = VM_HANDSHAKE_PLUG, .nonce = nonce
    };
    return h;
}

static void put(int fd, const void *data, size_t len)
{
    CHECK(send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len);
    settle();
}

static void expect_reply(int fd, uint64_t nonce)
{
    struct vm_handshake_reply reply = { 0 };
    CHECK(recv(fd, &reply, sizeof(reply), MSG_DONTWAIT) == (ssize_t)sizeof(reply));
    CHECK(reply.nonce == nonce);
}

static bool is_open(int fd)
{
    char c;
    return recv(fd, &c, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

TEST(a_note_is_answered_however_it_is_cut)
{
    for (size_t piece = 1; piece <= sizeof(struct vm_handshake); piece += piece < 16 ? 1 : 411) {
        struct vm_handshake h = note_of(piece);
        int fd = dial();
        for (size_t at = 0; at < sizeof(h); at += piece)
            put(fd, (char *)&h + at, sizeof(h) - at < piece ? sizeof(h) - at : piece);
        expect_reply(fd, piece);
        CHECK(is_open(fd)); /* for another */
        (void)close(fd);
        settle();
    }
}

TEST(several_on_one_connection_and_garbage_between)
{
    static const char noise[5000] = "\x02iii-v\x02ii";
    struct vm_handshake two[2] = { note_of(1), note_of(2) };
    int fd = dial();
    taken = 0;
    put(fd, noise, sizeof(noise));
    put(fd, two, sizeof(two));
    expect_reply(fd, 1);
    expect_reply(fd, 2);
    CHECK_INT(taken, 2);
    (void)close(fd);
    settle();
}

TEST(who_stays_makes_room_for_others)
{
    int fds[VM_NOTES_LINKS + 2];
    struct vm_handshake h = note_of(3);
    for (size_t i = 0; i < VM_NOTES_LINKS + 2; i++) {
        fds[i] = dial();
        put(fds[i], &h, sizeof(h) / 2); /* and never the rest */
    }
    for (size_t i = 0; i < VM_NOTES_LINKS + 2; i++)
        CHECK_INT(is_open(fds[i]), i >= 2); /* who has been there longest goes */
    int fd = dial();
    put(fd, &h, sizeof(h));
    expect_reply(fd, 3);
    (void)close(fd);
    for (size_t i = 0; i < VM_NOTES_LINKS + 2; i++)
        (void)close(fds[i]);
    settle();
    for (size_t i = 0; i < VM_NOTES_LINKS; i++)
        CHECK_INT(notes.links[i].fd, -EBADF);
}

/* A host that asks and does not listen: it is not waited for, and nobody else notices. */
TEST(who_does_not_read_hurts_nobody)
{
    struct vm_handshake h = note_of(4);
    int deaf = dial(), fd = dial();
    taken = 0;
    for (int i = 0; i < 3000; i++)
        put(deaf, &h, sizeof(h));
    CHECK_INT(taken, 3000);
    h.nonce = 5;
    put(fd, &h, sizeof(h));
    expect_reply(fd, 5);
    (void)close(deaf);
    (void)close(fd);
    settle();
}

TEST(who_hangs_up_before_the_answer_hurts_nobody)
{
    struct vm_handshake h = note_of(6);
    for (int i = 0; i < 50; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        CHECK(connect(fd, (struct sockaddr *)&place, sizeof(place)) == 0);
        CHECK(send(fd, &h, sizeof(h), MSG_NOSIGNAL) == (ssize_t)sizeof(h));
        (void)close(fd);
        settle();
    }
    vm_notes_event(&notes, 12345); /* of a connection that is gone already */
    int fd = dial();
    put(fd, &h, sizeof(h));
    expect_reply(fd, 6);
    (void)close(fd);
    settle();
}

int main(void)
{
    char folder[] = "/tmp/vm_notes-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    (void)snprintf(place.sun_path, sizeof(place.sun_path), "%s/s", folder);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    CHECK(bind(listener, (struct sockaddr *)&place, sizeof(place)) == 0 && listen(listener, 4) == 0);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    vm_notes_take(&notes, listener);
    CHECK_INT(vm_notes_watch(&notes, epoll, on_note, &notes), 0);
    RUN(a_note_is_answered_however_it_is_cut);
    RUN(several_on_one_connection_and_garbage_between);
    RUN(who_stays_makes_room_for_others);
    RUN(who_does_not_read_hurts_nobody);
    RUN(who_hangs_up_before_the_answer_hurts_nobody);
    (void)close(listener);
    (void)close(epoll);
    (void)unlink(place.sun_path);
    (void)rmdir(folder);
    return tap_done();
}
