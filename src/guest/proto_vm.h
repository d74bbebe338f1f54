/* Finds the handshake of a VM (os/vm_handshake.h) in a stream that may start in the middle of anything, and checks
 * it. Both sides use it, the agent for handshakes and the host for replies. No allocation, no system call. May
 * include: os/vm_handshake.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/vm_handshake.h"

/* A message being received. Work is linear in the number of bytes, whatever they are. */
struct proto_vm {
    size_t have, want;
    union {
        struct vm_handshake handshake;
        struct vm_handshake_reply reply;
        uint8_t bytes[sizeof(struct vm_handshake)];
    } msg;
};

/* want: sizeof(struct vm_handshake) or sizeof(struct vm_handshake_reply). */
void proto_vm_init(struct proto_vm *v, size_t want);
/* Takes bytes until the message is complete, and drops what precedes its magic. When the magic occurs again inside
 * of it, the first one was left by a sender that is gone: the later one counts. Returns how many were taken: fewer
 * than len only when the message is complete. */
size_t proto_vm_feed(struct proto_vm *v, const void *data, size_t len);
bool proto_vm_is_whole(const struct proto_vm *v);
/* Continues behind a complete message. Keeps an end of it that may be the start of the next magic. */
void proto_vm_next(struct proto_vm *v);
/* Whether these bytes start a handshake, or may when more come (len below VM_HANDSHAKE_MAGIC_LEN). */
bool proto_vm_is_magic(const void *data, size_t len);
/* NULL when every field is in its range, else what is wrong. A handshake to rejoin needs only its token and clock. */
const char *proto_vm_complaint(const struct vm_handshake *h);
bool proto_vm_is_inner(const struct vm_handshake *h); /* only between agent and init process: rejected on any stream */
bool proto_vm_is_note(
    const struct vm_handshake *h); /* belongs on the port for notes; a handshake belongs on the agent's stream */
