/* The init process of a VM: PID 1 once the agent runs. It does what the agent has no privilege for: it takes the
 * identity in a handshake, and mounts drives when the host asks. It does nothing else, and no process of the box can
 * see or signal it, because the box is in another pid namespace. May include: agent/vm_notes.h, os/vm_handshake.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/vm_notes.h"

struct vm_init {
    int control; /* SEQPACKET: receives struct vm_handshake, sends struct vm_handshake_reply */
    int group;   /* the agent's control group, or -EBADF */
    pid_t agent;
    struct vm_notes notes; /* the host's requests while a link is served */
};

_Noreturn void vm_init_run(struct vm_init *w);
/* Prints why on the console and ends the VM. */
__attribute__((format(printf, 1, 2))) _Noreturn void vm_init_end(const char *fmt, ...);
/* Writes a file of the kernel. 0 or -errno. */
int vm_init_write(int dir, const char *name, const char *text);
