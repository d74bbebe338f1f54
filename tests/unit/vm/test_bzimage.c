/* Kernel images that are whole, cut, lying or packed in one way or the other. */
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/inflate.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "os/program.h"
#include "tap.h"
#include "vm/boot/bzimage.h"
#include "vmfixture.h"

static uint8_t elf[1024], image[16384];

static int memory(const void *data, size_t len)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
    return fd;
}

/* What comes out is the ELF that went in. */
static void check_unpacks(size_t image_len, size_t elf_len)
{
    uint8_t back[sizeof(elf) + 1];
    char version[64];
    struct err err = ERR_INIT;
    CLEANUP(close_fd_p) int from = memory(image, image_len);
    CLEANUP(close_fd_p) int out = memory("", 0);
    int r = bzimage_to_elf(from, out, version, &err);
    if (r < 0)
        printf("# %s\n", err.msg);
    CHECK_INT(r, 0);
    CHECK_INT(pread(out, back, sizeof(back), 0), elf_len);
    CHECK(memcmp(back, elf, elf_len) == 0);
}

TEST(lz4)
{
    uint8_t packed[1024];
    struct err err = ERR_INIT;
    struct bzimage b;
    size_t n = vmfixture_vmlinux(elf, 18), len = vmfixture_bzimage(image, packed, vmfixture_lz4(packed, elf, n));
    CHECK_INT(bzimage_parse(image, len, &b, &err), 0);
    CHECK_STR(b.version, VMFIXTURE_VERSION);
    CHECK_INT(b.at, 5 * 512 + 64);
    CHECK_INT(b.len, n + 10);
    check_unpacks(len, n);
}

static bool pack(const char *const *argv, struct buf *ret)
{
    char path[PROGRAM_PATH_MAX];
    struct err err = ERR_INIT;
    size_t n = vmfixture_vmlinux(elf, 18);
    CLEANUP(close_fd_p) int fd = memory(elf, n);
    const struct program_call call = {
        .argv = argv, .package = argv[0], .cwd = NO_FD, .fd = fd, .limit_ms = 30000, .out = ret
    };
    if (!program_find(argv[0], path))
        return false;
    CHECK_INT(program_run(&call, &err), 0);
    return true;
}

TEST(other_packers)
{
    static const char *const ways[][5] = { { "gzip", "-cf", "/proc/self/fd/3" },
                                           { "xz", "-cf", "--check=crc32", "/proc/self/fd/3" },
                                           { "zstd", "-qcf", "/proc/self/fd/3" } };
    int tried = 0;
    for (size_t i = 0; i < 3; i++) {
        CLEANUP(buf_done) struct buf packed = BUF_INIT(4096);
        if (!pack(ways[i], &packed))
            continue;
        tried++;
        size_t len = vmfixture_bzimage(image, packed.data, packed.len);
        if (i == 0) { /* gzip's stream ends with its length: nothing follows it */
            uint32_t length = (uint32_t)packed.len;
            memcpy(image + 0x24c, &length, 4);
        }
        check_unpacks(len, vmfixture_vmlinux(elf, 18));
    }
    CHECK(tried > 0);
}

TEST(elf_as_it_is)
{
    char version[64] = "?";
    struct err err = ERR_INIT;
    size_t n = vmfixture_vmlinux(elf, 18);
    CLEANUP(close_fd_p) int from = memory(elf, n);
    CLEANUP(close_fd_p) int out = memory("", 0);
    CHECK_INT(bzimage_to_elf(from, out, version, &err), 0);
    CHECK_STR(version, "");
}

TEST(no_pvh)
{
    char version[64];
    struct err err = ERR_INIT;
    size_t n = vmfixture_vmlinux(elf, 17);
    CLEANUP(close_fd_p) int from = memory(elf, n);
    CLEANUP(close_fd_p) int out = memory("", 0);
    CHECK(bzimage_to_elf(from, out, version, &err) == -EINVAL);
    CHECK(strstr(err.msg, "CONFIG_PVH"));
}

static void put32(size_t at, uint32_t value)
{
    memcpy(image + at, &value, sizeof(value));
}

TEST(lies)
{
    uint8_t packed[1024];
    struct err err = ERR_INIT;
    struct bzimage b;
    size_t n = vmfixture_vmlinux(elf, 18), len = vmfixture_bzimage(image, packed, vmfixture_lz4(packed, elf, n));
    const struct {
        size_t at;
        uint32_t value;
    } wrong[] = { { 0x248, 0xffffffff }, { 0x248, (uint32_t)len }, { 0x24c, 0xffffffff },
                  { 0x24c, 0 },          { 0x24c, (uint32_t)len }, { 0x202, 0 },
                  { 0x206, 0x01 },       { 0x206, 0x207 } };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        (void)vmfixture_bzimage(image, packed, n + 10);
        put32(wrong[i].at, wrong[i].value);
        CHECK(bzimage_parse(image, len, &b, &err) == -EINVAL);
    }
    (void)vmfixture_bzimage(image, packed, n + 10);
    image[0x1f1] = 255; /* the setup part would be longer than the file */
    CHECK(bzimage_parse(image, len, &b, &err) == -EINVAL);
    (void)vmfixture_bzimage(image, packed, n + 10);
    for (size_t cut = 0; cut < len; cut += 7)
        CHECK(bzimage_parse(image, cut, &b, &err) == -EINVAL);
    image[0x600] = '/'; /* it would become a folder's name */
    CHECK_INT(bzimage_parse(image, len, &b, &err), 0);
    CHECK_STR(b.version, "");
}

