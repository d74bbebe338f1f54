/* The disk cap: removes pulled images that nothing uses, least recently used first. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/image.h"
#include "image/layout.h"
#include "image/record.h"

struct candidate {
    char *name, *tenant;
    struct timespec used;
};

struct census {
    struct image_store *store;
    const char *keep;
    json_t *counted; /* {layer: true} of all images */
    int64_t bytes;   /* of these */
    json_t *pinned;  /* {layer: true} */
    struct candidate *items;
    size_t n;
};

static bool count_one(void *arg, json_t *record)
{
    struct census *c = arg;
    const json_t *layers = json_get(record, "layers");
    const char *name = json_get_str(record, "name", "");
    const char *hex = "";
    for (size_t i = 0; i < json_array_size(layers); i++) {
        hex = json_get_str(json_array_get(layers, i), "digest", "");
        if (json_object_get(c->counted, hex))
            continue;
        (void)json_object_set_new(c->counted, hex, json_true());
        c->bytes += json_get_int(json_array_get(layers, i), "size", 0);
    }
    if (strcmp(json_get_str(record, "source", ""), "oci") != 0 || (c->keep && strcmp(c->keep, name) == 0) ||
        json_get(c->pinned, hex)) /* a sandbox of this image has its top layer pinned */
        return true;
    char file[RECORD_FILE];
    struct stat st;
    record_file_of(record, file);
    if (fstatat(c->store->images_fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        c->items = xrealloc(c->items, (c->n + 1) * sizeof(*c->items));
        c->items[c->n++] = (struct candidate){ .name = xstrdup(name),
                                               .tenant = xstrdup(json_get_str(record, "tenant", "")),
                                               .used = st.st_mtim };
    }
    return true;
}

static void note_pins(struct image_store *s, json_t *pinned)
{
    int fd = openat(s->pins_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        JSON_OWNED pin = NULL;
        if (e->d_name[0] == '.' || layout_read_json(s->pins_fd, e->d_name, &pin, NULL) < 0)
            continue;
        const json_t *layers = json_get(pin, "layers");
        for (size_t i = 0; i < json_array_size(layers); i++)
            (void)json_object_set_new(pinned, json_get_str(json_array_get(layers, i), "digest", ""), json_true());
    }
    closedir(d);
}

static int older_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct candidate *)a)->used, *y = &((const struct candidate *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static int take_census(struct census *c, struct err *err)
{
    CLEANUP(close_fd_p) int lock = layout_lock(c->store, LOCK_SH, err);
    if (lock < 0)
        return lock;
    note_pins(c->store, c->pinned);
    record_each(c->store, count_one, c);
    if (c->n)
        qsort(c->items, c->n, sizeof(*c->items), older_first);
    return 0;
}

static void census_done(struct census *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->items[i].name);
        free(c->items[i].tenant);
    }
    free(c->items);
    json_decref(c->counted);
    json_decref(c->pinned);
}

int image_evict(struct image_store *s, int64_t max_bytes, const char *keep, size_t *ret_removed, struct err *err)
{
    size_t removed = 0;
    int r = 0;
    /* One at a time: the space an image's layers free depends on the others. */
    for (bool is_over = true; is_over && r == 0;) {
        CLEANUP(census_done)
        struct census c = { .store = s, .keep = keep, .counted = json_object(), .pinned = json_object() };
        r = take_census(&c, err);
        is_over = r == 0 && c.bytes > max_bytes && c.n > 0;
        if (is_over)
            r = image_remove(s, &(struct image_scope){ .tenant = c.items[0].tenant }, c.items[0].name, err);
        if (r == -ENOENT)
            r = 0; /* another process removed it first */
        removed += is_over && r == 0;
    }
    if (r == 0 && ret_removed)
        *ret_removed = removed;
    return r;
}
