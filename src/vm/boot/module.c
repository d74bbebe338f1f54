#include "vm/boot/module.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/inflate.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "os/mount.h"
#include "vm/boot/bzimage.h"

#define DEPTH_MAX   12
#define FILES_MAX   20000 /* a full Debian kernel has about 4,500 */
#define CHAIN_MAX   32    /* length of a dependency chain */
#define BUILTIN_MAX (1u << 20)
#define NAME_LEN    64
#define SECTION_MAX 512

static const struct {
    const char *name;
    bool is_optional; /* a guest boots without it, but lacks what the comment says */
} wanted[] = {
    { "virtio_mmio", false },
    { "virtio_console", false },
    { "virtio_blk", false },
    { "crc32c_generic", true }, /* only where it is not built in: ext4 requests it by name */
    { "erofs", false },
    { "ext4", false },
    { "overlay", false },
    { "virtio_rng", true }, /* entropy at boot */
    { "virtio_net", true }, /* networks */
    { "virtio_scsi", true },
    { "sd_mod", true },                     /* volumes */
    { "vmw_vsock_virtio_transport", true }, /* Firecracker and libkrun */
};

struct search {
    int from, to;
    struct map *paths;   /* name -> path below from */
    struct map *builtin; /* name -> itself */
    struct map *taken;   /* name -> itself */
    struct buf order;
    size_t n_files;
};

/* "virtio-rng.ko.xz" -> "virtio_rng": file names have dashes where module names have underscores. False: not a
 * module. */
static bool module_name(const char *file, char ret[NAME_LEN])
{
    static const char *const ends[] = { ".ko", ".ko.xz", ".ko.zst", ".ko.gz" };
    size_t len = strlen(file);
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        size_t end = strlen(ends[i]);
        if (len <= end || len - end >= NAME_LEN || strcmp(file + len - end, ends[i]) != 0)
            continue;
        for (size_t k = 0; k < len - end; k++)
            ret[k] = file[k] == '-' ? '_' : file[k];
        ret[len - end] = '\0';
        return strspn(ret, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len - end;
    }
    return false;
}

/* --- finding modules --- */

static int note_folder(struct search *s, const char *path, int depth, struct err *err);

static int note_entry(struct search *s, const char *path, const struct dirent *e, int depth, struct err *err)
{
    char name[NAME_LEN], below[512];
    int n = snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
    if (n < 0 || (size_t)n >= sizeof(below))
        return err_set(err, ERR_INVALID, 0, "a path below %s is longer than %zu bytes", path, sizeof(below));
    if (++s->n_files > FILES_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "the modules folder has more than %d files", FILES_MAX);
    if (e->d_type == DT_DIR)
        return depth < DEPTH_MAX ? note_folder(s, below, depth + 1, err)
                                 : err_set(err, ERR_INVALID, 0, "%s is deeper than %d folders", below, DEPTH_MAX);
    if (e->d_type == DT_REG && module_name(e->d_name, name) && !map_get(s->paths, name))
        map_set(s->paths, name, xstrdup(below));
    return 0;
}

