/* Where a host leaves notes for the warden (os/vm_handshake.h) while the agent serves a link: a serial port of its own,
 * or connections to a vsock port of its own. Never blocks. A note that nobody hears the answer to is left again. May
 * include: guest/proto_vm.h. */
#pragma once
#include <stdbool.h>

#include "guest/proto_vm.h"

#define VM_NOTES_LINKS 4u /* one note is under way at a time: what is left beyond belongs to hosts that gave up */

typedef void vm_notes_fn(void *arg, struct vm_handshake *note, struct vm_handshake_reply *ret);

struct vm_notes_link {
    int fd; /* or -EBADF */
    struct proto_vm scan;
};

struct vm_notes {
    int epoll;
    int port, listener; /* one of them is -EBADF, or both: there are no notes then */
    struct proto_vm scan;
    struct vm_notes_link links[VM_NOTES_LINKS];
    unsigned next; /* the place of the next connection: whoever has been there longest goes */
    vm_notes_fn *fn;
    void *arg;
};

/* One of these begins it. 0 or -errno. */
int vm_notes_serial(struct vm_notes *n, const char *path);
int vm_notes_vsock(struct vm_notes *n);
void vm_notes_take(struct vm_notes *n, int listener); /* one that listens already; -EBADF: none */
/* Has epoll watch it; fn answers. */
int vm_notes_watch(struct vm_notes *n, int epoll, vm_notes_fn *fn, void *arg);
/* What happened at that descriptor, which may be no longer there. */
void vm_notes_event(struct vm_notes *n, int fd);
