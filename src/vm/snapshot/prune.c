/* Clients choose sizes, and every size is a template: only the most recently used ones are kept. A read-only drive
 * is kept while a VM, also a halted one, a template or a snapshot uses it. Of a drive with the host's /usr, which has
 * gigabytes, only the current one is kept besides: of a former one nothing new is made, so its templates are removed,
 * too. Running VMs have their files open, so a removal only affects the next create, which makes the file again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "os/host_usr.h"
#include "vm/boot/base_image.h"
#include "vm/vm_core.h"

#define TEMPLATES_KEPT 16
#define BASES_KEPT     16 /* unused ones, for images that are used again */
#define ENTRIES_MAX    4096

struct entry {
    char *path;
    int64_t used_ns;
};

static int by_use(const void *a, const void *b)
{
    int64_t x = ((const struct entry *)a)->used_ns, y = ((const struct entry *)b)->used_ns;
    return x > y ? -1 : x < y;
}

/* Everything in a folder whose name has that ending, most recently used first. */
static struct entry *entries_list(const char *dir, const char *ending, size_t *ret_n)
{
    struct entry *all = xzalloc(ENTRIES_MAX * sizeof(*all));
    DIR *d = opendir(dir);
    size_t n = 0, len = strlen(ending);
    for (struct dirent *e; d && n < ENTRIES_MAX && (e = readdir(d));) {
        struct stat st;
        size_t has = strlen(e->d_name);
        if (*e->d_name == '.' || has < len || strcmp(e->d_name + has - len, ending) != 0 ||
            (has > 4 && strcmp(e->d_name + has - 4, ".new") == 0) ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        all[n++] = (struct entry){ .path = xasprintf("%s/%s", dir, e->d_name),
                                   .used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec };
    }
    if (d)
        (void)closedir(d);
    qsort(all, n, sizeof(*all), by_use);
    *ret_n = n;
    return all;
}

static void list_free(struct entry *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(all[i].path);
    free(all);
}

/* The drive that the saved VM in a folder uses; "": there is none. */
static void base_of(const char *folder, char ret[VM_KIT_HEX])
{
    struct vm_image image = { 0 };
    *ret = '\0';
    if (vm_image_file_load(folder, &image, NULL) == 0)
        memcpy(ret, image.base, sizeof(image.base));
    vm_image_file_done(&image);
}

/* Adds the drives that templates use to keys, and removes those templates that nobody will use. */
static void prune_templates(struct vm *vm, const char *usr, char ***keys)
{
    CLEANUP(free_p) char *dir = xasprintf("%s/templates", vm->site.dir);
    size_t n;
    struct entry *all = entries_list(dir, "", &n);
    for (size_t i = 0; i < n; i++) {
        char base[VM_KIT_HEX];
        base_of(all[i].path, base);
        bool is_kept =
            (i < TEMPLATES_KEPT && !vm_base_image_is_stale(base, usr)) || vm_is_restoring_from(vm, all[i].path);
        if (!is_kept)
            vm_image_file_remove_later(vm, all[i].path);
        else if (*base)
            strlist_add(keys, base);
    }
    list_free(all, n);
}

static void add_snapshots(const struct vm *vm, char ***keys)
{
    CLEANUP(free_p) char *dir = xasprintf("%s/snaps", vm->site.dir);
    size_t n;
    struct entry *all = entries_list(dir, "", &n);
    for (size_t i = 0; i < n; i++) {
        char base[VM_KIT_HEX];
        base_of(all[i].path, base);
        if (*base)
            strlist_add(keys, base);
    }
    list_free(all, n);
}

void vm_prune_run(struct vm *vm)
{
    CLEANUP(strlist_free_p) char **keys = NULL;
    CLEANUP(free_p) char *bases = xasprintf("%s/bases", vm->site.dir);
    char usr[DIGEST_HEX];
    size_t n, unused = 0;
    const char *name;
    json_t *base;
    host_usr_key(HOST_USR, usr);
    prune_templates(vm, usr, &keys);
    add_snapshots(vm, &keys);
    for (const struct box *b = vm->boxes; b; b = b->next)
        if (*b->base)
            strlist_add(&keys, b->base);
    json_object_foreach(vm->halted, name, base) if (json_string_length(base))
        strlist_add(&keys, json_string_value(base));
    vm_source_add_bases(vm, &keys);
    struct entry *all = entries_list(bases, ".erofs", &n);
    for (size_t i = 0; i < n; i++) {
        size_t user = 0;
        while (keys && keys[user] && !strstr(all[i].path, keys[user]))
            user++;
        bool is_used = keys && keys[user];
        bool is_stale = vm_base_image_is_stale(strrchr(all[i].path, '/') + 1, usr);
        if (!is_used && (is_stale || ++unused > BASES_KEPT))
            (void)unlink(all[i].path); /* gone already is fine */
    }
    list_free(all, n);
    all = entries_list(bases, ".ext4", &n); /* empty drives are only copied, so none is in use */
    for (size_t i = BASES_KEPT; i < n; i++)
        (void)unlink(all[i].path);
    list_free(all, n);
}
