/* The root of a virtual machine's box, made by the process that becomes the agent: the image read-only from the first
 * disk, the second one over it, and the rest as in a native box. May include: agent/box_root.h. */
#pragma once
#include <stdint.h>

/* How the agent tells the warden that it is there; the mount of its shared memory comes with it. */
struct vm_root_ready {
    int32_t result; /* 0, or -errno */
    char text[200]; /* the step that failed */
};

struct vm_root {
    int control;
    int filter;             /* is closed */
    const char *port;       /* the serial port; NULL: the channel is a vsock */
    int port_fd, listen_fd; /* results, see struct vm_boot */
};

/* Tells the warden how it went, and does not return when it went wrong. */
void vm_root_enter(struct vm_root *v);