TEST(nothing_is_read_beyond_the_end)
{
    uint8_t packed[1024];
    struct err err = ERR_INIT;
    struct bzimage b;
    bool is_pvh;
    size_t n = vmfixture_vmlinux(elf, 18), len = vmfixture_bzimage(image, packed, vmfixture_lz4(packed, elf, n));
    for (size_t cut = 0; cut < len; cut++)
        CHECK(bzimage_parse(vmfixture_guarded(image, cut), cut, &b, &err) == -EINVAL);
    size_t needed =
        sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 20; /* with the note; then comes a text that no header names */
    for (size_t cut = 0; cut < needed; cut++)
        CHECK(bzimage_check_elf(vmfixture_guarded(elf, cut), cut, &is_pvh, &err) == -EINVAL);
    CHECK_INT(bzimage_check_elf(vmfixture_guarded(elf, needed), needed, &is_pvh, &err), 0);
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)elf;
    e->e_phoff = n + 1;
    CHECK(bzimage_check_elf(vmfixture_guarded(elf, n), n, &is_pvh, &err) == -EINVAL);
}

/* It names a folder. */
TEST(a_version_is_text_of_the_setup_part)
{
    uint8_t packed[1024];
    struct err err = ERR_INIT;
    struct bzimage b;
    size_t n = vmfixture_vmlinux(elf, 18), len = vmfixture_bzimage(image, packed, vmfixture_lz4(packed, elf, n));
    memcpy(image + 0x600, "..", 3);
    CHECK_INT(bzimage_parse(image, len, &b, &err), 0);
    CHECK_STR(b.version, "");
    (void)vmfixture_bzimage(image, packed, n + 10);
    memcpy(image + 0x20e, "\x14", 2); /* into the header */
    memcpy(image + 0x214, "6.1", 4);
    CHECK_INT(bzimage_parse(image, len, &b, &err), 0);
    CHECK_STR(b.version, "");
}

TEST(bombs_and_rubbish)
{
    struct err err = ERR_INIT;
    uint8_t packed[512];
    CLEANUP(close_fd_p) int out = memory("", 0);
    size_t n = vmfixture_lz4(packed, elf, 200);
    CHECK(inflate_stream(packed, n, out, 199, "it", &err) == -E2BIG);
    CHECK(inflate_stream(packed, n - 50, out, 4096, "it", &err) < 0);
    CHECK(inflate_stream("no stream of any kind", 21, out, 4096, "it", &err) == -EINVAL);
    CHECK(strstr(err.msg, "unknown compression"));
}

TEST(hostile_elf)
{
    struct err err = ERR_INIT;
    bool is_pvh = false;
    size_t n = vmfixture_vmlinux(elf, 18);
    Elf64_Ehdr *e = (Elf64_Ehdr *)(void *)elf;
    Elf64_Phdr *p = (Elf64_Phdr *)(void *)(elf + sizeof(*e));
    e->e_phoff = UINT64_MAX - 8;
    CHECK(bzimage_check_elf(elf, n, &is_pvh, &err) == -EINVAL);
    (void)vmfixture_vmlinux(elf, 18);
    p->p_offset = UINT64_MAX - 3;
    p->p_filesz = 0;
    CHECK(bzimage_check_elf(elf, n, &is_pvh, &err) == -EINVAL);
    (void)vmfixture_vmlinux(elf, 18);
    p->p_filesz = UINT64_MAX;
    CHECK(bzimage_check_elf(elf, n, &is_pvh, &err) == -EINVAL);
    (void)vmfixture_vmlinux(elf, 18);
    memset(elf + sizeof(*e) + sizeof(*p), 0xff, 8); /* lengths of the note */
    CHECK_INT(bzimage_check_elf(elf, n, &is_pvh, &err), 0);
    CHECK(!is_pvh);
    e->e_machine = EM_AARCH64;
    CHECK(bzimage_check_elf(elf, n, &is_pvh, &err) == -EINVAL);
}

int main(void)
{
    RUN(lz4);
    RUN(other_packers);
    RUN(elf_as_it_is);
    RUN(no_pvh);
    RUN(lies);
    RUN(nothing_is_read_beyond_the_end);
    RUN(a_version_is_text_of_the_setup_part);
    RUN(bombs_and_rubbish);
    RUN(hostile_elf);
    return tap_done();
}
