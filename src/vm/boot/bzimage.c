/* The layout of a bzImage is in the kernel's documentation, "The Linux/x86 Boot Protocol". */
#include "vm/boot/bzimage.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "archive/inflate.h"
#include "base/cleanup.h"
#include "os/write_all.h"

#define SETUP_SECTS    0x1f1u
#define BOOT_FLAG      0x1feu
#define HEADER         0x202u
#define PROTOCOL       0x206u
#define KERNEL_VERSION 0x20eu
#define PAYLOAD_OFFSET 0x248u
#define PAYLOAD_LENGTH 0x24cu
#define SETUP_END      0x268u
#define SECTOR         512u
#define PROTOCOL_MIN   0x208u /* the first with a payload offset */
#define PVH_NOTE       18u    /* XEN_ELFNOTE_PHYS32_ENTRY */
#define NOTES_MAX      4096

static uint16_t le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)le16(p) | (uint32_t)le16(p + 2) << 16;
}

bool bzimage_is_elf(const uint8_t *data, size_t len)
{
    return len >= sizeof(Elf64_Ehdr) && memcmp(data, ELFMAG, SELFMAG) == 0;
}

/* The first word of the version string. It also names the modules' folder, so only plain letters are accepted. */
static void read_version(const uint8_t *data, size_t setup_len, char ret[64])
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+~";
    size_t at = (size_t)le16(data + KERNEL_VERSION) + 0x200, n = 0;
    ret[0] = '\0';
    if (at <= SETUP_END || at >= setup_len)
        return;
    while (n < 63 && at + n < setup_len && data[at + n] && strchr(good, data[at + n]))
        n++;
    if (n == 63 || at + n >= setup_len || data[at] == '.')
        return;
    memcpy(ret, data + at, n);
    ret[n] = '\0';
}

int bzimage_parse(const uint8_t *data, size_t len, struct bzimage *ret, struct err *err)
{
    if (len < SETUP_END || le16(data + BOOT_FLAG) != 0xaa55 || memcmp(data + HEADER, "HdrS", 4) != 0)
        return err_set(err, ERR_INVALID, 0, "neither a bzImage nor an ELF kernel (vmlinux)");
    if (le16(data + PROTOCOL) < PROTOCOL_MIN)
        return err_set(err, ERR_INVALID, 0, "the kernel's boot protocol %x is older than %x (Linux 2.6.26)",
                       le16(data + PROTOCOL), PROTOCOL_MIN);
    size_t sectors = data[SETUP_SECTS] ? data[SETUP_SECTS] : 4; /* 0 means 4, for historical reasons */
    size_t setup_len = (sectors + 1) * SECTOR;
    size_t offset = le32(data + PAYLOAD_OFFSET), payload = le32(data + PAYLOAD_LENGTH);
    if (setup_len >= len || offset >= len - setup_len || payload > len - setup_len - offset || payload < 16)
        return err_set(err, ERR_INVALID, 0, "the bzImage is cut off: %zu bytes at %zu of %zu", payload,
                       setup_len + offset, len);
    ret->at = setup_len + offset;
    /* Every compressor but gzip, which stores the length itself, has the kernel's length appended to the stream. */
    bool is_gzip = data[ret->at] == 0x1f && data[ret->at + 1] == 0x8b;
    ret->len = payload - (is_gzip ? 0 : 4);
    read_version(data, setup_len, ret->version);
    return 0;
}

/* --- ELF --- */

static bool has_pvh_note(const uint8_t *notes, size_t len)
{
    size_t at = 0;
    for (int i = 0; i < NOTES_MAX && len - at >= sizeof(Elf64_Nhdr); i++) {
        Elf64_Nhdr h;
        memcpy(&h, notes + at, sizeof(h));
        at += sizeof(h);
        size_t name = ((size_t)h.n_namesz + 3) & ~3ull, desc = ((size_t)h.n_descsz + 3) & ~3ull;
        if (name > len - at || desc > len - at - name)
            return false;
        if (h.n_type == PVH_NOTE && h.n_namesz == 4 && memcmp(notes + at, "Xen", 4) == 0)
            return true;
        at += name + desc;
    }
    return false;
}

int bzimage_check_elf(const uint8_t *data, size_t len, bool *ret_is_pvh, struct err *err)
{
    Elf64_Ehdr e;
    if (!bzimage_is_elf(data, len))
        return err_set(err, ERR_INVALID, 0, "the kernel is not an ELF file");
    memcpy(&e, data, sizeof(e));
    if (e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_machine != EM_X86_64)
        return err_set(err, ERR_INVALID, 0, "the kernel is not for x86-64");
    if (e.e_phentsize != sizeof(Elf64_Phdr) || e.e_phnum == 0 || e.e_phnum > 64 || e.e_phoff > len ||
        (size_t)e.e_phnum * sizeof(Elf64_Phdr) > len - e.e_phoff)
        return err_set(err, ERR_INVALID, 0, "the kernel's ELF header is damaged");
    *ret_is_pvh = false;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, data + e.e_phoff + i * sizeof(p), sizeof(p));
        if (p.p_offset > len || p.p_filesz > len - p.p_offset)
            return err_set(err, ERR_INVALID, 0, "the kernel is cut off: part %u ends after the file", i);
        if (p.p_type == PT_NOTE)
            *ret_is_pvh |= has_pvh_note(data + p.p_offset, p.p_filesz);
    }
    return 0;
}

struct view {
    uint8_t *data;
    size_t len;
};

static void view_done(struct view *v)
{
    if (v->data)
        (void)munmap(v->data, v->len); /* our own mapping */
}

static int view_open(int fd, size_t max, struct view *ret, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return err_set(err, ERR_INVALID, 0, "the kernel is not a file, or is empty");
    if ((uint64_t)st.st_size > max)
        return err_set(err, ERR_TOO_LARGE, 0, "the kernel is larger than %zu MiB", max >> 20);
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return err_sys(err, -errno, "map the kernel");
    *ret = (struct view){ .data = data, .len = (size_t)st.st_size };
    return 0;
}

int bzimage_to_elf(int from, int out, char version[64], struct err *err)
{
    CLEANUP(view_done) struct view v = { 0 };
    struct bzimage b = { 0 };
    int r = view_open(from, BZIMAGE_ELF_MAX, &v, err);
    if (r < 0)
        return r;
    if (bzimage_is_elf(v.data, v.len)) {
        r = write_all_write(out, v.data, v.len);
        r = r < 0 ? err_sys(err, r, "copy the kernel") : 0;
    } else {
        r = bzimage_parse(v.data, v.len, &b, err);
        if (r >= 0)
            r = inflate_stream(v.data + b.at, b.len, out, BZIMAGE_ELF_MAX, "the kernel", err);
    }
    CLEANUP(view_done) struct view written = { 0 };
    bool is_pvh = false;
    if (r >= 0)
        r = view_open(out, BZIMAGE_ELF_MAX, &written, err);
    if (r >= 0)
        r = bzimage_check_elf(written.data, written.len, &is_pvh, err);
    if (r >= 0 && !is_pvh)
        r = err_set(err, ERR_INVALID, 0, "the kernel has no PVH entry: it was built without CONFIG_PVH");
    if (r >= 0)
        memcpy(version, b.version, sizeof(b.version));
    return r;
}
