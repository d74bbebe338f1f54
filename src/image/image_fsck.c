/* Checks everything the store holds and reports inconsistencies. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/image.h"
#include "image/layer_tree.h"
#include "image/layout.h"
#include "image/record.h"

struct check {
    struct image_store *store;
    bool is_repair;
    json_t *problems;
    json_t *used; /* {layer: true} */
    json_int_t records, layers, partial;
    int passing; /* error that prevented a check, which says nothing about the checked object; 0: none */
};

/* An error of the disk, of memory or of descriptors is not damage. After one nothing is repaired, because what could
 * not be read may need what looks unused. */
static bool is_passing(struct check *c, int sys)
{
    static const int passing[] = { EIO, ENOMEM, EMFILE, ENFILE, EINTR, EACCES, EPERM, EAGAIN };
    sys = sys < 0 ? -sys : sys;
    for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
        if (sys == passing[i]) {
            c->passing = sys;
            c->is_repair = false;
            return true;
        }
    return false;
}

PRINTF_LIKE(2, 3) static void complain(struct check *c, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    (void)json_array_append_new(c->problems, json_text(text, strlen(text)));
}

typedef void each_fn(struct check *c, const char *name);

static int each_entry(struct check *c, int dir_fd, const char *what, each_fn *fn, struct err *err)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_set(err, ERR_INTERNAL, errno, "read %s/%s", c->store->dir, what);
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (e->d_name[0] != '.')
            fn(c, e->d_name);
    closedir(d);
    return 0;
}

static bool use_layers(struct check *c, const json_t *doc, const char *owner)
{
    const json_t *layers = json_get(doc, "layers");
    bool is_whole = json_is_array(layers);
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *hex = json_get_str(json_array_get(layers, i), "digest", "");
        struct stat st;
        (void)json_object_set_new(c->used, hex, json_true());
        if (digest_is_hex(hex) && fstatat(c->store->layers_fd, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(st.st_mode))
            continue;
        if (digest_is_hex(hex) && is_passing(c, errno))
            continue;
        complain(c, "%s: layer %.64s is missing", owner, hex);
        is_whole = false;
    }
    return is_whole;
}

static void check_record(struct check *c, const char *file)
{
    JSON_OWNED record = NULL;
    CLEANUP(image_free_p) struct image *image = NULL;
    struct err err = ERR_INIT;
    char expected[RECORD_FILE];
    c->records++;
    bool is_sound = layout_read_json(c->store->images_fd, file, &record, &err) == 0;
    const char *name = json_get_str(record, "name", "");
    CLEANUP(free_p) char *what = xasprintf("image %s", name);
    record_file_of(record, expected);
    if (!is_sound) {
        (void)is_passing(c, err.sys);
        complain(c, "images/%s: %s", file, err.msg);
    } else if (strcmp(expected, file) != 0) {
        complain(c, "images/%s: the record is of \"%.200s\", whose place is another", file, name);
        is_sound = false;
    } else {
        is_sound = use_layers(c, record, what);
        if (is_sound && record_to_image(c->store, record, name, &image, &err) < 0) {
            (void)is_passing(c, err.sys);
            complain(c, "%s: %s", what, err.msg);
            is_sound = false;
        }
    }
    if (!is_sound && c->is_repair)
        (void)unlinkat(c->store->images_fd, file, 0); /* on failure the reported problem still names it */
}

static void check_pin(struct check *c, const char *owner)
{
    JSON_OWNED pin = NULL;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *what = xasprintf("pin of %s", owner);
    if (layout_read_json(c->store->pins_fd, owner, &pin, &err) < 0) {
        (void)is_passing(c, err.sys);
        complain(c, "pins/%s: %s", owner, err.msg);
    } else {
        (void)use_layers(c, pin, what);
    }
}

static void check_layer(struct check *c, const char *name)
{
    c->layers++;
    if (digest_is_hex(name) && json_object_get(c->used, name))
        return;
    complain(c, "layers/%s: %s", name, digest_is_hex(name) ? "belongs to no image" : "is not a layer");
    if (c->is_repair)
        (void)layer_tree_remove_at(c->store->layers_fd, name); /* on failure the reported problem still names it */
}

/* A folder whose lock is free has no owner; opening the store has removed such folders before us. */
static void check_tmp(struct check *c, const char *name)
{
    CLEANUP(close_fd_p) int fd = openat(c->store->tmp_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0)
        complain(c, "tmp/%s: left by a process that is gone", name);
}

static void check_partial(struct check *c, const char *name)
{
    c->partial++;
    if (!digest_is_hex(name))
        complain(c, "partial/%s: is not part of a blob", name);
}

int image_fsck(struct image_store *s, bool is_repair, json_t **ret, struct err *err)
{
    JSON_OWNED problems = json_array();
    JSON_OWNED used = json_object();
    JSON_OWNED host = NULL;
    struct check c = { .store = s, .is_repair = is_repair, .problems = problems, .used = used };
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    int r = each_entry(&c, s->images_fd, "images", check_record, err);
    if (r == 0)
        r = each_entry(&c, s->pins_fd, "pins", check_pin, err);
    struct err unread = ERR_INIT;
    if (r == 0 && layout_read_json(s->dir_fd, "host.json", &host, &unread) == 0)
        (void)use_layers(&c, host, "host view");
    else if (r == 0)
        (void)is_passing(&c, unread.sys);
    if (r == 0)
        r = each_entry(&c, s->layers_fd, "layers", check_layer, err);
    if (r == 0)
        r = each_entry(&c, s->tmp_fd, "tmp", check_tmp, err);
    if (r == 0)
        r = each_entry(&c, s->partial_fd, "partial", check_partial, err);
    if (r == 0 && c.passing)
        r = err_set(err, ERR_INTERNAL, c.passing, "image store %s: not all of it could be looked at", s->dir);
    if (r == 0)
        *ret = json_pack("{s:I, s:I, s:I, s:O}", "records", c.records, "layers", c.layers, "partial", c.partial,
                         "problems", problems);
    return r;
}
