/* The start of a virtual machine. The kernel runs this program as /init; it makes the devices work, starts the agent in
 * namespaces of its own, and stays behind as the warden: PID 1 of the machine, with all privilege and one small job
 * (vm_init.h). So the agent and all it starts are confined as in a native box, see only their own processes, and
 * nothing they do can end PID 1.
 * The initramfs holds /init, /filter (an array of struct sock_filter), /modules/order and the modules that it names.
 * Invariants:
 * 1. The warden never returns and never exits: the kernel would panic. What it cannot go on from ends the machine,
 * after one line on the console that begins with "iii-guest: ".
 * 2. Nothing of an identity is taken from the boot: see os/vm_handshake.h. */
#pragma once
#include <stdbool.h>

/* Files of the control group of the agent and all it starts; open before the agent is confined, which lets it not get
 * at them by name. */
enum vm_count { VM_COUNT_PIDS, VM_COUNT_MEMORY, VM_COUNT_EVENTS, VM_COUNTS };

struct vm_boot {
    int control;           /* the agent's end of its socket to the warden */
    int port_fd;           /* the serial channel, or -EBADF */
    int listen_fd;         /* the vsock channel, or -EBADF */
    int counts[VM_COUNTS]; /* each may be -EBADF */
};

/* Whether the kernel started us to be the machine's init. */
bool vm_boot_is_init(char *const *argv);
/* Returns in the agent, inside the finished root and confined. Does not return when that fails. */
void vm_boot_run(struct vm_boot *ret);
