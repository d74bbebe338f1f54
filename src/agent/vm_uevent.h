/* Waits until the kernel of a VM announces a device, in place of looking again and again. May include: agent/loop.h. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Open it before the first look, so that no device is missed. Returns a descriptor or -errno. */
int vm_uevent_open(void);
/* True: something was announced, look again. False: it is end_us of agent_loop_now_us(), or there is no socket. */
bool vm_uevent_wait(int fd, uint64_t end_us);
