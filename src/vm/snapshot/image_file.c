#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "vm/boot/base_image.h"
#include "vm/boot/disk.h"
#include "vm/vm_core.h"

#define META     "meta.json"
#define META_MAX 4096

char *vm_image_file_box_folder(const struct vm *vm, const char *name)
{
    return xasprintf("%s/boxes/%s", vm->site.dir, name);
}

int vm_image_file_make(const char *path, uint64_t bytes, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    /* World-writable, because the VMM runs as another user. Its folder admits only the server, and a VMM gets the
     * file by descriptor or in its own root. */
    if (fd < 0 || fchmod(fd, 0666) < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return err_sys(err, -errno, "make %s", path);
    return steal_fd(&fd);
}

int vm_image_file_open(const char *folder, const char *name, struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? err_sys(err, -errno, "open %s", path) : fd;
}

void vm_image_file_remove(const char *folder)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), e->d_name, 0); /* the next sweep removes what is left */
    if (d)
        (void)closedir(d);
    (void)rmdir(folder); /* the next sweep removes what is left */
}

struct removing {
    struct vm *vm;
    char *folder;
};

static void work_remove(void *arg)
{
    const struct removing *r = arg;
    vm_image_file_remove(r->folder);
}

/* The end of the server waits for the last job. */
static void work_finish(struct vm *vm)
{
    if (--vm->n_works == 0 && vm->is_ending)
        loop_stop(vm->base.loop);
}

static void removal_done(void *arg)
{
    struct removing *r = arg;
    work_finish(r->vm);
    free(r->folder);
    free(r);
}

void vm_image_file_remove_later(struct vm *vm, const char *folder)
{
    struct removing *r = xzalloc(sizeof(*r));
    *r = (struct removing){ .vm = vm, .folder = xstrdup(folder) };
    vm->n_works++;
    if (loop_work(vm->base.loop, work_remove, removal_done, r) < 0)
        loop_defer(vm->base.loop, removal_done, r); /* the next sweep removes it */
}

/* --- images --- */

/* The ctime: it changes with every write and cannot be set back. */
static int64_t changed_ns(const struct stat *st)
{
    return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

int vm_image_file_seal(const char *folder, const char *to, const struct vm_image *image, struct err *err)
{
    struct stat st;
    CLEANUP(free_p) char *ram = xasprintf("%s/ram", folder);
    CLEANUP(free_p) char *meta = xasprintf("%s/" META, folder);
    if (stat(ram, &st) < 0)
        return err_sys(err, -errno, "look at %s", ram);
    JSON_OWNED record =
        json_pack("{s:s, s:i, s:i, s:i, s:b, s:i, s:s, s:I}", "base", image->base, "memoryMb", (int)image->memory_mb,
                  "cpus", (int)image->cpus, "diskMb", (int)image->disk_mb, "kvm", image->is_kvm, "shape",
                  (int)image->shape, "cpu", image->cpu, "ramChanged", (json_int_t)changed_ns(&st));
    size_t len;
    CLEANUP(free_p) char *text = json_write(record, &len);
    CLEANUP(close_fd_p) int fd = open(meta, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len || rename(folder, to) < 0)
        return err_sys(err, -errno, "save the VM in %s", to);
    return 0;
}

int vm_image_file_parse(const char *text, size_t len, struct vm_image *ret, int64_t *ret_changed, struct err *err)
{
    JSON_OWNED record = NULL;
    int r = json_read(text, len, &record, err);
    if (r < 0)
        return r;
    int64_t memory_mb = json_get_int(record, "memoryMb", 0), cpus = json_get_int(record, "cpus", 0),
            disk_mb = json_get_int(record, "diskMb", 0);
    const char *base = json_get_str(record, "base", "");
    if (memory_mb < VM_TOOL_WIRE_MEMORY_MIN || memory_mb > VM_TOOL_WIRE_MEMORY_MAX || cpus < 1 ||
        cpus > VM_TOOL_WIRE_CPUS_MAX || disk_mb < 0 || disk_mb > VM_TOOL_WIRE_DISK_MB ||
        !vm_base_image_is_key(base)) /* it becomes part of a path */
        return err_set(err, ERR_CONFLICT, 0, "it does not describe a possible VM");
    *ret = (struct vm_image){ .memory_mb = (uint32_t)memory_mb,
                              .cpus = (uint32_t)cpus,
                              .disk_mb = (uint32_t)disk_mb,
                              .is_kvm = json_get_bool(record, "kvm", false),
                              .shape = (unsigned)json_get_int(record, "shape", 0) };
    (void)snprintf(ret->cpu, sizeof(ret->cpu), "%s", json_get_str(record, "cpu", ""));
    (void)snprintf(ret->base, sizeof(ret->base), "%s", base);
    *ret_changed = json_get_int(record, "ramChanged", 0);
    return 0;
}

int vm_image_file_load(const char *folder, struct vm_image *ret, struct err *err)
{
    struct stat st;
    char text[META_MAX];
    struct vm_image image = { 0 };
    int64_t changed = 0;
    CLEANUP(free_p) char *ram = xasprintf("%s/ram", folder);
    CLEANUP(free_p) char *meta = xasprintf("%s/" META, folder);
    CLEANUP(close_fd_p) int fd = open(meta, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (n < 0 || stat(ram, &st) < 0)
        return err_set(err, ERR_NOT_FOUND, 0, "there is no VM in %s", folder);
    int r = vm_image_file_parse(text, (size_t)n, &image, &changed, err);
    if (r < 0)
        return err_wrap(err, r, "%s", meta);
    if (changed != changed_ns(&st))
        return err_set(err, ERR_CONFLICT, 0, "the memory in %s was written to after it was saved", folder);
    image.folder = xstrdup(folder);
    *ret = image;
    return 0;
}

void vm_image_file_done(struct vm_image *i)
{
    free(i->folder);
    i->folder = NULL;
}

/* --- copies --- */

struct copying {
    struct vm *vm;
    char *from, *to;
    int fd;
    struct err err;
    vm_image_file_fn *fn;
    void *arg;
};

static void work_copy(void *arg)
{
    struct copying *c = arg;
    CLEANUP(close_fd_p) int from = open(c->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (from < 0) {
        (void)err_sys(&c->err, -errno, "open %s", c->from);
        return;
    }
    int fd = open(c->to, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    c->fd = fd >= 0 ? fd : vm_image_file_make(c->to, 0, &c->err);
    if (c->fd >= 0 && vm_disk_copy(from, c->fd, &c->err) < 0) {
        (void)close(c->fd); /* an incomplete copy */
        c->fd = NO_FD;
    }
}

static void copying_done(void *arg)
{
    struct copying *c = arg;
    work_finish(c->vm);
    c->fn(c->arg, c->fd, c->fd < 0 ? &c->err : NULL);
    free(c->from);
    free(c->to);
    free(c);
}

void vm_image_file_copy(struct vm *vm, const char *from, const char *to, vm_image_file_fn *fn, void *arg)
{
    struct copying *c = xzalloc(sizeof(*c));
    *c = (struct copying){ .vm = vm, .from = xstrdup(from), .to = xstrdup(to), .fd = NO_FD, .fn = fn, .arg = arg };
    vm->n_works++;
    int r = loop_work(vm->base.loop, work_copy, copying_done, c);
    if (r < 0) {
        (void)err_sys(&c->err, r, "copy %s", from);
        loop_defer(vm->base.loop, copying_done, c);
    }
}
