#include "os/confine_listener.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/syscall_allowlist.h"

enum { NOBODY = 65534, CAP_LAST = 63 };

static int change_user(void)
{
    if (geteuid() != 0)
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
        return errno == EINVAL || errno == EPERM
                   ? 0
                   : -errno; /* a user namespace without that id: keeps its uid, without capabilities */
    return 0;
}

static int drop_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* older kernels do not have it */
    return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

int confine_listener_enter(const char *name, const char *const *calls, struct err *err)
{
    const struct rlimit none = { 0, 0 };
    for (int cap = 0; cap <= CAP_LAST; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0,
                    0); /* denied to an unprivileged user, who has nothing to gain from it */
    int r = change_user();
    if (r < 0)
        return err_sys(err, r, "%s: become another user", name);
    r = drop_capabilities();
    if (r < 0)
        return err_sys(err, r, "%s: drop capabilities", name);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, -errno, "%s: set no_new_privs", name);
    r = syscall_allowlist_enter(calls, false);
    return r < 0 ? err_sys(err, r, "%s: install the system call filter", name) : 0;
}
