/* The store's folders on disk. struct image_store owns one descriptor for each: layers/, images/, pins/, tmp/,
 * partial/. Layers and records are made in tmp/ (struct layout_tmp, a folder its maker holds flock()ed), flushed and
 * renamed into place under the store's lock, so a killed process leaves nothing but garbage in tmp/. layout_open()
 * removes that garbage and the layers no record names; layout_attach() only reads records and writes pins, for an
 * unprivileged server. layout_collect() marks layers named by records, pins and the host view and moves the rest to a
 * trash folder; the trees are removed after the lock is released. */
#include "image/layout.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/ident.h"
#include "image/layer_tree.h"
#include "os/write_all.h"

#define PARTIAL_KEEP_S (7 * 86400)
#define SHARED_S       60

static int make_path(const char *dir, struct err *err)
{
    CLEANUP(free_p) char *path = xstrdup(dir);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            return err_set(err, err_from_errno(errno), errno, "make %s", path);
        *at = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set(err, err_from_errno(errno), errno, "make %s", path);
    return 0;
}

static int open_sub(struct image_store *s, const char *name, int *ret, struct err *err)
{
    *ret = openat(s->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret < 0)
        return err_set(err, err_from_errno(errno), errno, "open %s/%s", s->dir, name);
    return 0;
}

static int make_sub(struct image_store *s, const char *name, int *ret, struct err *err)
{
    if (mkdirat(s->dir_fd, name, 0700) < 0 && errno != EEXIST)
        return err_set(err, err_from_errno(errno), errno, "make %s/%s", s->dir, name);
    return open_sub(s, name, ret, err);
}

/* Runs under the lock, so that a folder just made and not yet locked by its maker is not mistaken for garbage. True
 * when there was garbage. */
static bool sweep_tmp(struct image_store *s)
{
    bool has_dead = false;
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, NULL);
    int fd = lock < 0 ? -1 : fcntl(s->tmp_fd, F_DUPFD_CLOEXEC, 3);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return false;
    }
    rewinddir(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        CLEANUP(close_fd_p) int made = openat(s->tmp_fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (made >= 0 && flock(made, LOCK_EX | LOCK_NB) < 0)
            continue; /* its maker is alive */
        has_dead = true;
        (void)layer_tree_remove_at(s->tmp_fd, e->d_name); /* on failure the next open tries again */
        char pin[64];
        (void)snprintf(pin, sizeof(pin), LAYOUT_EXPORT_PIN "%.40s", e->d_name);
        (void)unlinkat(s->pins_fd, pin, 0); /* only an export has one */
    }
    closedir(d);
    return has_dead;
}

void layout_sweep_partial(struct image_store *s, bool is_all)
{
    int fd = openat(s->partial_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return;
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct stat st;
        CLEANUP(close_fd_p) int part = openat(s->partial_fd, e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (e->d_name[0] == '.' || part < 0 || fstat(part, &st) < 0 || flock(part, LOCK_EX | LOCK_NB) < 0)
            continue;
        if (is_all || st.st_mtime < time(NULL) - PARTIAL_KEEP_S)
            (void)unlinkat(s->partial_fd, e->d_name, 0); /* on failure the next open tries again */
    }
    closedir(d);
}

static int open_all(struct image_store *s, struct err *err)
{
    s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->dir_fd < 0)
        return err_set(err, err_from_errno(errno), errno, "open %s", s->dir);
    struct stat st;
    if (fstat(s->dir_fd, &st) < 0 || st.st_uid != geteuid())
        return err_set(err, ERR_FORBIDDEN, 0, "%s belongs to another user: use --data-dir or III_DATA_DIR", s->dir);
    /* Layers hold setuid files of any owner: only the store's user may reach them, and the group of an unprivileged
     * server. */
    if (st.st_mode & 07027 && fchmod(s->dir_fd, st.st_mode & 0750) < 0)
        return err_set(err, err_from_errno(errno), errno, "make %s private", s->dir);
    int r = make_sub(s, "images", &s->images_fd, err);
    if (r == 0)
        r = make_sub(s, "layers", &s->layers_fd, err);
    if (r == 0)
        r = make_sub(s, "tmp", &s->tmp_fd, err);
    if (r == 0)
        r = make_sub(s, "pins", &s->pins_fd, err);
    if (r == 0)
        r = make_sub(s, "partial", &s->partial_fd, err);
    return r;
}

static struct image_store *store_new(void)
{
    struct image_store *s = xzalloc(sizeof(*s));
    s->magic = LAYOUT_MAGIC;
    s->dir_fd = s->images_fd = s->layers_fd = s->tmp_fd = s->pins_fd = s->partial_fd = NO_FD;
    s->is_rootless = geteuid() != 0;
    (void)pthread_mutex_init(&s->host_mutex, NULL); /* cannot fail for a plain mutex */
    return s;
}

