/* The root of a VM's box, made by the process that becomes the agent: the image read-only from the first disk,
 * overlaid by the second, and the rest as in a native box. May include: agent/box_root.h. */
#pragma once
#include <stdint.h>

/* The agent's report to the init process; the mount of its shared memory is attached to it. */
struct vm_root_ready {
    int32_t result; /* 0, or -errno */
    char text[200]; /* the step that failed */
};

struct vm_root {
    int control;
    int filter;             /* closed by the call */
    const char *port;       /* the serial port; NULL: the channel is a vsock */
    int port_fd, listen_fd; /* results, see struct vm_boot */
};

/* Reports the result to the init process, and does not return on failure. */
void vm_root_enter(struct vm_root *v);
