#include "image/blob_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/write_all.h"

#define CHUNK (256 * 1024)

struct blob_fetch {
    struct image_store *store;
    struct registry *registry;
    struct manifest_blob blob;
    char name[DIGEST_HEX]; /* in partial/ */
    atomic_llong *total;
    int fd;
    bool is_named; /* the file is in partial/; false: a private file, because another process downloads the same blob */
    int64_t resumed; /* bytes left by an earlier attempt */
    int64_t read_at; /* offset of the reader */
    struct digest digest;
    struct err cause;      /* why the sink stopped */
    pthread_mutex_t mutex; /* guards the four below */
    pthread_cond_t changed;
    int64_t have;
    bool is_over;
    int result;
    struct err err;
};

struct blob_fetch *blob_fetch_new(struct image_store *s, struct registry *r, const struct manifest_blob *blob,
                                  const char *tenant, atomic_llong *total)
{
    struct blob_fetch *f = xzalloc(sizeof(*f));
    f->store = s;
    f->registry = r;
    f->blob = *blob;
    memcpy(f->name, blob->hex, DIGEST_HEX);
    if (*tenant) { /* a file that another tenant has begun would show that its blob exists, and its bytes */
        CLEANUP(free_p) char *own = xasprintf("%s\n%s", tenant, blob->hex);
        digest_of(own, strlen(own), f->name);
    }
    f->total = total;
    f->fd = NO_FD;
    (void)pthread_mutex_init(&f->mutex, NULL); /* neither can fail with default attributes */
    (void)pthread_cond_init(&f->changed, NULL);
    return f;
}

struct blob_fetch *blob_fetch_free(struct blob_fetch *f)
{
    if (!f)
        return NULL;
    close_fd_p(&f->fd);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->mutex);
    free(f);
    return NULL;
}

static void fetch_end(struct blob_fetch *f, int result, const struct err *err)
{
    (void)pthread_mutex_lock(&f->mutex);
    f->is_over = true;
    f->result = result;
    if (err)
        f->err = *err;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
}

static void fetch_grow(struct blob_fetch *f, size_t len)
{
    (void)pthread_mutex_lock(&f->mutex);
    f->have += (int64_t)len;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->mutex);
    atomic_fetch_add(f->total, (long long)len);
}

/* Two processes may pull the same blob. The second downloads a private copy: waiting for each other's blobs could
 * deadlock. */
static int open_file(struct blob_fetch *f, struct err *err)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
    CLEANUP(close_fd_p) int fd = openat(f->store->partial_fd, f->name, flags, 0600);
    struct stat named, opened;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) &&
        fstatat(f->store->partial_fd, f->name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == opened.st_ino) {
        if (opened.st_size > f->blob.size && ftruncate(fd, 0) < 0)
            return err_set(err, err_from_errno(errno), errno, "empty %s/partial/%s", f->store->dir, f->name);
        f->is_named = true;
    } else {
        close_fd_p(&fd);
        fd = openat(f->store->tmp_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0)
            return err_set(err, err_from_errno(errno), errno, "create a file in %s/tmp", f->store->dir);
    }
    f->fd = steal_fd(&fd);
    return 0;
}

static int take_piece(void *arg, const void *data, size_t len)
{
    struct blob_fetch *f = arg;
    if ((int64_t)len > f->blob.size - f->have)
        return err_set(&f->cause, ERR_UPSTREAM, 0, "blob %.12s has more than the %lld bytes its manifest states",
                       f->blob.hex, (long long)f->blob.size);
    int r = write_all_pwrite(f->fd, data, len, f->have);
    if (r < 0)
        return err_set(&f->cause, err_from_errno(-r), -r, "write blob %.12s in %s", f->blob.hex, f->store->dir);
    digest_add(&f->digest, data, len);
    fetch_grow(f, len);
    return 0;
}

/* Resumes what an earlier attempt left, downloads the rest and verifies the whole. */
static int fetch_download(struct blob_fetch *f, struct err *err)
{
    int r = open_file(f, err);
    if (r < 0)
        return r;
    CLEANUP(free_p) char *chunk = xzalloc(CHUNK);
    ssize_t n;
    while ((n = pread(f->fd, chunk, CHUNK, f->have)) > 0) {
        digest_add(&f->digest, chunk, (size_t)n);
        fetch_grow(f, (size_t)n);
    }
    if (n < 0)
        return err_set(err, err_from_errno(errno), errno, "read %s/partial/%s", f->store->dir, f->name);
    f->resumed = f->have;
    if (f->have < f->blob.size)
        r = registry_blob(f->registry, f->blob.hex, f->have, take_piece, f, err);
    if (r == -EPIPE && f->cause.code != ERR_NONE) {
        *err = f->cause;
        return -(f->cause.sys ? f->cause.sys : EINVAL);
    }
    if (r < 0)
        return r;
    char hex[DIGEST_HEX];
    digest_hex(&f->digest, hex);
    if (f->have == f->blob.size && strcmp(hex, f->blob.hex) == 0)
        return 0;
    blob_fetch_discard(f);
    r = err_set(err, ERR_UPSTREAM, 0, "blob %.12s is damaged: it has %lld of %lld bytes and the digest %s", f->blob.hex,
                (long long)f->have, (long long)f->blob.size, hex);
    return f->resumed > 0 ? -EBADMSG : r;
}

int blob_fetch_run(struct blob_fetch *f, struct err *err)
{
    struct err own = ERR_INIT;
    digest_init(&f->digest);
    int r = fetch_download(f, &own);
    digest_done(&f->digest);
    fetch_end(f, r, &own);
    if (r < 0 && err)
        *err = own;
    return r;
}

void blob_fetch_fail(struct blob_fetch *f, const struct err *err)
{
    fetch_end(f, -ECANCELED, err);
}

ssize_t blob_fetch_read(void *arg, void *data, size_t len)
{
    struct blob_fetch *f = arg;
    (void)pthread_mutex_lock(&f->mutex);
    while (!f->is_over && f->have == f->read_at)
        (void)pthread_cond_wait(&f->changed, &f->mutex);
    int64_t left = f->have - f->read_at;
    bool has_failed = f->is_over && f->result < 0;
    (void)pthread_mutex_unlock(&f->mutex);
    if (has_failed)
        return -1;
    if (left == 0)
        return 0;
    ssize_t n = pread(f->fd, data, (int64_t)len < left ? len : (size_t)left, f->read_at);
    if (n <= 0)
        return -1; /* written bytes can be read back unless the disk fails */
    f->read_at += n;
    return n;
}

int blob_fetch_wait(struct blob_fetch *f, struct err *err)
{
    (void)pthread_mutex_lock(&f->mutex);
    while (!f->is_over)
        (void)pthread_cond_wait(&f->changed, &f->mutex);
    int r = f->result;
    if (r < 0 && err)
        *err = f->err;
    (void)pthread_mutex_unlock(&f->mutex);
    return r;
}

void blob_fetch_discard(struct blob_fetch *f)
{
    if (f->is_named)
        (void)unlinkat(f->store->partial_fd, f->name, 0); /* a file that stays is removed after a week */
    f->is_named = false;
}
