/* The start of a VM. The kernel runs this program as /init. It loads the modules, starts the agent in namespaces of its
 * own, and stays as the VM's init process: PID 1, with all privilege and one small task (vm_init.h). So the agent and
 * all it starts are confined as in a native box, see only their own processes, and cannot end PID 1.
 * The initramfs holds /init, /filter (an array of struct sock_filter), /modules/order and the modules that it names.
 * Invariants:
 * 1. The init process never returns and never exits: the kernel would panic. A fatal error ends the VM after one line
 *    on the console that starts with "iii-guest: ".
 * 2. No part of an identity comes from the boot: see os/vm_handshake.h. */
#pragma once
#include <stdbool.h>

/* Files of the control group of the agent and its children; opened before the agent is confined, when it cannot open
 * them by name any more. */
enum vm_count { VM_COUNT_PIDS, VM_COUNT_MEMORY, VM_COUNT_EVENTS, VM_COUNTS };

struct vm_boot {
    int control;           /* the agent's end of its socket to the init process */
    int port_fd;           /* the serial channel, or -EBADF */
    int listen_fd;         /* the vsock channel, or -EBADF */
    int counts[VM_COUNTS]; /* each may be -EBADF */
};

/* Whether the kernel started us as the VM's init. */
bool vm_boot_is_init(char *const *argv);
/* Returns in the agent, confined inside the finished root. Does not return on failure. */
void vm_boot_run(struct vm_boot *ret);
