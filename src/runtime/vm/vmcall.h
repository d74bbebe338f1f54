/* One request to `iii --vm-tool`, without waiting for it. May include: base/, loop/, os/, runtime/vm/. */
#pragma once
#include "loop/loop.h"
#include "os/keeper.h"
#include "runtime/vm/vmwire.h"

struct vmcall;
struct vmcall_set {
    struct loop *loop;
    struct keeper *keeper;
    unsigned job;
    struct vmcall *first;
};

/* fds: of a started machine, the receiver's: VMWIRE_REPLY_PIDFD, VMWIRE_REPLY_ERRORS; else NO_FD. Once, never from
 * inside vmcall_start(). */
typedef void vmcall_fn(void *arg, const struct vmwire_reply *reply, const int fds[VMWIRE_REPLY_FDS],
                       const struct err *err);
/* fds are borrowed for the call. extra: q->extra_len bytes. */
void vmcall_start(struct vmcall_set *set, const struct vmwire_request *q, const char *extra, const int *fds,
                  size_t n_fds, vmcall_fn *fn, void *arg);
/* Ends the tool where it is, of calls with that fn: it is told so. Only for what leaves nothing behind. */
void vmcall_cut(struct vmcall_set *set, vmcall_fn *fn);
/* Waits for what is under way (it ends by itself), telling nobody. */
void vmcall_end_all(struct vmcall_set *set);
