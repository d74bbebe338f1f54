/* Kernels and modules small enough for a test: the parts of them that are looked at, and nothing that runs. */
#pragma once
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define VMFIXTURE_VERSION "9.9.9-test-cloud-amd64"

/* An x86-64 ELF with one note, and the text that names its version. Returns its length. */
static inline size_t vmfixture_vmlinux(uint8_t *out, uint32_t note_type)
{
    static const char text[] = "Linux version " VMFIXTURE_VERSION " (somebody)";
    Elf64_Ehdr e = { .e_machine = EM_X86_64, .e_phoff = sizeof(e), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1 };
    Elf64_Phdr p = { .p_type = PT_NOTE, .p_offset = sizeof(e) + sizeof(p), .p_filesz = 12 + 4 + 4 };
    uint32_t note[5] = { 4, 4, note_type, 0, 0x1000000 };
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    e.e_ident[EI_DATA] = ELFDATA2LSB;
    memcpy(&note[3], "Xen", 4);
    memcpy(out, &e, sizeof(e));
    memcpy(out + sizeof(e), &p, sizeof(p));
    memcpy(out + sizeof(e) + sizeof(p), note, sizeof(note));
    memcpy(out + sizeof(e) + sizeof(p) + sizeof(note), text, sizeof(text));
    return sizeof(e) + sizeof(p) + sizeof(note) + sizeof(text);
}

/* A bzImage around a compressed stream, with the four bytes that follow one. */
static inline size_t vmfixture_bzimage(uint8_t *out, const void *stream, size_t len)
{
    const size_t setup = 5 * 512, at = 64;
    uint32_t offset = at, length = (uint32_t)len + 4;
    memset(out, 0, setup + at + len + 4);
    out[0x1f1] = 4;
    out[0x1fe] = 0x55;
    out[0x1ff] = 0xaa;
    memcpy(out + 0x202, "HdrS", 4);
    out[0x206] = 0x0f;
    out[0x207] = 0x02;
    out[0x20f] = 0x04; /* version text at 0x400 + 0x200 */
    memcpy(out + 0x600, VMFIXTURE_VERSION " (somebody)", sizeof(VMFIXTURE_VERSION " (somebody)"));
    memcpy(out + 0x248, &offset, 4);
    memcpy(out + 0x24c, &length, 4);
    memcpy(out + setup + at, stream, len);
    return setup + at + len + 4;
}

/* The kernel's kind of LZ4, one block of nothing but literals; len in 15..269. */
static inline size_t vmfixture_lz4(uint8_t *out, const uint8_t *data, size_t len)
{
    uint32_t magic = 0x184c2102, block = (uint32_t)len + 2;
    memcpy(out, &magic, 4);
    memcpy(out + 4, &block, 4);
    out[8] = 0xf0;
    out[9] = (uint8_t)(len - 15);
    memcpy(out + 10, data, len);
    return len + 10;
}

/* A module that says what it needs ("a,b"). */
static inline size_t vmfixture_module(uint8_t *out, const char *depends)
{
    static const char names[] = "\0.modinfo\0.shstrtab";
    char info[128];
    size_t n = 0;
    memcpy(info, "license=GPL", 12);
    n = 12;
    memcpy(info + n, "depends=", 8);
    memcpy(info + n + 8, depends, strlen(depends) + 1);
    n += 8 + strlen(depends) + 1;
    Elf64_Ehdr e = { .e_shoff = sizeof(e), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 2 };
    Elf64_Shdr s[3] = {
        { 0 },
        { .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(e) + sizeof(s), .sh_size = n },
        { .sh_name = 10, .sh_type = SHT_STRTAB, .sh_offset = sizeof(e) + sizeof(s) + n, .sh_size = sizeof(names) }
    };
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    memcpy(out, &e, sizeof(e));
    memcpy(out + sizeof(e), s, sizeof(s));
    memcpy(out + sizeof(e) + sizeof(s), info, n);
    memcpy(out + sizeof(e) + sizeof(s) + n, names, sizeof(names));
    return sizeof(e) + sizeof(s) + n + sizeof(names);
}

#define VMFIXTURE_GUARDED_MAX 16384
/* A copy whose end is the end of what may be read; good until the next. */
static inline const uint8_t *vmfixture_guarded(const uint8_t *data, size_t len)
{
    static uint8_t *pages;
    if (!pages) {
        pages = mmap(NULL, VMFIXTURE_GUARDED_MAX + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + VMFIXTURE_GUARDED_MAX, 4096, PROT_NONE) < 0)
            abort();
    }
    uint8_t *copy = pages + VMFIXTURE_GUARDED_MAX - len;
    memcpy(copy, data, len);
    return copy;
}
