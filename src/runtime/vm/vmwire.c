#include "runtime/vm/vmwire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "os/cgroup.h"
#include "runtime/runtime.h"

static bool is_name(const char *name)
{
    size_t n = strnlen(name, VMWIRE_NAME_MAX);
    return n == VMWIRE_NAME_MAX - 4 && strspn(name, "0123456789abcdef") == n;
}

static int bad(struct err *err, const char *what)
{
    return err_set(err, ERR_INVALID, 0, "vm tool: %s is not right in the request", what);
}

/* QEMU takes sockets that are there already; the others want a place to make theirs. */
enum vmwire_fd vmwire_fds(uint32_t vmm, size_t *ret_n)
{
    enum vmwire_fd first = vmm == VMWIRE_QEMU ? VMWIRE_FD_AGENT : VMWIRE_FD_KERNEL;
    *ret_n = (vmm == VMWIRE_QEMU ? VMWIRE_FD_BOX : VMWIRE_FDS) - first;
    return first;
}

static int check_start(const struct vmwire_request *q, size_t n_fds, struct err *err)
{
    if (q->vmm >= VMWIRE_VMMS)
        return bad(err, "the monitor");
    if (q->flags & ~(uint32_t)(VMWIRE_KVM | VMWIRE_INCOMING | VMWIRE_SHARED_RAM | VMWIRE_TAPS))
        return bad(err, "flags");
    if (q->memory_mb < VMWIRE_MEMORY_MIN)
        return bad(err, "memory");
    if (q->cpus < 1 || q->cpus > VMWIRE_CPUS_MAX)
        return bad(err, "the number of CPUs");
    size_t wanted;
    (void)vmwire_fds(q->vmm, &wanted);
    return n_fds == wanted ? 0 : bad(err, "the number of descriptors");
}

/* Relative names without "..", each ended by NUL. */
static int check_layers(const struct vmwire_request *q, const char *extra, struct err *err)
{
    size_t at = 0;
    for (uint32_t i = 0; i < q->n_layers; i++) {
        const char *end = at < q->extra_len ? memchr(extra + at, '\0', q->extra_len - at) : NULL;
        if (!end || end == extra + at || extra[at] == '/' || strstr(extra + at, ".."))
            return bad(err, "a layer");
        at = (size_t)(end - extra) + 1;
    }
    return at == q->extra_len ? 0 : bad(err, "the list of layers");
}

static int check_net(const struct vmwire_request *q, size_t n_fds, struct err *err)
{
    if (q->pid <= 1)
        return bad(err, "the process");
    if (q->op != VMWIRE_OUTLET && (q->nic <= VMWIRE_NIC_OUT || q->nic >= VMWIRE_NICS))
        return bad(err, "the interface");
    if (q->op != VMWIRE_OUTLET && q->subnet >= RUNTIME_SUBNETS)
        return bad(err, "the network");
    if (q->op == VMWIRE_JOIN && !q->address)
        return bad(err, "the address");
    return n_fds == (q->op == VMWIRE_JOIN) ? 0 : bad(err, "the number of descriptors");
}

int vmwire_check(const struct vmwire_request *q, const char *extra, size_t n_fds, struct err *err)
{
    if (q->version != VMWIRE_VERSION)
        return bad(err, "the version");
    if (q->extra_len > VMWIRE_EXTRA_MAX || (q->op != VMWIRE_BASE && (q->extra_len || q->n_layers)))
        return bad(err, "the length");
    bool has_machine = q->op != VMWIRE_BASE && q->op != VMWIRE_DISK && q->op != VMWIRE_PROBE && q->op != VMWIRE_SWITCH;
    if (has_machine && !is_name(q->name))
        return bad(err, "the name");
    if (has_machine && (q->cpu_milli > VMWIRE_MILLI_MAX || q->memory_mb > VMWIRE_MEMORY_MAX))
        return bad(err, "a limit");
    switch (q->op) {
    case VMWIRE_START:
        return check_start(q, n_fds, err);
    case VMWIRE_JOIN:
    case VMWIRE_LEAVE:
    case VMWIRE_OUTLET:
        return check_net(q, n_fds, err);
    case VMWIRE_SWITCH:
    case VMWIRE_KILL:
    case VMWIRE_LIMIT:
    case VMWIRE_FREEZE:
    case VMWIRE_THAW:
    case VMWIRE_PROBE:
        return n_fds == 0 ? 0 : bad(err, "the number of descriptors");
    case VMWIRE_BASE:
        if (n_fds != 1 || q->n_layers < 1 || q->n_layers > VMWIRE_LAYERS_MAX)
            return bad(err, "the number of layers");
        return check_layers(q, extra, err);
    case VMWIRE_DISK:
        if (q->flags & ~(uint32_t)VMWIRE_VOLUME)
            return bad(err, "flags");
        return n_fds == 1 && q->disk_mb >= 16 && q->disk_mb <= VMWIRE_DISK_MB ? 0 : bad(err, "the disk");
    default:
        return bad(err, "the operation");
    }
}

int vmwire_group_prefix(int data_dir_fd, char *ret)
{
    struct stat st;
    if (fstat(data_dir_fd, &st) < 0)
        return -errno;
    (void)snprintf(ret, CGROUP_NAME_MAX, "vm%llx-",
                   (unsigned long long)(st.st_ino * 2654435761u ^ st.st_dev) & 0xffffffffffull);
    return 0;
}

int vmwire_group(int data_dir_fd, const char *name, char *ret)
{
    int r = vmwire_group_prefix(data_dir_fd, ret);
    if (r >= 0)
        (void)snprintf(ret + strlen(ret), CGROUP_NAME_MAX - strlen(ret), "%s", name);
    return r;
}
