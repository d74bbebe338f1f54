/* A guest that is only a descriptor: the far end of a link, which says what a test has it say and nothing by itself.
 * May include: guest/. */
#pragma once
#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/link.h"
#include "guest/proto.h"
#include "tap.h"

/* A loop, a link in it and the link's far end, which is returned and does not block. */
static inline int mutepeer_new(guest_gone_fn *on_gone, void *arg, struct loop **ret_loop, struct guest_link **ret_link)
{
    struct err err = ERR_INIT;
    int fds[2] = { -1, -1 };
    CHECK_INT(loop_new(ret_loop, &err), 0);
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    CHECK_INT(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
    CHECK_INT(guest_link_new(*ret_loop, fds[0], on_gone, arg, ret_link), 0);
    return fds[1];
}

/* One frame, whatever it is. */
static inline void mutepeer_send(int peer, struct proto_header h, const void *payload)
{
    uint8_t header[PROTO_HEADER];
    proto_header_put(header, &h);
    CHECK_INT(write(peer, header, sizeof(header)), sizeof(header));
    if (h.length)
        CHECK_INT(write(peer, payload, h.length), h.length);
}

static inline void mutepeer_handshake(int peer)
{
    uint8_t mem[32];
    struct proto_writer w;
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_handshake(&w, 0);
    mutepeer_send(peer, (struct proto_header){ (uint32_t)w.len, 0, PROTO_HANDSHAKE, 0 }, mem);
}

/* How many frames of a type the link has sent, of those that nobody has read yet. */
static inline int mutepeer_heard(int peer, uint16_t type)
{
    uint8_t mem[4096];
    int found = 0;
    ssize_t n = read(peer, mem, sizeof(mem));
    struct proto_header h = { 0 };
    for (size_t at = 0; n > 0 && at + PROTO_HEADER <= (size_t)n; at += PROTO_HEADER + h.length) {
        CHECK_INT(proto_header_get(mem + at, &h), 0);
        found += h.type == type;
    }
    return found;
}
