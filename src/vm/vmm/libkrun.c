/* libkrun is a library that takes over the process of the VM (`iii --krun-vm`, below). It has no control socket and no
 * snapshots: its VMs are booted, not restored, and are paused by freezing their control group. The VM ends with its
 * process. */
#include "vm/vmm/libkrun.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/filter.h"
#include "os/library.h"
#include "os/vm_handshake.h"
#include "vm/vmm/vmm.h"

#define KERNEL_ELF 1 /* LIBKRUN_KERNEL_FORMAT_ELF */
#define LOG_ERRORS 1 /* LIBKRUN_LOG_LEVEL_ERROR */
#define NO_TSI     0 /* sockets of the guest must not become sockets of this process */

/* --- in the daemon --- */

struct vmm {
    struct loop *loop;
    vmm_fn *fn;
    void *arg;
    bool is_closed;
};

static void libkrun_argv(const struct vm_tool_wire_request *q, const char *command_line, struct vmm_args *a)
{
    vmm_args_add(a, "%s", q->name); /* by which tool.c finds it */
    vmm_args_add(a, "--krun-vm");
    vmm_args_add(a, "%u", q->cpus);
    vmm_args_add(a, "%u", q->memory_mb);
    vmm_args_add(a, "%s", command_line);
}

static void control_on_open(void *arg)
{
    struct vmm *m = arg;
    vmm_fn *fn = m->fn;
    m->fn = NULL;
    if (m->is_closed)
        free(m);
    else
        fn(m->arg, NULL);
}

/* There is no control socket: the VM boots, and its agent replies or does not. */
static struct vmm *libkrun_open(const struct vmm_start *s, vmm_fn *fn, void *arg)
{
    struct vmm *m = xzalloc(sizeof(*m));
    *m = (struct vmm){ .loop = s->loop, .fn = fn, .arg = arg };
    loop_defer(s->loop, control_on_open, m);
    return m;
}

static void libkrun_close(struct vmm *m)
{
    if (!m)
        return;
    m->is_closed = true;
    if (!m->fn)
        free(m);
}

const struct vmm_ops libkrun_ops = { .name = "krun",
                                     .program = VMM_SELF,
                                     .has_vsock = true,
                                     .has_own_port = true,
                                     .argv = libkrun_argv,
                                     .open = libkrun_open,
                                     .reopen = libkrun_open,
                                     .close = libkrun_close };

/* --- in the VM's process --- */

/* libkrun's functions as its header declares them. They are looked up at run time: few distributions have the
 * library, and only its users should have to install it. */
struct lib {
    int32_t (*set_log_level)(uint32_t level);
    int32_t (*create_ctx)(void);
    int32_t (*set_vm_config)(uint32_t ctx, uint8_t cpus, uint32_t ram_mib);
    int32_t (*add_disk)(uint32_t ctx, const char *block_id, const char *path, bool is_readonly);
    int32_t (*set_kernel)(uint32_t ctx, const char *kernel, uint32_t format, const char *initramfs, const char *line);
    int32_t (*disable_implicit_vsock)(uint32_t ctx);
    int32_t (*add_vsock)(uint32_t ctx, uint32_t tsi_features);
    int32_t (*add_vsock_port2)(uint32_t ctx, uint32_t port, const char *path, bool is_listening);
    int32_t (*disable_implicit_console)(uint32_t ctx);
    int32_t (*add_serial_console_default)(uint32_t ctx, int input, int output);
    int32_t (*start_enter)(uint32_t ctx);
};

#define FUNCTION(name)                            \
    {                                             \
        "krun_" #name, offsetof(struct lib, name) \
    }
static const struct library_symbol functions[] = {
    FUNCTION(set_log_level),
    FUNCTION(create_ctx),
    FUNCTION(set_vm_config),
    FUNCTION(add_disk),
    FUNCTION(set_kernel),
    FUNCTION(disable_implicit_vsock),
    FUNCTION(add_vsock),
    FUNCTION(add_vsock_port2),
    FUNCTION(start_enter),
    FUNCTION(disable_implicit_console),
    FUNCTION(add_serial_console_default),
};

/* The operator's own in the VM's root, then what the linker finds, then where a local build installs it (the
 * linker's cache is not in that root). */
