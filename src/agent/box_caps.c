#include "agent/box_caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/watched_filter.h"

#define CAP_LAST_TRY 63

/* What root of a box may still do: work on its own files, ids and ports. Left out on purpose, although usual
 * elsewhere: NET_RAW (forged packets), MKNOD (device nodes), AUDIT_WRITE (the host's log). */
static const unsigned kept_caps[] = { CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER,  CAP_FSETID,           CAP_KILL,
                                      CAP_SETGID, CAP_SETUID,       CAP_SETPCAP, CAP_NET_BIND_SERVICE, CAP_SYS_CHROOT,
                                      CAP_SETFCAP };

static uint64_t kept_mask(void)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof(kept_caps) / sizeof(*kept_caps); i++)
        mask |= 1ull << kept_caps[i];
    return mask;
}

int box_caps_bound(struct box_root *b)
{
    uint64_t keep = kept_mask();
    for (unsigned cap = 0; cap <= CAP_LAST_TRY; cap++) {
        if (keep & (1ull << cap))
            continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL) /* past the last one of this kernel */
            return 0;
        return box_root_fail(b, -errno, "drop capability %u", cap);
    }
    return 0;
}

int box_caps_drop(struct box_root *b)
{
    uint64_t keep = kept_mask();
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { { .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
                                              { .effective = (uint32_t)(keep >> 32),
                                                .permitted = (uint32_t)(keep >> 32) } };
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return box_root_fail(b, -errno, "clear ambient capabilities");
    if (syscall(SYS_capset, &head, data) < 0)
        return box_root_fail(b, -errno, "drop capabilities");
    /* Non-dumpable: no process of the box can trace the agent or read its descriptors. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return box_root_fail(b, -errno, "become undumpable");
    return 0;
}

/* The listener, or -errno: an old kernel, or one of an outer sandbox is there already, of which a process has one. */
static int filter_listened(const struct sock_filter *insns, size_t n)
{
    static struct sock_filter watched[BOX_CAPS_INSNS];
    if (n + WATCHED_FILTER_HEAD > BOX_CAPS_INSNS)
        return -E2BIG;
    memcpy(watched, insns, n * sizeof(*insns));
    struct sock_fprog prog = { .len = (unsigned short)watched_filter(watched, n), .filter = watched };
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
    return fd < 0 ? -errno : fd;
}

int box_caps_filter(struct box_root *b, int filter_fd, int *ret_listener)
{
    static struct sock_filter insns[BOX_CAPS_INSNS];
    ssize_t n = pread(filter_fd, insns, sizeof(insns), 0);
    if (n <= 0 || n % (ssize_t)sizeof(*insns) != 0)
        return box_root_fail(b, n < 0 ? -errno : -EBADMSG, "read the system call filter");
    struct sock_fprog prog = { .len = (unsigned short)((size_t)n / sizeof(*insns)), .filter = insns };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return box_root_fail(b, -errno, "set no_new_privs");
    if (ret_listener) {
        int fd = filter_listened(insns, prog.len);
        *ret_listener = fd < 0 ? BOX_CAPS_NO_LISTENER : fd;
        if (fd >= 0)
            return 0;
    }
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) != 0)
        return box_root_fail(b, -errno, "install the system call filter");
    return 0;
}