int layout_attach(const char *dir, struct image_store **ret, struct err *err)
{
    struct image_store *s = store_new();
    s->dir = xstrdup(dir);
    s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = s->dir_fd < 0 ? err_set(err, err_from_errno(errno), errno, "open %s", dir) : 0;
    if (r == 0)
        r = open_sub(s, "images", &s->images_fd, err);
    if (r == 0)
        r = open_sub(s, "layers", &s->layers_fd, err);
    if (r == 0)
        r = open_sub(s, "pins", &s->pins_fd, err);
    if (r < 0)
        (void)layout_close(s);
    else
        *ret = s;
    return r;
}

int layout_open(const char *dir, struct image_store **ret, struct err *err)
{
    struct image_store *s = store_new();
    int r = image_limits_load(&s->limits, err);
    if (r == 0)
        r = make_path(dir, err);
    if (r == 0) {
        s->dir = realpath(dir, NULL); /* layer paths are sent to another process with another working folder */
        r = s->dir ? open_all(s, err) : err_set(err, err_from_errno(errno), errno, "open %s", dir);
    }
    if (r < 0) {
        (void)layout_close(s);
        return r;
    }
    if (sweep_tmp(s))
        (void)layout_collect_now(
            s, NULL); /* the maker may have died between its layers and its record; otherwise tried next time */
    layout_sweep_partial(s, false);
    *ret = s;
    return 0;
}

struct image_store *layout_close(struct image_store *s)
{
    if (!s)
        return NULL;
    assert(s->magic == LAYOUT_MAGIC);
    const int fds[] = { s->dir_fd, s->images_fd, s->layers_fd, s->tmp_fd, s->pins_fd, s->partial_fd };
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        close_fd_p(&fds[i]);
    (void)pthread_mutex_destroy(&s->host_mutex);
    free(s->dir);
    free(s->host_print);
    json_decref(s->host_versions);
    json_decref(s->tenant_bytes);
    s->magic = 0;
    free(s);
    return NULL;
}

int layout_lock(struct image_store *s, int op, struct err *err)
{
    CLEANUP(close_fd_p)
    int fd = openat(s->dir_fd, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW); /* read-only is enough for flock() */
    if (fd < 0 && errno == ENOENT)
        fd = openat(s->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, ERR_INTERNAL, errno, "open %s/lock",
                       s->dir); /* even "not found" is not the client's fault */
    while (flock(fd, op) < 0)
        if (errno != EINTR)
            return err_set(err, err_from_errno(errno), errno, "lock %s", s->dir);
    return steal_fd(&fd);
}

int layout_tmp_new(struct image_store *s, struct layout_tmp *ret, struct err *err)
{
    struct layout_tmp t = { .store = s };
    unsigned char raw[16];
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), t.name);

    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_SH, err);
    if (lock < 0)
        return lock;
    if (mkdirat(s->tmp_fd, t.name, 0700) < 0)
        return err_set(err, err_from_errno(errno), errno, "make %s/tmp/%s", s->dir, t.name);
    t.fd = openat(s->tmp_fd, t.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (t.fd < 0 || flock(t.fd, LOCK_EX | LOCK_NB) < 0) {
        int r = err_set(err, err_from_errno(errno), errno, "lock %s/tmp/%s", s->dir, t.name);
        layout_tmp_done(&t);
        return r;
    }
    *ret = t;
    return 0;
}

void layout_tmp_done(struct layout_tmp *t)
{
    if (!t->store)
        return;
    (void)layer_tree_remove_at(t->store->tmp_fd, t->name); /* on failure the next open removes it */
    close_fd_p(&t->fd);
    t->store = NULL;
}

int layout_write_json(struct image_store *s, int dir_fd, const char *name, const json_t *doc, bool is_durable,
                      struct err *err)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(doc, &len);
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "write %s", name);
    if (len > IMAGE_LIMITS_JSON_BYTES) /* it could not be read again, and a record that cannot be stops collections */
        return err_set(err, ERR_TOO_LARGE, 0,
                       "a record of %zu bytes, at most %d are stored: use fewer or shorter variables, labels and words",
                       len, IMAGE_LIMITS_JSON_BYTES);
    char part[40] = LAYOUT_PART;
    unsigned char raw[16];
    bool is_attached =
        s->tmp_fd <
        0; /* an attached store has no tmp/: use the folder itself, where nothing reads names of this form */
    int work_fd = is_attached ? dir_fd : s->tmp_fd;
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), part + (is_attached ? strlen(LAYOUT_PART) : 0));
    int fd = openat(work_fd, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int r = fd < 0 ? -errno : 0;
    /* When a folder's group is not ours, a server that has dropped root reads it: new files get the same group. */
    struct stat st;
    if (r == 0 && !is_attached && fstat(dir_fd, &st) == 0 && st.st_gid != getegid() &&
        fchown(fd, (uid_t)-1, st.st_gid) == 0)
        (void)fchmod(fd, 0660); /* on failure that server reports that it cannot read the file */
    if (r == 0)
        r = write_all_write(fd, text, len);
    if (r == 0 && is_durable && fsync(fd) < 0)
        r = -errno;
    close_fd_p(&fd);
    if (r == 0 && renameat(work_fd, part, dir_fd, name) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlinkat(work_fd, part, 0); /* the write's own error is the one to report */
        return err_set(err, err_from_errno(-r), -r, "write %s in %s", name, s->dir);
    }
    if (is_durable && fsync(dir_fd) < 0)
        return err_set(err, err_from_errno(errno), errno, "write %s in %s", name, s->dir);
    return 0;
}

