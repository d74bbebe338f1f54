#include "vm/vmm/jailer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/confine.h"
#include "os/mount.h"

#define BASE       "/srv"
#define FOLDER     "root"     /* below BASE/program/name: the jailer's own layout */
#define ROOM_MORE  (1u << 20) /* for folders, device nodes, sockets */
#define HEADERS    64         /* program headers of an ELF file */
#define CAP(which) (UINT64_C(1) << (which))

bool vm_jailer_is_wanted(const char *setting)
{
    return *setting && strcmp(setting, VM_JAILER_OFF) != 0;
}

int vm_jailer_check(const char *setting, bool is_root, struct err *err)
{
    struct stat st;
    if (*setting != '/')
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "III_VM_JAILER is \"%.100s\": set the full path of the jailer program, or \"off\"", setting);
    if (!is_root)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "%.100s needs root, since it makes device nodes and becomes another user: start the server as "
                       "root, or set III_VM_JAILER=off",
                       setting);
    if (stat(setting, &st) < 0)
        return err_set(err, ERR_UNSUPPORTED, errno, "the jailer %.100s cannot be used: %s", setting, strerror(errno));
    if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
        return err_set(err, ERR_UNSUPPORTED, EACCES, "the jailer %.100s is not a program", setting);
    return 0;
}

bool vm_jailer_say(const char *setting, char *ret, size_t size)
{
    struct err err = ERR_INIT;
    bool is_wanted = vm_jailer_is_wanted(setting);
    bool is_good = !is_wanted || vm_jailer_check(setting, geteuid() == 0, &err) == 0;
    (void)snprintf(ret, size, "%s%s",
                   !is_good    ? err.msg
                   : is_wanted ? setting
                               : "the server's own (III_VM_JAILER is off)",
                   is_wanted && is_good ? " inside the server's own namespaces" : "");
    return is_good;
}

/* --- its folder --- */

static int make_room(off_t room)
{
    char size[24];
    CLEANUP(close_fd_p) int fs = mount_fs_open("tmpfs");
    if (fs < 0)
        return fs;
    (void)snprintf(size, sizeof(size), "%lld", (long long)room + ROOM_MORE);
    int r = mount_fs_string(fs, "mode", "0755");
    if (r >= 0)
        r = mount_fs_string(fs, "size", size);
    return r < 0 ? r
                 : mount_fs_make(fs, MOUNT_ATTR_NOSUID); /* needs device nodes and exec, so neither NODEV nor NOEXEC */
}

/* A folder that was not there before. */
static int enter_new(int at, const char *name)
{
    if (mkdirat(at, name, 0755) < 0)
        return -errno;
    return mount_open_beneath(at, name, O_RDONLY | O_DIRECTORY, 0);
}

int vm_jailer_root(int root, const char *name, off_t room, char ret[VM_JAILER_ROOM_MAX])
{
    (void)snprintf(ret, VM_JAILER_ROOM_MAX, "%s%s/%s/" FOLDER, BASE, VM_JAILER_VMM, name);
    CLEANUP(close_fd_p) int fs = make_room(room);
    CLEANUP(close_fd_p) int base = fs < 0 ? fs : enter_new(root, BASE + 1);
    int r = base < 0 ? base : mount_attach(fs, base);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int program = enter_new(fs, VM_JAILER_VMM + 1);
    CLEANUP(close_fd_p) int instance = program < 0 ? program : enter_new(program, name);
    return instance < 0 ? instance : enter_new(instance, FOLDER);
}

int vm_jailer_proc(int root)
{
    CLEANUP(close_fd_p) int fs = mount_fs_open("proc");
    CLEANUP(close_fd_p) int at = fs < 0 ? fs : enter_new(root, "proc");
    if (at < 0)
        return at;
    CLEANUP(close_fd_p)
    int proc = mount_fs_make(fs, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
    return proc < 0 ? proc : mount_attach(proc, at);
}

/* --- itself --- */

/* It passes the VM's id to the VMM. It is already in its control group. */
void vm_jailer_argv(const char *name, uid_t uid, unsigned files_max, struct vmm_args *a)
{
    vmm_args_add(a, "jailer");
    vmm_args_add(a, "--id");
    vmm_args_add(a, "%s", name);
    vmm_args_add(a, "--exec-file");
    vmm_args_add(a, "%s", VM_JAILER_VMM);
    vmm_args_add(a, "--uid");
    vmm_args_add(a, "%u", (unsigned)uid);
    vmm_args_add(a, "--gid");
    vmm_args_add(a, "%u", (unsigned)uid);
    vmm_args_add(a, "--chroot-base-dir");
    vmm_args_add(a, "%s", BASE);
    vmm_args_add(a, "--resource-limit"); /* the default is above our limit, which needs a further capability */
    vmm_args_add(a, "no-file=%u", files_max);
    vmm_args_add(a, "--");
    vmm_args_add(a, "--api-sock");
    vmm_args_add(a, VMM_BOX_PATH "/" VMM_API_NAME);
}

int vm_jailer_confine(struct err *err)
{
    return confine_root(CAP(CAP_SYS_ADMIN) | CAP(CAP_SYS_CHROOT) | CAP(CAP_MKNOD) | CAP(CAP_CHOWN) |
                            CAP(CAP_DAC_OVERRIDE) | CAP(CAP_SETUID) | CAP(CAP_SETGID),
                        err);
}

static bool is_static(int fd)
{
    Elf64_Ehdr head;
    Elf64_Phdr parts[HEADERS];
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_phentsize != sizeof(*parts) || head.e_phnum > HEADERS)
        return false; /* a script */
    ssize_t size = (ssize_t)(head.e_phnum * sizeof(*parts));
    if (pread(fd, parts, (size_t)size, (off_t)head.e_phoff) != size)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++)
        if (parts[i].p_type == PT_INTERP)
            return false;
    return true;
}

int vm_jailer_look(const char *path, struct vm_jailer_program *ret, struct err *err)
{
    struct stat st;
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, -errno, "open %s", path);
    *ret = (struct vm_jailer_program){ .size = st.st_size, .is_static = is_static(fd) };
    return 0;
}