static const char *const places[] = { VMM_LIBRARY_PATH, "libkrun.so.1", "/usr/local/lib64/libkrun.so.1",
                                      "/usr/local/lib/libkrun.so.1", "/usr/lib64/libkrun.so.1" };

static int krun_load(const char *path, struct lib *lib, const char **ret_lack)
{
    void *library = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; !library && !*path && i < sizeof(places) / sizeof(*places); i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -ENOENT;
    *ret_lack = library_bind(library, functions, sizeof(functions) / sizeof(*functions), lib);
    return *ret_lack ? -ENOSYS : 0;
}

int libkrun_vm_probe(const char *path, const char **ret_lack)
{
    struct lib lib;
    return krun_load(path, &lib, ret_lack);
}

static bool read_number(const char *text, unsigned long max, unsigned long *ret)
{
    char *end;
    errno = 0;
    *ret = strtoul(text, &end, 10);
    return *text >= '1' && *text <= '9' && !*end && !errno && *ret <= max;
}

static int print_error(const char *what, int r)
{
    (void)fprintf(stderr, "libkrun: %s: %s\n", what, strerror(r < 0 ? -r : EIO));
    return 1;
}

/* The library listens for the agent's port on a socket in the VM's folder. If we did not add a vsock, the library
 * would add one that turns the guest's connections into connections of this process. */
static int context_configure(const struct lib *lib, uint32_t ctx, unsigned long cpus, unsigned long memory_mb,
                             const char *line)
{
    int32_t r = lib->set_vm_config(ctx, (uint8_t)cpus, (uint32_t)memory_mb);
    if (r < 0)
        return print_error("set CPUs and memory", r);
    r = lib->set_kernel(ctx, VMM_KERNEL_PATH, KERNEL_ELF, VMM_INITRD_PATH, line);
    if (r < 0)
        return print_error("set the kernel", r);
    r = lib->add_disk(ctx, "base", VMM_BASE_PATH, true);
    if (r >= 0)
        r = lib->add_disk(ctx, "disk", VMM_DISK_PATH, false);
    if (r < 0)
        return print_error("add drives", r);
    r = lib->disable_implicit_vsock(ctx);
    if (r >= 0)
        r = lib->add_vsock(ctx, NO_TSI);
    if (r >= 0)
        r = lib->add_vsock_port2(ctx, VM_HANDSHAKE_PORT, VMM_BOX_PATH "/" VMM_VSOCK_NAME, true);
    if (r < 0)
        return print_error("add the agent's port", r);
    r = lib->disable_implicit_console(ctx);
    if (r >= 0)
        r = lib->add_serial_console_default(ctx, STDIN_FILENO, STDOUT_FILENO);
    return r < 0 ? print_error("add the console", r) : 0;
}

int libkrun_vm_main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct lib lib;
    const char *lack = "";
    unsigned long cpus, memory_mb;
    if (argc != 5 || !read_number(argv[2], 255, &cpus) || !read_number(argv[3], VM_TOOL_WIRE_MEMORY_MAX, &memory_mb)) {
        (void)fputs("usage: iii --krun-vm CPUS MEMORY_MB COMMAND_LINE (started by the server)\n", stderr);
        return 2;
    }
    int r = krun_load("", &lib, &lack);
    if (r < 0) {
        (void)fprintf(stderr, "libkrun.so.1 %s%s\n", r == -ENOENT ? "is not installed" : "is too old: it lacks ", lack);
        return 1;
    }
    /* Other VMMs bring a seccomp filter; the library has none. The filter for commands denies nothing that a VM with
     * two drives, a port and a console needs. Install it before the library makes its threads. */
    if (filter_self(&err) < 0) {
        (void)fprintf(stderr, "libkrun: %s\n", err.msg);
        return 1;
    }
    r = lib.set_log_level(LOG_ERRORS);
    if (r < 0)
        return print_error("set its log level", r);
    int32_t ctx = lib.create_ctx();
    if (ctx < 0)
        return print_error("make a context", ctx);
    r = context_configure(&lib, (uint32_t)ctx, cpus, memory_mb, argv[4]);
    return r ? r : print_error("start the VM", lib.start_enter((uint32_t)ctx));
}
