/* One request to `iii --vm-tool`, without waiting for it. May include: base/, loop/, os/, vm/. */
#pragma once
#include "loop/loop.h"
#include "os/keeper.h"
#include "vm/tool_wire.h"

struct vm_tool_call;
struct vm_tool_call_set {
    struct loop *loop;
    struct keeper *keeper;
    unsigned job;
    struct vm_tool_call *first;
};

/* fds of a started VM belong to the receiver: VM_TOOL_WIRE_REPLY_PIDFD, VM_TOOL_WIRE_REPLY_ERRORS; else NO_FD.
 * Called once, never from inside vm_tool_call_start(). */
typedef void vm_tool_call_fn(void *arg, const struct vm_tool_wire_reply *reply, const int fds[VM_TOOL_WIRE_REPLY_FDS],
                             const struct err *err);
/* fds are borrowed for the call. extra: q->extra_len bytes. */
void vm_tool_call_start(struct vm_tool_call_set *set, const struct vm_tool_wire_request *q, const char *extra,
                        const int *fds, size_t n_fds, vm_tool_call_fn *fn, void *arg);
/* Kills the tool of every call with that fn; fn gets an error. Only for requests that leave nothing behind. */
void vm_tool_call_cut(struct vm_tool_call_set *set, vm_tool_call_fn *fn);
/* Waits for the calls under way, without calling anyone. */
void vm_tool_call_end_all(struct vm_tool_call_set *set);
