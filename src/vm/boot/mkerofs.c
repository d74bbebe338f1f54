#include "vm/boot/mkerofs.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Two blocks: the superblock with the root's inode, and the root's two entries. Every field that is not set is zero:
 * no feature, no checksum, no extended attribute. */
#define BLOCK_BITS 12
#define BLOCK      (1u << BLOCK_BITS)
#define SUPER_AT   1024u
#define MAGIC      0xe0f5e1e2u
#define NID_SIZE   32u
#define ROOT_NID   36u /* behind the superblock */
#define ENTRIES    2u
#define TYPE_DIR   2u

struct __attribute__((packed)) super {
    uint32_t magic, checksum, feature_compat;
    uint8_t block_bits, ext_slots;
    uint16_t root_nid;
    uint64_t inodes, build_s;
    uint32_t build_ns, blocks, meta_block, xattr_block;
    uint8_t rest[80];
};

struct __attribute__((packed)) inode { /* the compact form, with its data in separate blocks */
    uint16_t format, xattr_count, mode, links;
    uint32_t size, reserved, block, number;
    uint16_t uid, gid;
    uint32_t reserved2;
};

struct __attribute__((packed)) entry {
    uint64_t nid;
    uint16_t name_at;
    uint8_t type, reserved;
};

_Static_assert(sizeof(struct super) == 128 && sizeof(struct inode) == NID_SIZE && sizeof(struct entry) == 12,
               "as the kernel has them");
_Static_assert(ROOT_NID *NID_SIZE >= SUPER_AT + sizeof(struct super) && MKEROFS_BYTES == 2 * BLOCK, "they fit");

int mkerofs_empty(int fd)
{
    static const char names[] = "...";
    uint8_t image[MKEROFS_BYTES] = { 0 };
    const uint16_t names_at = ENTRIES * sizeof(struct entry);
    const struct super super = { .magic = htole32(MAGIC),
                                 .block_bits = BLOCK_BITS,
                                 .root_nid = htole16(ROOT_NID),
                                 .inodes = htole64(1),
                                 .blocks = htole32(MKEROFS_BYTES / BLOCK) };
    const struct inode root = { .mode = htole16(S_IFDIR | 0755),
                                .links = htole16(2),
                                .size = htole32(names_at + sizeof(names) - 1),
                                .block = htole32(1),
                                .number = htole32(1) };
    const struct entry entries[ENTRIES] = {
        { .nid = htole64(ROOT_NID), .name_at = htole16(names_at), .type = TYPE_DIR },
        { .nid = htole64(ROOT_NID), .name_at = htole16(names_at + 1), .type = TYPE_DIR },
    };
    memcpy(image + SUPER_AT, &super, sizeof(super));
    memcpy(image + (size_t)ROOT_NID * NID_SIZE, &root, sizeof(root));
    memcpy(image + BLOCK, entries, sizeof(entries));
    memcpy(image + BLOCK + names_at, names, sizeof(names) - 1);
    ssize_t n = pwrite(fd, image, sizeof(image), 0);
    return n == (ssize_t)sizeof(image) ? 0 : n < 0 ? -errno : -EIO;
}
