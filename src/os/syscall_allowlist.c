#include "os/syscall_allowlist.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>

/* Calls that the C library, malloc and the sanitizers make themselves; none opens new access. */
static const int always[] = {
    SCMP_SYS(read),          SCMP_SYS(write),          SCMP_SYS(close),        SCMP_SYS(fcntl),
    SCMP_SYS(recvmsg),       SCMP_SYS(sendmsg),        SCMP_SYS(poll),         SCMP_SYS(ppoll),
    SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),      SCMP_SYS(futex),        SCMP_SYS(brk),
    SCMP_SYS(mmap),          SCMP_SYS(munmap),         SCMP_SYS(mremap),       SCMP_SYS(mprotect),
    SCMP_SYS(madvise),       SCMP_SYS(getpid),         SCMP_SYS(gettid),       SCMP_SYS(sched_yield),
    SCMP_SYS(sigaltstack),   SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),          SCMP_SYS(exit_group),
};

static int allow(scmp_filter_ctx ctx, int call)
{
    return call < 0 ? 0 : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 0); /* negative: not on this architecture */
}

int syscall_allowlist_enter(const char *const *calls, bool may_read)
{
    const struct scmp_arg_cmp reads = SCMP_A2_64(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC | O_PATH, O_RDONLY);
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!ctx)
        return -ENOMEM;
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(always) / sizeof(*always); i++)
        r = allow(ctx, always[i]);
    for (; r == 0 && *calls; calls++) {
        int call = seccomp_syscall_resolve_name(*calls);
        r = call == __NR_SCMP_ERROR ? -ENOENT : allow(ctx, call);
    }
    if (r == 0 && may_read)
        r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &reads);
    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r;
}
