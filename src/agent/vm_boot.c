#include "agent/vm_boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/box_root.h"
#include "agent/loop.h"
#include "agent/vm_init.h"
#include "agent/vm_root.h"
#include "agent/vm_uevent.h"
#include "os/mount.h"
#include "os/proc.h"

#define CMDLINE_MAX 4096
#define ORDER_MAX   8192
#define NAME_BYTES  128
#define DEVICE_S    30 /* from the last module to the last device */
#define OOM_NEVER   "-1000"

struct boot {
    struct vm_root root;
    struct vm_init init;
    char cmdline[CMDLINE_MAX];
    char port[32], notes[32];
};

bool vm_boot_is_init(char *const *argv)
{
    return getpid() == 1 && argv[0] && strcmp(argv[0], "/init") == 0;
}

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    for (ssize_t n = 1; fd >= 0 && n > 0 && len<size - 1; len += n> 0 ? (size_t)n : 0)
        n = read(fd, text + len, size - 1 - len);
    int why = errno;
    text[len] = '\0';
    if (fd < 0)
        vm_init_end("open %s: %s", path, strerror(why));
    (void)close(fd); /* read only */
}

static void mount_at(const char *type, const char *path, unsigned long flags)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        vm_init_end("make %s: %s", path, strerror(errno));
    if (mount(type, path, type, flags | MS_NOSUID | MS_NOEXEC, NULL) < 0 && errno != EBUSY)
        vm_init_end("mount %s: %s", path, strerror(errno));
}

/* Makes our messages reach the console, whatever the kernel opened for us. */
static void take_console(void)
{
    int fd = open("/dev/console", O_RDWR | O_NOCTTY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i <= 2; i++)
        (void)dup3(fd, i, 0); /* without a console nobody can read the error */
    if (fd > 2)
        (void)close(fd);
}

/* MODULE.PARAMETER=VALUE in the command line are parameters of a module; modprobe passes them elsewhere. */
static void module_parameters(const char *cmdline, const char *file, char *parameters, size_t size)
{
    char key[NAME_BYTES];
    int n = snprintf(key, sizeof(key), "%.*s.", (int)strcspn(file, "."), file);
    size_t len = 0;
    for (int i = 0; i < n; i++)
        if (key[i] == '-')
            key[i] = '_';
    parameters[0] = '\0';
    for (const char *p = cmdline; *p; p += strcspn(p, " \n"), p += strspn(p, " \n")) {
        if (strncmp(p, key, (size_t)n) != 0 || len >= size)
            continue;
        p += n;
        len += (size_t)snprintf(parameters + len, size - len, "%s%.*s", len ? " " : "", (int)strcspn(p, " \n"), p);
    }
}

static void load_modules(struct boot *b)
{
    char order[ORDER_MAX], *rest = order, path[NAME_BYTES + 16], parameters[CMDLINE_MAX];
    read_text("/modules/order", order, sizeof(order));
    for (const char *file; (file = strsep(&rest, "\n"));) {
        if (*file == '\0')
            continue;
        if (strlen(file) >= NAME_BYTES || strchr(file, '/'))
            vm_init_end("/modules/order: bad file name %.80s", file);
        (void)snprintf(path, sizeof(path), "/modules/%s", file);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            vm_init_end("open %s: %s", path, strerror(errno));
        module_parameters(b->cmdline, file, parameters, sizeof(parameters));
        if (syscall(SYS_finit_module, fd, parameters, 0) < 0 && errno != EEXIST)
            vm_init_end("load %s: %s", path, strerror(errno));
        (void)close(fd);    /* read only */
        (void)unlink(path); /* frees its memory */
    }
}

static void await_device(int uevents, uint64_t end_us, const char *what)
{
    if (!vm_uevent_wait(uevents, end_us))
        vm_init_end("no %s after %d s: a device or the module for it is missing", what, DEVICE_S);
}

/* Finds a port of the serial device by its number there. The device's own number is not fixed: it counts all virtio
 * devices. */
