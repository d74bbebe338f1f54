/* The agent's channel in a virtual machine: waits for a host's hello (os/vm_handshake.h), has the warden take the
 * identity in it, answers, and makes a link of the stream. May include: guest/proto_vm.h, os/vm_handshake.h.
 * Invariants:
 * 1. No byte of a host reaches a link before its hello was accepted.
 * 2. A serial port has one link at a time and is never closed: to open it again could cost a quick host its hello.
 *    What is left of a link that has ended is read and dropped. A hello that comes where a running link's next frame
 *    would begin ends that link.
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
    uint32_t pids; /* processes and threads, the agent's too */
    uint64_t memory_bytes, oom_kills;
};
int agent_vm_channel_usage(struct agent_vm_channel *vm,
                           struct vm_usage *ret); /* 0, or -ENOSYS: this kernel does not count */
/* For agent_conn, when the link over the port has ended; rest: what came behind it. */
void agent_vm_channel_link_ended(struct agent *a, const uint8_t *rest, size_t len);
/* Whether the machine's kernel has ended a process for want of memory since this was asked last; false in other boxes,
 * whose memory is counted from outside. */
bool agent_vm_channel_was_oom(struct agent *a);
