#include "vm/tool_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "os/cgroup.h"
#include "runtime/runtime.h"

static int field_error(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, 0, "VM tool: bad request: %s", what);
}

/* QEMU gets listening sockets; the other VMMs get a folder to make theirs in. */
enum vm_tool_wire_fd vm_tool_wire_fds(uint32_t vmm, size_t *ret_n)
{
    enum vm_tool_wire_fd first = vmm == VM_TOOL_WIRE_QEMU ? VM_TOOL_WIRE_FD_AGENT : VM_TOOL_WIRE_FD_KERNEL;
    *ret_n = (vmm == VM_TOOL_WIRE_QEMU ? VM_TOOL_WIRE_FD_BOX : VM_TOOL_WIRE_FDS) - first;
    return first;
}

static int check_start(const struct vm_tool_wire_request *q, size_t n_fds, struct err *err)
{
    if (q->vmm >= VM_TOOL_WIRE_VMMS)
        return field_error(err, "the VMM");
    if (q->flags & ~(uint32_t)(VM_TOOL_WIRE_KVM | VM_TOOL_WIRE_INCOMING | VM_TOOL_WIRE_SHARED_RAM | VM_TOOL_WIRE_TAPS))
        return field_error(err, "flags");
    if (q->memory_mb < VM_TOOL_WIRE_MEMORY_MIN)
        return field_error(err, "memory");
    if (q->cpus < 1 || q->cpus > VM_TOOL_WIRE_CPUS_MAX)
        return field_error(err, "the number of CPUs");
    size_t wanted;
    (void)vm_tool_wire_fds(q->vmm, &wanted);
    return n_fds == wanted ? 0 : field_error(err, "the number of descriptors");
}

/* Relative names without "..", each ended by NUL. */
static int check_layers(const struct vm_tool_wire_request *q, const char *extra, struct err *err)
{
    size_t at = 0;
    for (uint32_t i = 0; i < q->n_layers; i++) {
        const char *end = at < q->extra_len ? memchr(extra + at, '\0', q->extra_len - at) : NULL;
        if (!end || end == extra + at || extra[at] == '/' || strstr(extra + at, ".."))
            return field_error(err, "a layer");
        at = (size_t)(end - extra) + 1;
    }
    return at == q->extra_len ? 0 : field_error(err, "the list of layers");
}

int vm_tool_wire_check(const struct vm_tool_wire_request *q, const char *extra, size_t n_fds, struct err *err)
{
    if (q->version != VM_TOOL_WIRE_VERSION)
        return field_error(err, "the version");
    if (q->extra_len > VM_TOOL_WIRE_EXTRA_MAX || (q->op != VM_TOOL_WIRE_BASE && (q->extra_len || q->n_layers)))
        return field_error(err, "the length");
    bool has_instance = q->op != VM_TOOL_WIRE_BASE && q->op != VM_TOOL_WIRE_DISK && q->op != VM_TOOL_WIRE_PROBE &&
                        q->op != VM_TOOL_WIRE_BRIDGE;
    size_t len = strnlen(q->name, VM_TOOL_WIRE_NAME_MAX);
    if (has_instance && (len != VM_TOOL_WIRE_NAME_MAX - 4 || strspn(q->name, "0123456789abcdef") != len))
        return field_error(err, "the name");
    if (has_instance && (q->cpu_milli > VM_TOOL_WIRE_MILLI_MAX || q->memory_mb > VM_TOOL_WIRE_MEMORY_MAX))
        return field_error(err, "a limit");
    bool is_net = q->op == VM_TOOL_WIRE_JOIN || q->op == VM_TOOL_WIRE_LEAVE || q->op == VM_TOOL_WIRE_EGRESS_REDIRECT;
    if (is_net && q->pid <= 1)
        return field_error(err, "the process");
    switch (q->op) {
    case VM_TOOL_WIRE_START:
        return check_start(q, n_fds, err);
    case VM_TOOL_WIRE_JOIN:
    case VM_TOOL_WIRE_LEAVE:
        if (q->nic <= VM_TOOL_WIRE_NIC_OUT || q->nic >= VM_TOOL_WIRE_NICS)
            return field_error(err, "the interface");
        if (q->subnet >= RUNTIME_SUBNETS)
            return field_error(err, "the network");
        if (q->op == VM_TOOL_WIRE_JOIN && !q->address)
            return field_error(err, "the address");
        return n_fds == (q->op == VM_TOOL_WIRE_JOIN) ? 0 : field_error(err, "the number of descriptors");
    case VM_TOOL_WIRE_EGRESS_REDIRECT:
    case VM_TOOL_WIRE_BRIDGE:
    case VM_TOOL_WIRE_KILL:
    case VM_TOOL_WIRE_LIMIT:
    case VM_TOOL_WIRE_FREEZE:
    case VM_TOOL_WIRE_THAW:
    case VM_TOOL_WIRE_PROBE:
        return n_fds == 0 ? 0 : field_error(err, "the number of descriptors");
    case VM_TOOL_WIRE_BASE:
        if (n_fds != 1 || q->n_layers < 1 || q->n_layers > VM_TOOL_WIRE_LAYERS_MAX)
            return field_error(err, "the number of layers");
        if (q->flags & ~(uint32_t)VM_TOOL_WIRE_HOST_USR)
            return field_error(err, "flags");
        return check_layers(q, extra, err);
    case VM_TOOL_WIRE_DISK:
        if (q->flags & ~(uint32_t)VM_TOOL_WIRE_VOLUME)
            return field_error(err, "flags");
        return n_fds == 1 && q->disk_mb >= LIMIT_MIN(DISK_MB) && q->disk_mb <= VM_TOOL_WIRE_DISK_MB
                   ? 0
                   : field_error(err, "the disk");
    default:
        return field_error(err, "the operation");
    }
}

int vm_tool_wire_group_prefix(int data_dir_fd, char *ret)
{
    struct stat st;
    if (fstat(data_dir_fd, &st) < 0)
        return -errno;
    (void)snprintf(ret, CGROUP_NAME_MAX, "vm%llx-",
                   (unsigned long long)(st.st_ino * 2654435761u ^ st.st_dev) & 0xffffffffffull);
    return 0;
}

int vm_tool_wire_group(int data_dir_fd, const char *name, char *ret)
{
    int r = vm_tool_wire_group_prefix(data_dir_fd, ret);
    if (r >= 0)
        (void)snprintf(ret + strlen(ret), CGROUP_NAME_MAX - strlen(ret), "%s", name);
    return r;
}
