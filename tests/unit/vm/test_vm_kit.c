/* The kit from a small tree of a kernel: which modules, in which order, what the first root holds, when it is made
 * anew. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "os/program.h"
#include "os/tree.h"
#include "tap.h"
#include "vm/boot/kit.h"
#include "vm/boot/module.h"
#include "vmfixture.h"

#define MODULES "tree/lib/modules/" VMFIXTURE_VERSION

static char folder[] = "/tmp/vmkit-XXXXXX", data[64], tree[64];
static int at = NO_FD;

static void put(const char *path, const void *bytes, size_t len)
{
    int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close_fd_p(&fd);
}

static void put_module(const char *path, const char *depends)
{
    uint8_t module[1024];
    char full[256];
    snprintf(full, sizeof(full), MODULES "/kernel/%s", path);
    put(full, module, vmfixture_module(module, depends));
}

static void say(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void make_tree(void)
{
    static const char *const folders[] = { "data",
                                           "tree",
                                           "tree/boot",
                                           "tree/lib",
                                           "tree/lib/modules",
                                           MODULES,
                                           MODULES "/kernel",
                                           MODULES "/kernel/deep",
                                           MODULES "/kernel/deep/er" };
    static const char builtin[] = "kernel/fs/ext4/ext4.ko\nkernel/lib/some-thing.ko\n";
    uint8_t elf[1024], packed[1024], image[8192];
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        CHECK(mkdirat(at, folders[i], 0755) == 0);
    size_t n = vmfixture_vmlinux(elf, 18);
    n = vmfixture_bzimage(image, packed, vmfixture_lz4(packed, elf, n));
    put("tree/boot/vmlinuz-" VMFIXTURE_VERSION, image, n);
    put(MODULES "/modules.builtin", builtin, strlen(builtin));
    put_module("virtio.ko", "");
    put_module("deep/virtio_ring.ko", "virtio");
    put_module("virtio_mmio.ko", "virtio_ring,virtio");
    put_module("virtio_console.ko", "virtio,virtio_ring");
    put_module("virtio_blk.ko", "virtio");
    put_module("deep/er/lib-crc.ko", "some_thing"); /* needs what is built in */
    put_module("erofs.ko", "lib-crc");
    put_module("overlay.ko", "");
    put_module("virtio-rng.ko", "virtio");
    put_module("unwanted.ko", "");
}

static int make(bool *ret_is_new, struct err *err)
{
    int r = vm_kit_make(data, tree, say, NULL, ret_is_new, err);
    if (r < 0)
        printf("# %s\n", err->msg);
    return r;
}

TEST(nothing_yet)
{
    struct err err = ERR_INIT;
    struct vm_kit k;
    CHECK(vm_kit_open(data, "", &k, &err) == -ENOSYS);
    CHECK(strstr(err.msg, "iii vm setup"));
}

static void check_order(const char *text)
{
    static const char expected[] = "virtio.ko\nvirtio_ring.ko\nvirtio_mmio.ko\nvirtio_console.ko\nvirtio_blk.ko\n"
                                   "lib_crc.ko\nerofs.ko\noverlay.ko\nvirtio_rng.ko\n";
    CHECK(strstr(text, expected));
    CHECK(!strstr(text, "unwanted"));
    CHECK(!strstr(text, "ext4.ko"));
}

TEST(made)
{
    struct err err = ERR_INIT;
    struct vm_kit k = { 0 }, again = { 0 };
    bool is_new = false;
    CLEANUP(buf_done) struct buf bytes = BUF_INIT(8 << 20);
    CHECK_INT(make(&is_new, &err), 0);
    CHECK(is_new);
    CHECK_INT(vm_kit_open(data, "", &k, &err), 0);
    CHECK_STR(k.version, VMFIXTURE_VERSION);
    CHECK(access(k.kernel, R_OK) == 0);
    CLEANUP(close_fd_p) int fd = open(k.initramfs, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && buf_reserve(&bytes, (size_t)k.initramfs_bytes) == 0);
    CHECK(read(fd, bytes.data, (size_t)k.initramfs_bytes) == k.initramfs_bytes);
    char *order = memmem(bytes.data, (size_t)k.initramfs_bytes, "virtio.ko\n", 10);
    CHECK(order != NULL);
    check_order(order ? order : "");
    CHECK_INT(make(&is_new, &err), 0);
    CHECK(!is_new);
    CHECK_INT(vm_kit_open(data, tree, &again, &err), 0);
    CHECK_STR(k.key, again.key);
    CHECK(vm_kit_open(data, "/another/vmlinuz", &again, &err) == -ENOSYS);
    CHECK(strstr(err.msg, "III_VM_KERNEL"));
    vm_kit_done(&again);
    vm_kit_done(&k);
}

