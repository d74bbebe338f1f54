#include "vm/boot/initrd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_writer.h"
#include "base/cleanup.h"
#include "os/filter.h"
#include "os/mount.h"
#include "vm/boot/module.h"

#define LAYOUT    "1" /* change it with what the agent expects to find */
#define ORDER_MAX 16384

extern const unsigned char guest_blob[]; /* the agent; made by tools/embed.py */
size_t guest_blob_size(void);

static const struct archive_member frame[] = {
    { .path = "dev", .mode = S_IFDIR | 0755 },
    { .path = "proc", .mode = S_IFDIR | 0555 },
    { .path = "sys", .mode = S_IFDIR | 0555 },
    { .path = "root", .mode = S_IFDIR | 0755 },
    { .path = "modules", .mode = S_IFDIR | 0755 },
    { .path = "dev/console", .mode = S_IFCHR | 0600, .major = 5, .minor = 1 },
    { .path = "dev/null", .mode = S_IFCHR | 0666, .major = 1, .minor = 3 },
};

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

static int add_filter(struct archive_writer *w, struct err *err)
{
    struct filter f = { 0 };
    int r = filter_build(&f, err);
    if (r < 0)
        return r;
    r = archive_writer_file(w, "filter", 0444, f.insn, f.count * sizeof(*f.insn), err);
    filter_done(&f);
    return r;
}

static int add_module(struct archive_writer *w, int modules, const char *name, struct err *err)
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
    int r = archive_writer_file(w, path, 0444, data, (size_t)st.st_size, err);
    (void)munmap(data, (size_t)st.st_size); /* our own mapping */
    return r;
}

static int add_modules(struct archive_writer *w, int modules, struct err *err)
{
    char order[ORDER_MAX];
    CLEANUP(close_fd_p) int fd = mount_open_beneath(modules, VM_MODULE_ORDER, O_RDONLY | O_NONBLOCK, 0);
    ssize_t n = fd < 0 ? fd : read(fd, order, sizeof(order) - 1);
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "the order of the modules of the kit: run `iii vm setup`");
    order[n] = '\0';
    int r = archive_writer_file(w, "modules/" VM_MODULE_ORDER, 0444, order, (size_t)n, err);
    char *rest = order, *name;
    while (r >= 0 && rest && (name = strsep(&rest, "\n")))
        if (*name)
            r = add_module(w, modules, name, err);
    return r;
}

int vm_initrd_write(int modules, int out, struct err *err)
{
    CLEANUP(archive_writer_free_p) struct archive_writer *w = NULL;
    int r = archive_writer_new(ARCHIVE_WRITER_CPIO, out, NULL, &w, err);
    for (size_t i = 0; r >= 0 && i < sizeof(frame) / sizeof(*frame); i++)
        r = archive_writer_member(w, &frame[i], err);
    if (r >= 0)
        r = archive_writer_file(w, "init", 0755, guest_blob, guest_blob_size(), err);
    if (r >= 0)
        r = add_modules(w, modules, err);
    if (r >= 0)
        r = add_filter(w, err);
    if (r >= 0)
        r = archive_writer_close(w, err);
    return r < 0 ? err_wrap(err, r, "make the first root") : 0;
}

const void *vm_initrd_agent(size_t *ret_len)
{
    *ret_len = guest_blob_size();
    return guest_blob;
}
