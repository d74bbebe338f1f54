/* Theory of operation. The kit is the folder DATA/vm/kit (kit.h). `iii vm setup` writes it, servers read it, and both
 * may run at once. So a file or folder is built under a temporary name (NEW…) and renamed when it is complete.
 * facts.json names the kernel folder that counts and is written last: a setup that is killed leaves the former kit
 * intact.
 *
 * Making: choose a kernel; if facts.json has the same identity and all files are there, nothing is done. Otherwise
 * fetch and unpack the kernel and its modules in a work folder, name the folder by the digest of its contents, write
 * the initramfs and facts.json, and sweep. The sweep keeps the former kernel and the last few initramfs files, which a
 * running server may still use, and removes leftovers of killed runs.
 *
 * Opening never changes the kernel. It rebuilds only the initramfs, when this binary's agent or filter differs from
 * the one that the kit was made with. */
#include "vm/boot/kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "base/json.h"
#include "os/mount.h"
#include "os/tree.h"
#include "vm/boot/bzimage.h"
#include "vm/boot/initrd.h"
#include "vm/boot/module.h"

#define FACTS          "facts.json"
#define FACTS_MAX      65536
#define LOCK           "lock"
#define NEW            "new-" /* being made; the next run sweeps leftovers */
#define INITRAMFS      "initramfs-"
#define INITRAMFS_KEPT 4
#define SWEEP_MAX      64
#define KEY_LEN        16 /* of the kernel folder's and the initramfs's names */
#define RUN_SETUP      "run `iii vm setup`"

/* --- files of the kit --- */

static int open_kit(const char *data_dir, bool is_made, struct err *err)
{
    CLEANUP(close_fd_p) int data = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (data < 0)
        return err_sys(err, -errno, "open the data folder %s", data_dir);
    if (is_made && ((mkdirat(data, "vm", 0755) < 0 && errno != EEXIST) ||
                    (mkdirat(data, VM_KIT_FOLDER, 0755) < 0 && errno != EEXIST)))
        return err_sys(err, -errno, "make %s/" VM_KIT_FOLDER, data_dir);
    int kit = mount_open_beneath(data, VM_KIT_FOLDER, O_RDONLY | O_DIRECTORY, 0);
    if (kit == -ENOENT)
        return err_set(err, ERR_UNSUPPORTED, 0, "there is no kernel for microVMs: run `iii vm setup --data-dir %s`",
                       data_dir);
    return kit < 0 ? err_sys(err, kit, "open %s/" VM_KIT_FOLDER, data_dir) : kit;
}

