/* The hello of a virtual machine (os/vm_handshake.h) in a stream that may begin in the middle of anything: finding it,
 * and what may be in it. Both sides use it, the agent for hellos and the host for replies. No allocation, no system
 * call. May include: os/vm_handshake.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/vm_handshake.h"

/* A message in the making. Work is linear in the bytes fed, whatever they are. */
struct proto_vm {
    size_t have, want;
    union {
        struct vm_handshake handshake;
        struct vm_handshake_reply reply;
        uint8_t bytes[sizeof(struct vm_handshake)];
    } msg;
};

/* want: sizeof(struct vmhello) or sizeof(struct vm_handshake_reply). */
void proto_vm_init(struct proto_vm *v, size_t want);
/* Takes bytes until the message is whole, and drops what comes before its magic. When the magic comes again inside of
 * it, the first one was the remains of a sender that is gone: the later one counts. Returns how many were taken: fewer
 * than len only when the message is whole. */
size_t proto_vm_feed(struct proto_vm *v, const void *data, size_t len);
bool proto_vm_is_whole(const struct proto_vm *v);
/* Goes on behind a message that was whole. An end of it that may be the begin of the next magic is kept. */
void proto_vm_next(struct proto_vm *v);
/* Whether these bytes begin a hello, or may when more come (len below VM_HANDSHAKE_MAGIC_LEN). */
bool proto_vm_is_magic(const void *data, size_t len);
/* NULL when every field is in its range, else what is wrong. A hello to rejoin needs only its token and clock. */
const char *proto_vm_complaint(const struct vm_handshake *h);
bool proto_vm_is_inner(const struct vm_handshake *h); /* between agent and warden only: complained of on any stream */
bool proto_vm_is_note(const struct vm_handshake *h);  /* belongs on the port of notes, a hello on the agent's stream */