int layout_read_json(int dir_fd, const char *name, json_t **ret, struct err *err)
{
    CLEANUP(close_fd_p) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : err_from_errno(errno), errno, "%s", name);
    if (fstat(fd, &st) < 0)
        return err_set(err, err_from_errno(errno), errno, "%s", name);
    if (!S_ISREG(st.st_mode) || st.st_size > IMAGE_LIMITS_JSON_BYTES)
        return err_set(err, ERR_INTERNAL, 0, "%s is not a record of this store", name);
    CLEANUP(free_p) char *text = try_alloc((size_t)st.st_size + 1);
    ssize_t n = text ? read(fd, text, (size_t)st.st_size) : -1;
    if (n != st.st_size)
        return err_set(err, ERR_INTERNAL, text ? EIO : ENOMEM, "read %s", name);
    int r = json_read(text, (size_t)n, ret, err);
    return r < 0 ? err_wrap(err, r, "record %s is damaged", name) : 0;
}

bool layout_has_layer(struct image_store *s, const char *hex)
{
    return faccessat(s->layers_fd, hex, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int layout_adopt_layer(struct image_store *s, int from_fd, const char *from_name, const char *hex, struct err *err)
{
    if (layout_has_layer(s, hex) || renameat(from_fd, from_name, s->layers_fd, hex) == 0)
        return 0;
    if (errno == EXDEV)
        return err_set(err, ERR_INVALID, EXDEV, "%s must be on the same file system as %s", from_name, s->dir);
    return err_set(err, err_from_errno(errno), errno, "move %s into %s/layers", from_name, s->dir);
}

char *layout_layer_path(struct image_store *s, const char *hex)
{
    return xasprintf("%s/layers/%s", s->dir, hex);
}

static void mark_used(json_t *used, const json_t *record)
{
    const json_t *layers = json_get(record, "layers");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const char *hex = json_get_str(json_array_get(layers, i), "digest", NULL);
        if (hex)
            json_object_set_new(used, hex, json_true());
    }
}

/* A record that cannot be read stops the collection: what it names is unknown, so nothing may be removed. */
static int mark_folder(int dir_fd, json_t *used, struct err *err)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_set(err, ERR_INTERNAL, errno, "read the image store");
    }
    int r = 0;
    for (struct dirent *e = readdir(d); e && r == 0; e = readdir(d)) {
        if (e->d_name[0] == '.')
            continue;
        JSON_OWNED record = NULL;
        r = layout_read_json(dir_fd, e->d_name, &record, err);
        if (r == 0)
            mark_used(used, record);
    }
    closedir(d);
    return r;
}

/* Removes shared pin files that no pin has used for a while. Removing them sooner would recreate them for the next
 * pin. */
static void drop_shared(struct image_store *s)
{
    int fd = openat(s->pins_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    time_t now = time(NULL);
    struct stat st;
    if (!d)
        close_fd_p(&fd);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
        if (strncmp(e->d_name, LAYOUT_SHARED, strlen(LAYOUT_SHARED)) == 0 &&
            fstatat(s->pins_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1 &&
            now - st.st_ctime > SHARED_S)
            (void)unlinkat(s->pins_fd, e->d_name, 0); /* it names no layers; the next collection tries again */
    if (d)
        closedir(d);
}

int layout_collect(struct image_store *s, struct layout_tmp *trash, struct err *err)
{
    JSON_OWNED used = json_object();
    JSON_OWNED host = NULL;
    int r = mark_folder(s->images_fd, used, err);
    if (r == 0)
        r = mark_folder(s->pins_fd, used, err);
    if (r < 0)
        return r;
    drop_shared(s);
    if (layout_read_json(s->dir_fd, "host.json", &host, NULL) == 0)
        mark_used(used, host);
    int fd = openat(s->layers_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_set(err, ERR_INTERNAL, errno, "read %s/layers", s->dir);
    }
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (digest_is_hex(e->d_name) && !json_object_get(used, e->d_name) &&
            renameat(s->layers_fd, e->d_name, trash->fd, e->d_name) < 0 && r == 0)
            r = err_set(err, err_from_errno(errno), errno, "remove %s/layers/%s", s->dir, e->d_name);
    closedir(d);
    return r;
}

int layout_collect_now(struct image_store *s, struct err *err)
{
    CLEANUP(layout_tmp_done) struct layout_tmp trash = { 0 };
    int r = layout_tmp_new(s, &trash, err);
    if (r < 0)
        return r;
    int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    r = layout_collect(s, &trash, err);
    (void)close(lock); /* the trees are removed after the lock is released: nothing names them any more */
    return r;
}
