#include "vm/boot/cpio.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define ALIGN 4

void vm_cpio_init(struct vm_cpio *c)
{
    *c = (struct vm_cpio){ .out = BUF_INIT(VM_CPIO_MAX) };
}

void vm_cpio_done(struct vm_cpio *c)
{
    buf_done(&c->out);
}

static int archive_pad(struct vm_cpio *c)
{
    static const char zero[ALIGN];
    size_t over = c->out.len % ALIGN;
    return over ? buf_add(&c->out, zero, ALIGN - over) : 0;
}

struct entry {
    const char *path;
    uint32_t mode, links, major, minor;
    const void *data;
    size_t len;
};

/* The header is thirteen numbers of eight hexadecimal digits after the magic; the name and the data follow, each
 * padded. */
static int entry_add(struct vm_cpio *c, const struct entry *e)
{
    size_t name = strlen(e->path) + 1;
    if (e->len > UINT32_MAX)
        return -E2BIG;
    int r = buf_addf(&c->out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", ++c->inode, e->mode, 0, 0,
                     e->links, 0, (unsigned)e->len, 0, 0, e->major, e->minor, (unsigned)name, 0);
    if (r >= 0)
        r = buf_add(&c->out, e->path, name);
    if (r >= 0)
        r = archive_pad(c);
    if (r >= 0 && e->len > 0)
        r = buf_add(&c->out, e->data, e->len);
    return r < 0 ? r : archive_pad(c);
}

int vm_cpio_folder(struct vm_cpio *c, const char *path, mode_t mode)
{
    return entry_add(c, &(struct entry){ .path = path, .mode = S_IFDIR | mode, .links = 2 });
}

int vm_cpio_file(struct vm_cpio *c, const char *path, mode_t mode, const void *data, size_t len)
{
    return entry_add(c, &(struct entry){ .path = path, .mode = S_IFREG | mode, .links = 1, .data = data, .len = len });
}

int vm_cpio_device(struct vm_cpio *c, const char *path, mode_t mode, unsigned major, unsigned minor)
{
    return entry_add(
        c, &(struct entry){ .path = path, .mode = S_IFCHR | mode, .links = 1, .major = major, .minor = minor });
}

int vm_cpio_end(struct vm_cpio *c)
{
    return entry_add(c, &(struct entry){ .path = "TRAILER!!!", .links = 1 });
}
