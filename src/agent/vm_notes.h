/* Receives notes of the host for the init process (os/vm_handshake.h) while the agent serves a link: on a serial
 * port of its own, or connections to a vsock port of its own. Never blocks. A host repeats a note whose reply it
 * missed. May include: guest/proto_vm.h. */
#pragma once
#include <stdbool.h>

#include "guest/proto_vm.h"

#define VM_NOTES_LINKS 4u /* one note is under way at a time: further connections belong to hosts that gave up */

typedef void vm_notes_fn(void *arg, struct vm_handshake *note, struct vm_handshake_reply *ret);

struct vm_notes_link {
    int fd; /* or -EBADF */
    struct proto_vm scan;
};

struct vm_notes {
    int epoll;
    int port, listener; /* one of them is -EBADF; both: there are no notes */
    struct proto_vm scan;
    struct vm_notes_link links[VM_NOTES_LINKS];
    unsigned next; /* slot of the next connection: replaces the oldest */
    vm_notes_fn *fn;
    void *arg;
};

/* Call one of these first. 0 or -errno. */
int vm_notes_serial(struct vm_notes *n, const char *path);
int vm_notes_vsock(struct vm_notes *n);
void vm_notes_take(struct vm_notes *n, int listener); /* takes a listening socket; -EBADF: none */
/* Registers with epoll; fn answers. */
int vm_notes_watch(struct vm_notes *n, int epoll, vm_notes_fn *fn, void *arg);
/* Handles an event of that descriptor, which may already be closed. */
void vm_notes_event(struct vm_notes *n, int fd);
