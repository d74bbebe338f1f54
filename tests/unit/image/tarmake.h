/* Test archives: a tar written header by header, so that it can also be wrong on purpose, and docker-save and OCI
 * archives made of such layers. Included by the tests of the room image/ only. */
#pragma once
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/digest.h"
#include "image/layer_tree.h"

#define TAR_MAX (64u << 20)

static char test_folder[] = "/tmp/test_image.XXXXXX";

struct tar_entry {
    const char *name;
    char type; /* '0' file, '1' hard link, '2' link, '3' char, '4' block, '5' folder, '6' FIFO */
    const char *text, *link;
    unsigned mode, uid;
};

static inline void tar_add_sized(struct buf *b, const struct tar_entry *e, const void *data, size_t len)
{
    char h[512] = { 0 };
    (void)snprintf(h, 100, "%s", e->name);
    (void)snprintf(h + 100, 8, "%07o", (e->mode ? e->mode : 0644) & 07777);
    (void)snprintf(h + 108, 8, "%07o", e->uid & 07777777);
    (void)snprintf(h + 116, 8, "%07o", e->uid & 07777777);
    (void)snprintf(h + 124, 12, "%011llo", (unsigned long long)len & 077777777777);
    (void)snprintf(h + 136, 12, "%011o", 1700000000u);
    memset(h + 148, ' ', 8);
    h[156] = e->type;
    if (e->link)
        (void)snprintf(h + 157, 100, "%s", e->link);
    memcpy(h + 257, "ustar\00000", 8);
    (void)snprintf(h + 329, 8, "%07o", 1u);
    (void)snprintf(h + 337, 8, "%07o", 3u);
    unsigned sum = 0;
    for (int i = 0; i < 512; i++)
        sum += (unsigned char)h[i];
    (void)snprintf(h + 148, 8, "%06o", sum);
    (void)buf_add(b, h, sizeof(h));
    (void)buf_add(b, data, len);
    static const char zeros[512];
    (void)buf_add(b, zeros, (512 - len % 512) % 512);
}

static inline void tar_add(struct buf *b, const struct tar_entry *e)
{
    tar_add_sized(b, e, e->text ? e->text : "", e->text ? strlen(e->text) : 0);
}

static inline void tar_end(struct buf *b)
{
    static const char zeros[1024];
    (void)buf_add(b, zeros, sizeof(zeros));
}

/* One pax record "len key=value\n" before the next entry. */
static inline void tar_add_pax(struct buf *b, const char *key, const char *value)
{
    size_t len = strlen(key) + strlen(value) + 3, total = len + 1;
    char digits[24];
    while (total != len + (size_t)snprintf(digits, sizeof(digits), "%zu", total))
        total = len + strlen(digits);
    struct buf text = BUF_INIT(1 << 20);
    (void)buf_addf(&text, "%zu %s=%s\n", total, key, value);
    tar_add_sized(b, &(struct tar_entry){ .name = "pax", .type = 'x' }, text.data, text.len);
    buf_done(&text);
}

static inline void tar_of(struct buf *b, const struct tar_entry *list)
{
    for (; list->name; list++)
        tar_add(b, list);
    tar_end(b);
}

static inline char *save_bytes(const char *name, const void *data, size_t len)
{
    char *path = xasprintf("%s/%s", test_folder, name);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
        abort();
    return path;
}

static inline void remove_test_folder(void)
{
    (void)layer_tree_remove_at(AT_FDCWD, test_folder); /* copes with folders whose mode keeps even their owner out */
}

static inline char *read_text_file(const char *folder, const char *name)
{
    char *path = xasprintf("%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    char *text = xzalloc(4097);
    if (!f) {
        free(path);
        free(text);
        return NULL;
    }
    (void)!fread(text, 1, 4096, f);
    (void)fclose(f);
    free(path);
    return text;
}

static inline int count_folder(const char *folder, const char *name)
{
    char *command = xasprintf("exit $(ls -A %s/%s | wc -l)", folder, name);
    int status = system(command);
    free(command);
    return WEXITSTATUS(status);
}
