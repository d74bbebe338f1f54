/* The agent's channel in a VM: waits for a host's handshake (os/vm_handshake.h), has the init process take the identity
 * in it, replies, and turns the stream into a link. May include: guest/proto_vm.h, os/vm_handshake.h.
 * Invariants:
 * 1. No byte of a host reaches a link before its handshake was accepted.
 * 2. A serial port has one link at a time and is never closed: reopening it could lose a fast host's handshake. Bytes
 *    that an ended link left are read and dropped. A handshake at a frame boundary of a running link ends that link.
 * 3. A port without a host costs nothing: its hang-up is reported once, not over and over. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/conn.h"
#include "agent/vm_boot.h"

/* Takes the descriptors of plan. 0 or -errno. */
int agent_vm_channel_start(struct agent *a, const struct vm_boot *plan);
int agent_vm_channel_set_clock(struct agent_vm_channel *vm, uint64_t wall_us);    /* 0 or -errno */
int agent_vm_channel_set_name(struct agent_vm_channel *vm, const char *hostname); /* 0 or -errno */
struct vm_usage {
    uint32_t pids; /* processes and threads, including the agent */
    uint64_t memory_bytes, oom_kills;
};
int agent_vm_channel_usage(struct agent_vm_channel *vm,
                           struct vm_usage *ret); /* 0, or -ENOSYS: this kernel does not count */
/* Called by conn.c when the link over the port has ended; rest: what was received behind it. */
void agent_vm_channel_link_ended(struct agent *a, const uint8_t *rest, size_t len);
/* Whether the VM's kernel has OOM-killed a process since the last call; false in other boxes, whose memory is
 * counted from outside. */
bool agent_vm_channel_was_oom(struct agent *a);
