#include "vm/snapshot/compat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/program.h"
#include "vm/vm_core.h"

#define INFO_MAX 16384 /* the first processor's lines */
#define WORD_MAX 15

void vm_compat_cpu(const char *text, char ret[VM_COMPAT_CPU_MAX])
{
    static const char *const keys[] = { "vendor_id\t", "cpu family\t", "model\t", "stepping\t" };
    *ret = '\0';
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *at = strstr(text, keys[i]), *value = at ? strchr(at, ':') : NULL;
        if (!value)
            continue;
        value += 1 + strspn(value + 1, " \t");
        size_t n = strcspn(value, " \t\n"), len = strlen(ret);
        (void)snprintf(ret + len, VM_COMPAT_CPU_MAX - len, "%s%.*s", len ? " " : "", (int)(n < WORD_MAX ? n : WORD_MAX),
                       value);
    }
}

void vm_compat_host(char ret[VM_COMPAT_CPU_MAX])
{
    char text[INFO_MAX];
    CLEANUP(close_fd_p) int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    vm_compat_cpu(text, ret);
}

uint32_t vm_compat_program(const struct vm *vm)
{
    char found[PROGRAM_PATH_MAX];
    struct stat st;
    const char *path = *vm->program ? vm->program : found;
    if ((path == found && !program_find(vm->site.vmm->program, found)) || stat(path, &st) < 0)
        return 0; /* starting it will report that */
    uint64_t both = (uint64_t)st.st_size * 2654435761u ^ (uint64_t)st.st_mtim.tv_sec * 40503u;
    return (uint32_t)(both ^ both >> 32);
}

/* Interfaces are devices as well, and a host may get TAP support later. */
static unsigned shape_of(const struct vm *vm)
{
    return vm->site.vmm->shape * 2 + vm->site.has_taps;
}

void vm_compat_note(const struct vm *vm, bool is_kvm, struct vm_image *image)
{
    image->is_kvm = is_kvm;
    image->shape = shape_of(vm);
    (void)snprintf(image->cpu, sizeof(image->cpu), "%s", is_kvm ? vm->cpu : "");
}

int vm_compat_check(const struct vm *vm, const struct vm_image *image, struct err *err)
{
    if (image->shape != shape_of(vm))
        return err_set(err, ERR_CONFLICT, 0,
                       "it was saved by another version of this server, whose VMs have other devices (%u, not %u): "
                       "restore it there, or create it again",
                       image->shape, shape_of(vm));
    if (image->is_kvm && !vm->site.is_kvm)
        return err_set(err, ERR_CONFLICT, 0, "it was saved with KVM, and here VMs are emulated (%.120s)", vm->slow_why);
    if (image->is_kvm && *image->cpu && *vm->cpu && strcmp(image->cpu, vm->cpu) != 0)
        return err_set(err, ERR_CONFLICT, 0,
                       "it was saved on a CPU \"%s\", and this one is \"%s\": it cannot resume here", image->cpu,
                       vm->cpu);
    return 0;
}