/* Opens a temporary file. commit_file() renames it, so that the file appears complete or not at all. */
static int begin_file(int kit, char temporary[32])
{
    uint8_t random[8];
    ident_random(random, sizeof(random));
    memcpy(temporary, NEW, sizeof(NEW));
    ident_hex(random, sizeof(random), temporary + strlen(NEW));
    int fd = openat(kit, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : fd;
}

static int commit_file(int kit, int fd, const char *temporary, const char *name)
{
    if (fsync(fd) == 0 && renameat(kit, temporary, kit, name) == 0)
        return 0;
    int r = -errno;
    (void)unlinkat(kit, temporary, 0); /* the cause is reported */
    return r;
}

static json_t *read_facts(int kit, struct err *err)
{
    json_t *facts = NULL;
    CLEANUP(free_p) char *text = xzalloc(FACTS_MAX);
    CLEANUP(close_fd_p) int fd = mount_open_beneath(kit, FACTS, O_RDONLY | O_NONBLOCK, 0);
    ssize_t n = fd < 0 ? fd : read(fd, text, FACTS_MAX - 1);
    if (n < 0 || json_read(text, (size_t)n, &facts, NULL) < 0) {
        (void)err_set(err, ERR_UNSUPPORTED, 0, "there is no kernel for microVMs yet: " RUN_SETUP);
        return NULL;
    }
    return facts;
}

static bool is_key(const char *text)
{
    return strlen(text) == KEY_LEN && strspn(text, "0123456789abcdef") == KEY_LEN;
}

/* --- the initramfs --- */

static int make_initramfs(int kit, const char *kernel, const char *name, struct err *err)
{
    char temporary[32], path[64];
    (void)snprintf(path, sizeof(path), "%s/modules", kernel);
    CLEANUP(close_fd_p) int modules = mount_open_beneath(kit, path, O_RDONLY | O_DIRECTORY, 0);
    if (modules < 0)
        return err_set(err, ERR_UNSUPPORTED, -modules, "the modules of the kernel for microVMs: " RUN_SETUP);
    CLEANUP(close_fd_p) int fd = begin_file(kit, temporary);
    if (fd < 0)
        return err_sys(err, fd, "make the first root of microVMs");
    int r = vm_initrd_write(modules, fd, err);
    if (r < 0) {
        (void)unlinkat(kit, temporary, 0); /* the cause is reported */
        return r;
    }
    r = commit_file(kit, fd, temporary, name);
    return r < 0 ? err_sys(err, r, "name the first root of microVMs") : 0;
}

/* --- opening --- */

static int64_t size_of(int kit, const char *path)
{
    struct stat st;
    CLEANUP(close_fd_p) int fd = mount_open_beneath(kit, path, O_PATH, 0);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : -1;
}

static int open_files(int kit, const char *data_dir, const json_t *facts, struct vm_kit *ret, struct err *err)
{
    char path[64], key[DIGEST_HEX];
    const char *kernel = json_get_str(facts, "kernel", "");
    int r = vm_initrd_key(kernel, key, err);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof(path), "%s/vmlinux", kernel);
    ret->kernel_bytes = is_key(kernel) ? size_of(kit, path) : -1;
    if (ret->kernel_bytes <= 0)
        return err_set(err, ERR_UNSUPPORTED, 0,
                       "the kernel for microVMs is missing in %s/" VM_KIT_FOLDER ": " RUN_SETUP, data_dir);
    ret->kernel = xasprintf("%s/" VM_KIT_FOLDER "/%s", data_dir, path);
    (void)snprintf(path, sizeof(path), INITRAMFS "%.*s", KEY_LEN, key);
    if (size_of(kit, path) <= 0 && (r = make_initramfs(kit, kernel, path, err)) < 0)
        return r;
    ret->initramfs = xasprintf("%s/" VM_KIT_FOLDER "/%s", data_dir, path);
    ret->initramfs_bytes = size_of(kit, path);
    ret->version = xstrdup(json_get_str(facts, "version", ""));
    ret->source = xstrdup(json_get_str(facts, "identity", ""));
    memcpy(ret->key, key, sizeof(key)); /* the kernel's key is part of it */
    return 0;
}

int vm_kit_open(const char *data_dir, const char *setting, struct vm_kit *ret, struct err *err)
{
    struct vm_kit k = { 0 };
    CLEANUP(close_fd_p) int kit = open_kit(data_dir, false, err);
    if (kit < 0)
        return kit;
    JSON_OWNED facts = read_facts(kit, err);
    if (!facts)
        return -ENOSYS;
    const char *where = json_get_str(facts, "where", "");
    CLEANUP(free_p) char *real = setting && *setting ? realpath(setting, NULL) : NULL;
    if (setting && *setting && (!real || strcmp(real, where) != 0))
        return err_set(err, ERR_UNSUPPORTED, 0, "III_VM_KERNEL is %s, but the kit was made from %s: " RUN_SETUP,
                       setting, where);
    int r = open_files(kit, data_dir, facts, &k, err);
    if (r < 0)
        vm_kit_done(&k);
    else
        *ret = k;
    return r;
}

void vm_kit_done(struct vm_kit *k)
{
    free(k->kernel);
    free(k->initramfs);
    free(k->version);
    free(k->source);
    *k = (struct vm_kit){ 0 };
}

/* --- making --- */

struct making {
    int kit, work; /* work: kit/new-… */
    char name[32]; /* name of the folder `work` */
    vm_kernel_say_fn *say;
    void *arg;
    char kernel[DIGEST_HEX];
    char version[64];
};

