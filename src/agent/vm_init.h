/* The warden: PID 1 of a virtual machine once the agent runs. It does for the agent what needs privilege: taking the
 * identity that a hello brings, and mounting drives when the host says so. Nothing else of the agent's is done here,
 * and no process of the box can see or signal us: it is in another pid namespace. May include: agent/vm_notes.h,
 * os/vm_handshake.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/vm_notes.h"

struct vm_init {
    int control; /* SEQPACKET: struct vmhello in, struct vm_handshake_reply out */
    int group;   /* the agent's control group, or -EBADF */
    pid_t agent;
    struct vm_notes notes; /* what the host asks for while a link is served */
};

_Noreturn void vm_init_run(struct vm_init *w);
/* Says why on the console and ends the machine. */
__attribute__((format(printf, 1, 2))) _Noreturn void vm_init_end(const char *fmt, ...);
/* Writes a file of the kernel's. 0 or -errno. */
int vm_init_write(int dir, const char *name, const char *text);