static int note_folder(struct search *s, const char *path, int depth, struct err *err)
{
    int r = 0, fd = mount_open_beneath(s->from, path, O_RDONLY | O_DIRECTORY, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return err_sys(err, fd < 0 ? fd : -errno, "open the modules folder %s", path);
    for (const struct dirent *e; r >= 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = note_entry(s, path, e, depth, err);
    (void)closedir(d); /* read only */
    return r;
}

static int read_file(int at, const char *path, size_t max, struct buf *ret, struct err *err)
{
    CLEANUP(close_fd_p) int fd = mount_open_beneath(at, path, O_RDONLY | O_NONBLOCK, 0);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_sys(err, fd < 0 ? fd : -EINVAL, "open %s", path);
    buf_init(ret, max);
    if ((uint64_t)st.st_size > max || buf_reserve(ret, (size_t)st.st_size) < 0)
        return err_set(err, ERR_TOO_LARGE, 0, "%s is larger than %zu MiB", path, max >> 20);
    while (ret->len < (size_t)st.st_size) {
        ssize_t n = read(fd, ret->data + ret->len, (size_t)st.st_size - ret->len);
        if (n <= 0)
            return err_sys(err, n < 0 ? -errno : -EIO, "read %s", path);
        ret->len += (size_t)n;
        ret->data[ret->len] = '\0';
    }
    return 0;
}

/* modules.builtin: one path on each line. Without the file nothing is known to be built in. */
static int note_builtin(struct search *s, struct err *err)
{
    CLEANUP(buf_done) struct buf text = BUF_INIT(0);
    struct err missing = ERR_INIT;
    int r = read_file(s->from, "modules.builtin", BUILTIN_MAX, &text, &missing);
    if (r == -ENOENT)
        return 0;
    if (r < 0) {
        *err = missing;
        return r;
    }
    char *rest = text.data, *line;
    while (rest && (line = strsep(&rest, "\n"))) {
        char name[NAME_LEN], *file = strrchr(line, '/');
        if (module_name(file ? file + 1 : line, name))
            map_set(s->builtin, name, s);
    }
    return 0;
}

/* --- dependencies --- */

static const char *find_word(const char *text, size_t len, const char *key)
{
    size_t key_len = strlen(key);
    for (size_t at = 0; at < len;) {
        size_t n = strnlen(text + at, len - at);
        if (n == len - at)
            return NULL; /* not terminated */
        if (n >= key_len && memcmp(text + at, key, key_len) == 0)
            return text + at + key_len;
        at += n + 1;
    }
    return NULL;
}

static bool section_at(const uint8_t *data, size_t len, const Elf64_Ehdr *e, unsigned i, Elf64_Shdr *ret)
{
    memcpy(ret, data + e->e_shoff + i * sizeof(*ret), sizeof(*ret));
    return ret->sh_type == SHT_NOBITS || (ret->sh_offset <= len && ret->sh_size <= len - ret->sh_offset);
}

static bool is_modinfo(const uint8_t *data, const Elf64_Shdr *names, const Elf64_Shdr *s)
{
    static const char name[] = ".modinfo";
    return s->sh_type == SHT_PROGBITS && s->sh_name < names->sh_size && names->sh_size - s->sh_name >= sizeof(name) &&
           memcmp(data + names->sh_offset + s->sh_name, name, sizeof(name)) == 0;
}

int vm_module_depends(const uint8_t *data, size_t len, char *ret, size_t size, struct err *err)
{
    Elf64_Ehdr e;
    Elf64_Shdr names, s;
    if (!data || !bzimage_is_elf(data, len))
        return err_set(err, ERR_INVALID, 0, "it is not an ELF file");
    memcpy(&e, data, sizeof(e));
    if (e.e_shentsize != sizeof(s) || e.e_shnum > SECTION_MAX || e.e_shstrndx >= e.e_shnum || e.e_shoff > len ||
        (size_t)e.e_shnum * sizeof(s) > len - e.e_shoff || !section_at(data, len, &e, e.e_shstrndx, &names) ||
        names.sh_type != SHT_STRTAB)
        return err_set(err, ERR_INVALID, 0, "its ELF header is damaged");
    for (unsigned i = 0; i < e.e_shnum; i++) {
        if (!section_at(data, len, &e, i, &s))
            return err_set(err, ERR_INVALID, 0, "its section %u ends after the file", i);
        if (!is_modinfo(data, &names, &s))
            continue;
        const char *found = find_word((const char *)data + s.sh_offset, s.sh_size, "depends=");
        int n = snprintf(ret, size, "%s", found ? found : "");
        return n >= 0 && (size_t)n < size ? 0 : err_set(err, ERR_TOO_LARGE, 0, "it needs too many others");
    }
    return err_set(err, ERR_INVALID, 0, "it has no .modinfo section");
}

/* --- collecting them --- */

/* Reads the module as plain ELF, through a memfd when it is compressed. */
static int read_module(const struct search *s, const char *path, struct buf *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf packed = BUF_INIT(0);
    int r = read_file(s->from, path, VM_MODULE_MAX, &packed, err);
    if (r < 0)
        return r;
    if (bzimage_is_elf((const uint8_t *)packed.data, packed.len)) {
        *ret = packed;
        buf_init(&packed, 0);
        return 0;
    }
    CLEANUP(close_fd_p) int memory = memfd_create("module", MFD_CLOEXEC);
    if (memory < 0)
        return err_sys(err, -errno, "make a memory file");
    r = inflate_stream(packed.data, packed.len, memory, VM_MODULE_MAX, path, err);
    if (r < 0)
        return r;
    struct stat st;
    buf_init(ret, VM_MODULE_MAX);
    if (fstat(memory, &st) < 0 || buf_reserve(ret, (size_t)st.st_size) < 0 ||
        pread(memory, ret->data, (size_t)st.st_size, 0) != st.st_size)
        return err_set(err, ERR_INTERNAL, 0, "read module %s back", path);
    ret->len = (size_t)st.st_size;
    return 0;
}

static int keep_module(struct search *s, const char *name, const struct buf *data, struct err *err)
{
    char file[NAME_LEN + 4];
    (void)snprintf(file, sizeof(file), "%s.ko", name);
    CLEANUP(close_fd_p) int fd = openat(s->to, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, data->data, data->len) != (ssize_t)data->len)
        return err_sys(err, -errno, "write module %s", file);
    if (buf_addf(&s->order, "%s\n", file) < 0)
        return err_set(err, ERR_TOO_LARGE, 0, "too many modules");
    return 0;
}

static int module_take(struct search *s, const char *name, int depth, struct err *err)
{
    char depends[1024];
    const char *path = map_get(s->paths, name);
    CLEANUP(buf_done) struct buf data = BUF_INIT(0);
    if (map_get(s->taken, name) || (!path && map_get(s->builtin, name)))
        return 0;
    if (!path)
        return err_set(err, ERR_NOT_FOUND, 0, "the kernel has no module %s", name);
    if (depth > CHAIN_MAX)
        return err_set(err, ERR_INVALID, 0, "module %s: more than %d need each other", name, CHAIN_MAX);
    map_set(s->taken, name, s); /* before its dependencies: this ends a cycle */
    int r = read_module(s, path, &data, err);
    if (r < 0)
        return r;
    if ((r = vm_module_depends((const uint8_t *)data.data, data.len, depends, sizeof(depends), err)) < 0)
        return err_wrap(err, r, "module %s", path);
    char *rest = depends, *other;
    while (rest && (other = strsep(&rest, ",")))
        if (*other) {
            for (char *p = other; *p; p++)
                *p = *p == '-' ? '_' : *p;
            if ((r = module_take(s, other, depth + 1, err)) < 0)
                return err_wrap(err, r, "module %s", name);
        }
    return keep_module(s, name, &data, err);
}

static int module_take_wanted(struct search *s, struct err *err)
{
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        if (wanted[i].is_optional && !map_get(s->paths, wanted[i].name))
            continue;
        int r = module_take(s, wanted[i].name, 0, err);
        if (r < 0)
            return r;
    }
    CLEANUP(close_fd_p) int fd = openat(s->to, VM_MODULE_ORDER, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, buf_text(&s->order), s->order.len) != (ssize_t)s->order.len)
        return err_sys(err, -errno, "write the order of the modules");
    return 0;
}

int vm_module_collect(int from, int to, struct err *err)
{
    struct search s = {
        .from = from, .to = to, .paths = map_new(), .builtin = map_new(), .taken = map_new(), .order = BUF_INIT(16384)
    };
    int r = note_folder(&s, "kernel", 0, err);
    if (r >= 0)
        r = note_builtin(&s, err);
    if (r >= 0)
        r = module_take_wanted(&s, err);
    for (struct map_iter it = map_iter(s.paths); map_next(&it);)
        free(it.value);
    (void)map_free(s.paths);
    (void)map_free(s.builtin);
    (void)map_free(s.taken);
    buf_done(&s.order);
    return r;
}
