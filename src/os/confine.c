#include "os/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/filter.h"

/* Newer than the oldest headers that we build with. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#define SCOPE_ABSTRACT_SOCKETS (1ULL << 0)
#define SCOPE_SIGNALS          (1ULL << 1)

/* --- identity --- */

static int drop_bounds(uint64_t keep)
{
    for (unsigned cap = 0; cap < 64; cap++) {
        if (keep & UINT64_C(1) << cap)
            continue;
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return errno == EINVAL ? 0 : -errno; /* the first number that this kernel does not know */
    }
    return 0;
}

static int set_capabilities(uint64_t keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = {
        { .effective = (uint32_t)keep, .permitted = (uint32_t)keep },
        { .effective = (uint32_t)(keep >> 32), .permitted = (uint32_t)(keep >> 32) },
    };
    return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

/* Root of a container has only some: what it lacks it cannot keep. */
static uint64_t caps_held(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2] = { { 0 } };
    if (syscall(SYS_capget, &head, sets) < 0)
        return 0;
    return sets[0].permitted | (uint64_t)sets[1].permitted << 32;
}

/* For root: with the locked secure bits, uid 0 alone has no capability. */
static int give_up_root(const struct confine_who *who, uint64_t keep)
{
    unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
                         SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    int r = drop_bounds(keep);
    if (r < 0 && r != -EPERM) /* a container may lack the right; no_new_privs has the same effect then */
        return r;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0 && errno != EPERM)
        return -errno;
    if (who->uid != 0 && (setgroups(who->has_group, &who->group) < 0 || setresgid(who->gid, who->gid, who->gid) < 0 ||
                          setresuid(who->uid, who->uid, who->uid) < 0))
        return -errno;
    return set_capabilities(keep & caps_held());
}

int confine_identity(const struct confine_who *who, uint64_t keep, struct err *err)
{
    int r = geteuid() == 0 ? give_up_root(who, keep) : set_capabilities(0);
    if (r == 0 && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        r = -errno;
    if (r < 0)
        return err_sys(err, r, "give up root's capabilities (become user %u)", (unsigned)who->uid);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return err_sys(err, -errno, "refuse new privileges");
    return 0;
}

int confine_root(uint64_t keep, struct err *err)
{
    int r = drop_bounds(keep);
    if (r == 0 || r == -EPERM) /* see above */
        r = setgroups(0, NULL) < 0 ? -errno : set_capabilities(keep & caps_held());
    if (r < 0)
        return err_sys(err, r, "limit root's capabilities");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, -errno, "refuse new privileges");
    return 0;
}

/* --- system calls --- */

int confine_calls(struct err *err)
{
    struct filter filter = { 0 };
    int r = filter_build_server(&filter, err);
    if (r < 0)
        return r;
    r = filter_install(&filter);
    filter_done(&filter);
    return r < 0 ? err_sys(err, r, "install the system call filter") : 0;
}

/* --- files --- */

struct ruleset {
    uint64_t handled_fs, handled_net, scoped; /* as of version 6; older kernels read the first fields */
};

int confine_landlock(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version < 0 ? 0 : (int)version;
}

/* Nothing is ever executable. */
static int add_place(int ruleset, const struct confine_place *p, uint64_t known)
{
    struct stat st;
    CLEANUP(close_fd_p) int fd = open(p->path, O_PATH | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
    uint64_t of_files = LANDLOCK_ACCESS_FS_READ_FILE;
    uint64_t of_folders = LANDLOCK_ACCESS_FS_READ_DIR;
    if (p->may != CONFINE_READ) {
        of_files |= LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
        of_folders |= LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
                      LANDLOCK_ACCESS_FS_REFER;
    }
    if (p->may == CONFINE_UNPACK)
        of_folders |= LANDLOCK_ACCESS_FS_MAKE_CHAR;
    struct landlock_path_beneath_attr rule = { .allowed_access =
                                                   (of_files | (S_ISDIR(st.st_mode) ? of_folders : 0)) & known,
                                               .parent_fd = fd };
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int confine_files_prepare(const struct confine_place *places, size_t n, struct err *err)
{
    int version = confine_landlock();
    if (version == 0)
        return err_set(err, ERR_UNSUPPORTED, EOPNOTSUPP, "this kernel has no landlock");
    struct ruleset set = { .scoped = version >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0 };
    set.handled_fs = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                     LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                     LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (version >= 2)
        set.handled_fs |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        set.handled_fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version >= 5)
        set.handled_fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
    size_t size = version >= 6 ? sizeof(set) : sizeof(set.handled_fs);
    CLEANUP(close_fd_p) int fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
    if (fd < 0)
        return err_sys(err, -errno, "make a landlock ruleset");
    for (size_t i = 0; i < n; i++) {
        int r = add_place(fd, &places[i], set.handled_fs);
        if (r < 0)
            return err_sys(err, r, "allow %s", places[i].path);
    }
    return steal_fd(&fd);
}

int confine_files_enter(int rules, struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_landlock_restrict_self, rules, 0) < 0)
        return err_sys(err, -errno, "enter the landlock ruleset");
    return 0;
}

int confine_files(const struct confine_place *places, size_t n, struct err *err)
{
    CLEANUP(close_fd_p) int rules = confine_files_prepare(places, n, err);
    int r = rules < 0 ? rules : confine_files_enter(rules, err);
    return r < 0 ? r : confine_landlock();
}