static int begin_work(struct making *m, struct err *err)
{
    uint8_t random[8];
    ident_random(random, sizeof(random));
    memcpy(m->name, NEW, sizeof(NEW));
    ident_hex(random, sizeof(random), m->name + strlen(NEW));
    if (mkdirat(m->kit, m->name, 0700) < 0)
        return err_sys(err, -errno, "make a folder in " VM_KIT_FOLDER);
    m->work = openat(m->kit, m->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (m->work < 0 || mkdirat(m->work, "fetch", 0755) < 0 || mkdirat(m->work, "kit", 0755) < 0 ||
        mkdirat(m->work, "kit/modules", 0755) < 0)
        return err_sys(err, -errno, "make a folder in " VM_KIT_FOLDER);
    return 0;
}

/* Finds "Linux version 6.1.0-54-cloud-amd64 (…" in the kernel, which an ELF file contains as well. */
static void find_version(int elf, char ret[64])
{
    static const char mark[] = "Linux version ";
    struct stat st;
    if (*ret || fstat(elf, &st) < 0 || st.st_size <= 0)
        return;
    const char *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, elf, 0);
    if (data == MAP_FAILED)
        return;
    const char *end = data + st.st_size, *at = memmem(data, (size_t)st.st_size, mark, strlen(mark));
    at = at ? at + strlen(mark) : NULL;
    size_t n = 0;
    while (at && at + n < end && n < 63 &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+~", at[n]) && at[n])
        n++;
    if (n > 0 && n < 63 && *at != '.')
        memcpy(ret, at, n);
    (void)munmap((void *)(uintptr_t)data, (size_t)st.st_size); /* our own mapping */
}

static int take_kernel(struct making *m, const struct vm_kernel *k, struct digest *sum, struct err *err)
{
    CLEANUP(close_fd_p)
    int elf = openat(m->work, "kit/vmlinux", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (elf < 0)
        return err_sys(err, -errno, "make the file of the kernel");
    int r = bzimage_to_elf(k->image, elf, m->version, err);
    if (r < 0)
        return err_wrap(err, r, "%s", k->where);
    find_version(elf, m->version);
    r = digest_file(sum, elf);
    if (r >= 0 && fsync(elf) < 0)
        r = -errno;
    return r < 0 ? err_sys(err, r, "write the kernel") : 0;
}

static int take_modules(struct making *m, const struct vm_kernel *k, struct digest *sum, struct err *err)
{
    CLEANUP(close_fd_p) int to = openat(m->work, "kit/modules", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p) int from = vm_kernel_modules(k, m->version);
    if (to < 0)
        return err_sys(err, -errno, "open the folder of the modules");
    if (from < 0) {
        m->say(m->arg, "no modules folder for this kernel: everything has to be built in");
        CLEANUP(close_fd_p) int order = openat(to, VM_MODULE_ORDER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        return order < 0 ? err_sys(err, -errno, "write the order of the modules") : 0;
    }
    int r = vm_module_collect(from, to, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int order = openat(to, VM_MODULE_ORDER, O_RDONLY | O_CLOEXEC);
    return order < 0 || digest_file(sum, order) < 0 ? err_sys(err, -errno, "read the order of the modules") : 0;
}

static int kit_fill(struct making *m, struct vm_kernel *k, struct err *err)
{
    CLEANUP(close_fd_p) int fetch = openat(m->work, "fetch", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct digest sum;
    int r = fetch < 0 ? err_sys(err, -errno, "open the folder for the kernel")
                      : vm_kernel_take(k, fetch, m->say, m->arg, err);
    if (r < 0)
        return r;
    digest_init(&sum);
    digest_text(&sum, k->identity); /* its modules come from the same place */
    r = take_kernel(m, k, &sum, err);
    if (r >= 0)
        r = take_modules(m, k, &sum, err);
    digest_end(&sum, m->kernel);
    m->kernel[KEY_LEN] = '\0';
    if (r < 0)
        return r;
    if (renameat(m->work, "kit", m->kit, m->kernel) == 0)
        return 0;
    /* A damaged folder of that name exists: swap them, so that it is removed with our work folder. */
    if ((errno != EEXIST && errno != ENOTEMPTY) || renameat2(m->work, "kit", m->kit, m->kernel, RENAME_EXCHANGE) < 0)
        return err_sys(err, -errno, "name the folder of the kernel");
    return 0;
}

struct initramfs {
    char name[32];
    int64_t made_ns;
};

static int by_age(const void *a, const void *b)
{
    const struct initramfs *x = a, *y = b;
    return (x->made_ns < y->made_ns) - (x->made_ns > y->made_ns); /* newest first */
}

/* A running server may use what an earlier setup made: keep the former kernel and the last few initramfs files.
 * Remove everything else, including leftovers of a killed run. */
static void kit_sweep(int kit, const char *kernel, const char *former)
{
    struct initramfs found[SWEEP_MAX];
    size_t n = 0;
    struct stat st;
    int fd = openat(kit, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));) {
        bool is_old = is_key(e->d_name) && strcmp(e->d_name, kernel) != 0 && strcmp(e->d_name, former) != 0;
        if (is_old || strncmp(e->d_name, NEW, strlen(NEW)) == 0)
            (void)tree_remove(kit, e->d_name, NULL); /* the next run tries again */
        if (strncmp(e->d_name, INITRAMFS, strlen(INITRAMFS)) == 0 && strlen(e->d_name) < sizeof(found[0].name) &&
            n < SWEEP_MAX && fstatat(kit, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            memcpy(found[n].name, e->d_name, strlen(e->d_name) + 1);
            found[n++].made_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
        }
    }
    (void)closedir(d); /* read only */
    qsort(found, n, sizeof(*found), by_age);
    for (size_t i = INITRAMFS_KEPT; i < n; i++)
        (void)unlinkat(kit, found[i].name, 0); /* the next run tries again */
}

static int kit_build(struct making *m, struct vm_kernel *k, struct err *err)
{
    int r = begin_work(m, err);
    if (r >= 0)
        r = kit_fill(m, k, err);
    if (r < 0)
        return r;
    JSON_OWNED facts = json_pack("{s:s, s:s, s:s, s:s}", "kernel", m->kernel, "version", m->version, "where", k->where,
                                 "identity", k->identity);
    char temporary[32];
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(facts, &len);
    CLEANUP(close_fd_p) int fd = begin_file(m->kit, temporary);
    r = fd < 0 ? fd : write(fd, text, len) == (ssize_t)len ? commit_file(m->kit, fd, temporary, FACTS) : -EIO;
    return r < 0 ? err_sys(err, r, "write " FACTS) : 0;
}

int vm_kit_make(const char *data_dir, const char *setting, vm_kernel_say_fn *say, void *arg, bool *ret_is_new,
                struct err *err)
{
    CLEANUP(vm_kernel_done) struct vm_kernel k = { .image = NO_FD, .tree = NO_FD };
    struct making m = { .work = NO_FD, .say = say, .arg = arg };
    struct err none = ERR_INIT;
    struct vm_kit there = { 0 };
    CLEANUP(close_fd_p) int kit = open_kit(data_dir, true, err);
    if (kit < 0)
        return kit;
    CLEANUP(close_fd_p) int lock = openat(kit, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        return err_set(err, ERR_CONFLICT, 0, "another `iii vm setup` is running in %s/" VM_KIT_FOLDER, data_dir);
    int r = vm_kernel_choose(setting, say, arg, &k, err);
    if (r < 0)
        return r;
    JSON_OWNED facts = read_facts(kit, &none);
    bool is_same = facts && strcmp(json_get_str(facts, "identity", ""), k.identity) == 0;
    if (is_same && vm_kit_open(data_dir, NULL, &there, &none) >= 0) {
        vm_kit_done(&there);
        *ret_is_new = false;
        return 0;
    }
    m.kit = kit;
    r = kit_build(&m, &k, err);
    close_fd_p(&m.work);
    if (*m.name)
        (void)tree_remove(kit, m.name, NULL); /* the next run sweeps leftovers */
    if (r >= 0)
        kit_sweep(kit, m.kernel, json_get_str(facts, "kernel", ""));
    *ret_is_new = true;
    return r;
}
