#include "vm/boot/initrd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "os/filter.h"
#include "os/mount.h"
#include "os/write_all.h"
#include "vm/boot/cpio.h"
#include "vm/boot/module.h"

#define LAYOUT    "1" /* change it with what the agent expects to find */
#define ORDER_MAX 16384

extern const unsigned char guest_blob[]; /* the agent; made by tools/embed.py */
size_t guest_blob_size(void);

static const struct {
    const char *path;
    mode_t mode;
} folders[] = { { "dev", 0755 }, { "proc", 0555 }, { "sys", 0555 }, { "root", 0755 }, { "modules", 0755 } };

int vm_initrd_key(const char *kernel_key, char ret[DIGEST_HEX], struct err *err)
{
    struct filter f = { 0 };
    struct digest s;
    int r = filter_build(&f, err);
    if (r < 0)
        return r;
    digest_init(&s);
    digest_text(&s, LAYOUT);
    digest_text(&s, kernel_key);
    digest_add(&s, guest_blob, guest_blob_size());
    digest_add(&s, f.insn, f.count * sizeof(*f.insn));
    digest_end(&s, ret);
    filter_done(&f);
    return 0;
}

static int add_filter(struct vm_cpio *c, struct err *err)
{
    struct filter f = { 0 };
    int r = filter_build(&f, err);
    if (r < 0)
        return r;
    r = vm_cpio_file(c, "filter", 0444, f.insn, f.count * sizeof(*f.insn));
    filter_done(&f);
    return r < 0 ? err_sys(err, r, "add the system call filter to the first root") : 0;
}

static int add_module(struct vm_cpio *c, int modules, const char *name, struct err *err)
{
    char path[128];
    struct stat st;
    CLEANUP(close_fd_p) int fd = mount_open_beneath(modules, name, O_RDONLY | O_NONBLOCK, 0);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > VM_MODULE_MAX)
        return err_set(err, ERR_INVALID, fd < 0 ? -fd : 0, "module %.80s of the kit: run `iii vm setup`", name);
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return err_sys(err, -errno, "map module %.80s", name);
    (void)snprintf(path, sizeof(path), "modules/%.80s", name);
    int r = vm_cpio_file(c, path, 0444, data, (size_t)st.st_size);
    (void)munmap(data, (size_t)st.st_size); /* our own mapping */
    return r < 0 ? err_sys(err, r, "add module %.80s to the first root", name) : 0;
}

static int add_modules(struct vm_cpio *c, int modules, struct err *err)
{
    char order[ORDER_MAX];
    CLEANUP(close_fd_p) int fd = mount_open_beneath(modules, VM_MODULE_ORDER, O_RDONLY | O_NONBLOCK, 0);
    ssize_t n = fd < 0 ? fd : read(fd, order, sizeof(order) - 1);
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "the order of the modules of the kit: run `iii vm setup`");
    order[n] = '\0';
    int r = vm_cpio_file(c, "modules/" VM_MODULE_ORDER, 0444, order, (size_t)n);
    char *rest = order, *name;
    while (r >= 0 && rest && (name = strsep(&rest, "\n")))
        if (*name && (r = add_module(c, modules, name, err)) < 0)
            return r;
    return r < 0 ? err_sys(err, r, "add the order of the modules to the first root") : 0;
}

static int add_frame(struct vm_cpio *c)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < sizeof(folders) / sizeof(*folders); i++)
        r = vm_cpio_folder(c, folders[i].path, folders[i].mode);
    if (r >= 0)
        r = vm_cpio_device(c, "dev/console", 0600, 5, 1);
    if (r >= 0)
        r = vm_cpio_device(c, "dev/null", 0666, 1, 3);
    return r < 0 ? r : vm_cpio_file(c, "init", 0755, guest_blob, guest_blob_size());
}

int vm_initrd_write(int modules, int out, struct err *err)
{
    CLEANUP(vm_cpio_done) struct vm_cpio c;
    vm_cpio_init(&c);
    int r = add_frame(&c);
    if (r < 0)
        return err_sys(err, r, "make the first root");
    if ((r = add_modules(&c, modules, err)) < 0 || (r = add_filter(&c, err)) < 0)
        return r;
    if ((r = vm_cpio_end(&c)) < 0)
        return err_sys(err, r, "make the first root");
    r = write_all_write(out, c.out.data, c.out.len);
    return r < 0 ? err_sys(err, r, "write the first root") : 0;
}

const void *vm_initrd_agent(size_t *ret_len)
{
    *ret_len = guest_blob_size();
    return guest_blob;
}