TEST(repaired)
{
    struct err err = ERR_INIT;
    struct vm_kit k = { 0 }, again = { 0 };
    CHECK_INT(vm_kit_open(data, "", &k, &err), 0);
    CHECK(unlink(k.initramfs) == 0); /* as if it were another version's */
    CHECK_INT(vm_kit_open(data, "", &again, &err), 0);
    CHECK_STR(k.initramfs, again.initramfs);
    CHECK_INT(k.initramfs_bytes, again.initramfs_bytes);
    vm_kit_done(&again);
    CHECK(unlink(k.kernel) == 0);
    CHECK(vm_kit_open(data, "", &again, &err) == -ENOSYS);
    CHECK(strstr(err.msg, "iii vm setup"));
    vm_kit_done(&k);
    bool is_new = false;
    CHECK_INT(make(&is_new, &err), 0);
    CHECK(is_new);
    CHECK_INT(vm_kit_open(data, "", &k, &err), 0);
    vm_kit_done(&k);
}

TEST(missing_module)
{
    struct err err = ERR_INIT;
    bool is_new = false;
    struct timespec later[2] = { { 5000, 0 }, { 5000, 0 } };
    CHECK(unlinkat(at, MODULES "/kernel/overlay.ko", 0) == 0);
    CHECK(utimensat(at, "tree/boot/vmlinuz-" VMFIXTURE_VERSION, later, 0) == 0); /* looks changed */
    CHECK(vm_kit_make(data, tree, say, NULL, &is_new, &err) == -ENOENT);
    CHECK(strstr(err.msg, "overlay"));
    struct vm_kit k = { 0 };
    CHECK_INT(vm_kit_open(data, "", &k, &err), 0); /* what was there still is */
    vm_kit_done(&k);
    put_module("overlay.ko", "");
}

/* One kernel and the one before it stay, and few first roots; what a killed run left goes. */
TEST(swept)
{
    struct err err = ERR_INIT;
    struct vm_kit old = { 0 }, k = { 0 };
    char name[64];
    bool is_new = false;
    const struct timespec later[2] = { { 7000, 0 }, { 7000, 0 } };
    CHECK_INT(vm_kit_open(data, "", &old, &err), 0);
    CHECK(mkdirat(at, "data/vm/kit/new-0123456789abcdef", 0700) == 0);
    CHECK(mkdirat(at, "data/vm/kit/0123456789abcdef", 0700) == 0);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "data/vm/kit/initramfs-000000000000000%d", i);
        put(name, "x", 1);
        CHECK(utimensat(at, name, later, 0) == 0);
    }
    CHECK(utimensat(at, "tree/boot/vmlinuz-" VMFIXTURE_VERSION, later, 0) == 0);
    CHECK_INT(make(&is_new, &err), 0);
    CHECK(is_new);
    CHECK_INT(vm_kit_open(data, "", &k, &err), 0);
    CHECK(strcmp(k.kernel, old.kernel) != 0);
    CHECK(access(old.kernel, R_OK) == 0);
    CHECK(access(old.initramfs, R_OK) == 0);
    CHECK(faccessat(at, "data/vm/kit/new-0123456789abcdef", F_OK, 0) < 0);
    CHECK(faccessat(at, "data/vm/kit/0123456789abcdef", F_OK, 0) < 0);
    int left = 0;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "data/vm/kit/initramfs-000000000000000%d", i);
        left += faccessat(at, name, F_OK, 0) == 0;
    }
    CHECK_INT(left, 3);
    vm_kit_done(&k);
    vm_kit_done(&old);
}