static bool find_port(const char *number, char *path, size_t size)
{
    DIR *dir = opendir("/dev");
    bool is_found = false;
    for (const struct dirent *e; dir && !is_found && (e = readdir(dir));) {
        const char *p = e->d_name;
        if (strncmp(p, "vport", 5) != 0)
            continue;
        p += 5 + strspn(p + 5, "0123456789");
        is_found = strcmp(p, number) == 0;
        if (is_found)
            (void)snprintf(path, size, "/dev/%.20s", e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    return is_found;
}

static void find_devices(struct boot *b)
{
    static const char key[] = "iii.channel=";
    char channel[16] = "";
    struct stat st;
    int uevents = vm_uevent_open();
    uint64_t end = agent_loop_now_us() + DEVICE_S * 1000000u;
    for (const char *p = b->cmdline; *p; p += strcspn(p, " \n"), p += strspn(p, " \n"))
        if (strncmp(p, key, strlen(key)) == 0) {
            const char *from = strchr(p, '=') + 1;
            (void)snprintf(channel, sizeof(channel), "%.*s", (int)strcspn(from, " \n"), from);
        }
    bool is_serial = strcmp(channel, "serial") == 0;
    if (!is_serial && strcmp(channel, "vsock") != 0)
        vm_init_end("the kernel's command line needs iii.channel=serial or iii.channel=vsock, not \"%s\"", channel);
    while (stat("/dev/vda", &st) < 0)
        await_device(uevents, end, "/dev/vda");
    while (stat("/dev/vdb", &st) < 0)
        await_device(uevents, end, "/dev/vdb");
    while (is_serial && !find_port("p1", b->port, sizeof(b->port)))
        await_device(uevents, end, "serial port /dev/vport*p1");
    while (is_serial && !find_port("p2", b->notes, sizeof(b->notes)))
        await_device(uevents, end, "serial port /dev/vport*p2");
    if (uevents >= 0)
        (void)close(uevents);
    b->root.port = is_serial ? b->port : NULL;
}

/* A limit of processes needs a control group. A kernel without one is not an error until a handshake asks for the
 * limit. The hierarchy is mounted nowhere, so no path leads to it. */
static void make_group(struct vm_init *w)
{
    struct box_root none = BOX_ROOT_INIT;
    int top = BOX_ROOT_NONE;
    w->group = BOX_ROOT_NONE;
    if (box_root_detached(&none, "cgroup2", NULL, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &top) < 0)
        return;
    (void)vm_init_write(top, "cgroup.subtree_control", "+memory"); /* only for accounting: the VM's size is the limit */
    if (vm_init_write(top, "cgroup.subtree_control", "+pids") == 0 && mkdirat(top, "box", 0700) == 0)
        w->group = openat(top, "box", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)close(top);
}

static void set_limits(void)
{
    struct rlimit files, none = { RLIM_INFINITY, RLIM_INFINITY };
    int r = getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur =
        files.rlim_max; /* otherwise the agent would have to reset it in its children; a handshake sets both */
    if (r < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_NPROC, &none) < 0)
        vm_init_end("set resource limits: %s", strerror(errno));
    /* As where memory is limited from outside: an allocation succeeds, and using too much causes an OOM kill. */
    (void)vm_init_write(AT_FDCWD, "/proc/sys/vm/overcommit_memory", "1");
    (void)vm_init_write(AT_FDCWD, "/proc/self/oom_score_adj", OOM_NEVER); /* the agent's own start sets it as well */
}

static int start_agent(struct boot *b, int ret_ends[2])
{
    int pidfd = -EBADF;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) < 0)
        vm_init_end("make a socket for the agent: %s", strerror(errno));
    pid_t pid = proc_clone(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC, b->init.group, &pidfd);
    if (pid < 0)
        vm_init_end("start the agent: %s", strerror(-pid));
    if (pid > 0)
        (void)close(pidfd); /* our only child: the end of its socket reports its exit */
    return pid;
}

void vm_boot_run(struct vm_boot *ret)
{
    static const char *const counts[VM_COUNTS] = { "pids.current", "memory.current", "memory.events" };
    static struct boot b; /* too large for the stack */
    int ends[2];

    (void)umask(022);
    mount_at("devtmpfs", "/dev", 0);
    take_console();
    mount_at("proc", "/proc", MS_NODEV);
    mount_at("sysfs", "/sys", MS_NODEV | MS_RDONLY);
    read_text("/proc/cmdline", b.cmdline, sizeof(b.cmdline));
    /* New interfaces are for IPv4 only, as are the rules around them: router advertisements are not needed, and are
     * not use of the sandbox. The loopback already exists and has both. */
    (void)vm_init_write(AT_FDCWD, "/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    load_modules(&b);
    find_devices(&b);
    b.root.filter = open("/filter", O_RDONLY | O_CLOEXEC);
    if (b.root.filter < 0)
        vm_init_end("open /filter: %s", strerror(errno));
    make_group(&b.init);
    set_limits();
    pid_t pid = start_agent(&b, ends);
    if (pid > 0) {
        (void)close(ends[1]);
        (void)close(b.root.filter);
        b.init.control = ends[0];
        b.init.agent = pid;
        int r = b.notes[0] ? vm_notes_serial(&b.init.notes, b.notes) : vm_notes_vsock(&b.init.notes);
        if (r < 0)
            vm_init_end("open the port of notes%s%s: %s", b.notes[0] ? ", " : "", b.notes, strerror(-r));
        vm_init_run(&b.init);
    }
    (void)close(ends[0]);
    for (size_t i = 0; i < VM_COUNTS; i++) {
        ret->counts[i] = b.init.group < 0 ? -1 : openat(b.init.group, counts[i], O_RDONLY | O_CLOEXEC);
        if (ret->counts[i] < 0)
            ret->counts[i] = -EBADF;
    }
    if (b.init.group >= 0)
        (void)close(b.init.group);
    b.root.control = ends[1];
    vm_root_enter(&b.root);
    ret->control = ends[1];
    ret->port_fd = b.root.port_fd;
    ret->listen_fd = b.root.listen_fd;
}