TEST(hostile_modules)
{
    uint8_t m[1024];
    char depends[64];
    struct err err = ERR_INIT;
    size_t n = vmfixture_module(m, "a,b");
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)m;
    Elf64_Shdr *s = (Elf64_Shdr *)(void *)(m + sizeof(*e));
    CHECK_INT(vm_module_depends(m, n, depends, sizeof(depends), &err), 0);
    CHECK_STR(depends, "a,b");
    for (size_t cut = 0; cut < n; cut++)
        CHECK(vm_module_depends(m, cut, depends, sizeof(depends), &err) == -EINVAL);
    CHECK(vm_module_depends(m, n, depends, 3, &err) == -E2BIG);
    e->e_shoff = UINT64_MAX - 63;
    CHECK(vm_module_depends(m, n, depends, sizeof(depends), &err) == -EINVAL);
    n = vmfixture_module(m, "a,b");
    s[1].sh_size = UINT64_MAX;
    CHECK(vm_module_depends(m, n, depends, sizeof(depends), &err) == -EINVAL);
    n = vmfixture_module(m, "a,b");
    s[1].sh_name = UINT32_MAX;
    CHECK(vm_module_depends(m, n, depends, sizeof(depends), &err) == -EINVAL);
    n = vmfixture_module(m, "a,b");
    e->e_shstrndx = 7;
    CHECK(vm_module_depends(m, n, depends, sizeof(depends), &err) == -EINVAL);
}

TEST(nothing_is_read_beyond_a_module)
{
    uint8_t m[1024];
    char depends[64];
    struct err err = ERR_INIT;
    size_t n = vmfixture_module(m, "a,b");
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)m;
    for (size_t cut = 0; cut < n; cut++)
        CHECK(vm_module_depends(vmfixture_guarded(m, cut), cut, depends, sizeof(depends), &err) == -EINVAL);
    e->e_shoff = n + 1;
    CHECK(vm_module_depends(vmfixture_guarded(m, n), n, depends, sizeof(depends), &err) == -EINVAL);
    n = vmfixture_module(m, "a,b");
    e->e_shstrndx = 10;
    CHECK(vm_module_depends(vmfixture_guarded(m, n), n, depends, sizeof(depends), &err) == -EINVAL);
}

/* As many sections as a module has, and not as many as a file can claim. */
TEST(sections_are_counted)
{
    static uint8_t m[1024 + 600 * sizeof(Elf64_Shdr)];
    char depends[64];
    struct err err = ERR_INIT;
    size_t n = vmfixture_module(m, "a,b");
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)m;
    memcpy(m + 1024, m + e->e_shoff, e->e_shnum * sizeof(Elf64_Shdr)); /* room for more behind them */
    e->e_shoff = 1024;
    CHECK(n <= 1024);
    e->e_shnum = 512;
    CHECK_INT(vm_module_depends(m, sizeof(m), depends, sizeof(depends), &err), 0);
    e->e_shnum = 513;
    CHECK(vm_module_depends(m, sizeof(m), depends, sizeof(depends), &err) == -EINVAL);
}

/* Modules that need each other end as well. */
TEST(circle)
{
    struct err err = ERR_INIT;
    bool is_new = false;
    struct timespec later[2] = { { 9000, 0 }, { 9000, 0 } };
    put_module("virtio.ko", "virtio_ring");
    CHECK(utimensat(at, "tree/boot/vmlinuz-" VMFIXTURE_VERSION, later, 0) == 0);
    CHECK_INT(make(&is_new, &err), 0);
    CHECK(is_new);
}

int main(void)
{
    struct err err = ERR_INIT;
    if (!mkdtemp(folder) || (at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return 1;
    snprintf(data, sizeof(data), "%s/data", folder);
    snprintf(tree, sizeof(tree), "%s/tree", folder);
    make_tree();
    RUN(nothing_yet);
    RUN(made);
    RUN(repaired);
    RUN(missing_module);
    RUN(swept);
    RUN(hostile_modules);
    RUN(nothing_is_read_beyond_a_module);
    RUN(sections_are_counted);
    RUN(circle);
    close_fd_p(&at);
    if (tree_remove(AT_FDCWD, folder, &err) < 0)
        printf("# %s\n", err.msg);
    return tap_done();
}
