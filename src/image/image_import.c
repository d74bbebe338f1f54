/* Theory of operation. An archive becomes layers in tmp/ (staging.c), then all of them and the record are moved into
 * place under the lock. Its top-level names tell its kind: a rootfs has etc, usr, bin, …;  an OCI layout has oci-layout
 * and index.json;  docker save has manifest.json. The last two are first extracted into tmp/ as numbered files, since
 * their parts come in any order; paths in their JSON are looked up in that list and never opened. Every digest they
 * state is verified. Any failure removes the folder in tmp/ and leaves the store as it was. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/tar_stream.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/strlist.h"
#include "image/image.h"
#include "image/image_policy.h"
#include "image/layout.h"
#include "image/signature_fetch.h"
#include "image/staging.h"
#include "image/unpack.h"
#include "os/write_all.h"

enum kind { KIND_ROOTFS, KIND_DOCKER, KIND_OCI };

struct blob {
    char *path;
    char *alias; /* an older docker save stores a repeated layer as a link to the first */
    char hex[DIGEST_HEX];
    int64_t size;
};

struct importer {
    struct image_store *store;
    struct staging staging;
    int fd;
    int64_t file_bytes;
    bool is_spread; /* later progress no longer counts bytes of the file */
    struct blob *blobs;
    size_t n_blobs;
    json_t *digests; /* "sha256:…" of its manifest and the indexes that led there; empty: the archive states none */
};

static void show_progress(void *arg, int64_t packed_bytes)
{
    struct importer *im = arg;
    struct image_store *s = im->store;
    if (s->on_progress && !im->is_spread)
        s->on_progress(s->progress_arg, packed_bytes, im->file_bytes);
}

static int detect_kind(struct importer *im, enum kind *ret, struct err *err)
{
    static const char *const rootfs_names[] = { "bin", "dev",  "etc", "home", "lib", "lib64", "proc", "root",
                                                "run", "sbin", "sys", "tmp",  "usr", "var",   NULL };
    CLEANUP(tar_stream_close_p) struct tar_stream *t = NULL;
    bool has_layout = false, has_index = false, has_manifest = false;
    struct archive_member entry;
    int64_t seen = 0;
    const struct tar_stream_source source = { .fd = im->fd };
    int r = tar_stream_open(&source, image_limits_of_stream(&im->store->limits), &t, err);
    if (r < 0)
        return r;
    while ((r = tar_stream_next(t, &entry, err)) > 0) {
        const char *name = entry.path;
        if (++seen > im->store->limits.entries || !name)
            break; /* unpacking reports it with the entry's name */
        while (name[0] == '.' && name[1] == '/')
            name += 2;
        bool is_rootfs = false;
        for (const char *const *top = rootfs_names; *top && !is_rootfs; top++) {
            size_t n = strlen(*top);
            is_rootfs = strncmp(name, *top, n) == 0 && (name[n] == '\0' || name[n] == '/');
        }
        if (is_rootfs)
            break;
        has_layout |= strcmp(name, "oci-layout") == 0;
        has_index |= strcmp(name, "index.json") == 0;
        has_manifest |= strcmp(name, "manifest.json") == 0;
    }
    if (r < 0)
        return r;
    *ret = r > 0 ? KIND_ROOTFS : has_layout && has_index ? KIND_OCI : has_manifest ? KIND_DOCKER : KIND_ROOTFS;
    return 0;
}

static void blob_file(size_t index, char ret[32])
{
    (void)snprintf(ret, 32, "blob-%zu", index);
}

static int spread_file(struct importer *im, struct tar_stream *t, struct blob *b, struct err *err)
{
    char file[32];
    blob_file((size_t)(b - im->blobs), file);
    CLEANUP(close_fd_p) int fd = openat(im->staging.tmp.fd, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(err, err_from_errno(errno), errno, "\"%.200s\": unpack", b->path);
    struct digest d;
    digest_init(&d);
    const void *data;
    size_t len;
    int64_t offset;
    int r;
    while ((r = tar_stream_data(t, &data, &len, &offset, err)) > 0) {
        if (offset != b->size) {
            r = err_set(err, ERR_INVALID, 0, "\"%.200s\": sparse files are not allowed in an image", b->path);
            break;
        }
        digest_add(&d, data, len);
        b->size += (int64_t)len;
        int written = write_all_write(fd, data, len);
        if (written < 0) {
            r = err_set(err, err_from_errno(-written), -written, "\"%.200s\": unpack", b->path);
            break;
        }
    }
    digest_hex(&d, b->hex);
    digest_done(&d);
    return r;
}

static int extract_blobs(struct importer *im, struct err *err)
{
    CLEANUP(tar_stream_close_p) struct tar_stream *t = NULL;
    struct archive_member entry;
    const struct tar_stream_source source = { .fd = im->fd };
    int r = tar_stream_open(&source, image_limits_of_stream(&im->store->limits), &t, err);
    if (r < 0)
        return r;
    im->blobs = xzalloc(IMAGE_LIMITS_BLOBS * sizeof(*im->blobs));
    while ((r = tar_stream_next(t, &entry, err)) > 0) {
        const char *name = entry.path;
        char path[IMAGE_LIMITS_PATH_BYTES + 1] = "";
        if (!name)
            return err_set(err, ERR_INVALID, 0, "the archive has an entry without a readable name");
        r = unpack_clean_name(name, &im->store->limits, path, err);
        if (r < 0)
            return r;
        const char *link = entry.hardlink ? entry.hardlink : entry.symlink;
        if (!link && !S_ISREG(entry.mode))
            continue;
        if (im->n_blobs == IMAGE_LIMITS_BLOBS)
            return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\": over %d files in an image archive", path,
                           IMAGE_LIMITS_BLOBS);
        struct blob *b = &im->blobs[im->n_blobs++];
        *b = (struct blob){ .path = xstrdup(path) };
        while (link && strncmp(link, "../", 3) == 0) /* "<id>/layer.tar" links to "../<other id>/layer.tar" */
            link += 3;
        if (link)
            b->alias = xstrndup(link, IMAGE_LIMITS_PATH_BYTES);
        else if ((r = spread_file(im, t, b, err)) < 0)
            return r;
        show_progress(im, tar_stream_packed_bytes(t));
    }
    im->is_spread = true;
    return r;
}

static const struct blob *find_path(const struct importer *im, const char *path)
{
    for (size_t i = im->n_blobs; i-- > 0;) /* in a tar the last of two entries with one name wins */
        if (strcmp(im->blobs[i].path, path) == 0)
            return &im->blobs[i];
    return NULL;
}

/* Finds the blob at path and verifies the digest that its name states. */
static int find_blob(const struct importer *im, const char *path, const struct blob **ret, struct err *err)
{
    const struct blob *b = find_path(im, path);
    if (b && b->alias)
        b = find_path(im, b->alias);
    if (!b || b->alias)
        return err_set(err, ERR_INVALID, 0, "the archive has no \"%.200s\", which its manifest names", path);
    const char *slash = strrchr(path, '/');
    char stated[DIGEST_HEX] = "";
    const char *last = slash ? slash + 1 : path;
    size_t len = strcspn(last, ".");
    if (len == DIGEST_HEX - 1)
        memcpy(stated, last, len);
    if (digest_is_hex(stated) && strcmp(stated, b->hex) != 0)
        return err_set(err, ERR_INVALID, 0, "\"%.200s\" is damaged: its digest is %s", path, b->hex);
    *ret = b;
    return 0;
}

static int open_blob(const struct importer *im, const struct blob *b, struct err *err)
{
    char file[32];
    blob_file((size_t)(b - im->blobs), file);
    int fd = openat(im->staging.tmp.fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd < 0 ? err_set(err, ERR_INTERNAL, errno, "open \"%.200s\" again", b->path) : fd;
}

static int read_blob(const struct importer *im, const char *path, char **ret, size_t *ret_len, struct err *err)
{
    const struct blob *b = NULL;
    int r = find_blob(im, path, &b, err);
    if (r < 0)
        return r;
    if (b->size > IMAGE_LIMITS_JSON_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0, "\"%.200s\" has %lld bytes, the limit is %d", path, (long long)b->size,
                       IMAGE_LIMITS_JSON_BYTES);
    CLEANUP(close_fd_p) int fd = open_blob(im, b, err);
    if (fd < 0)
        return fd;
    CLEANUP(free_p) char *text = try_alloc((size_t)b->size + 1);
    if (!text || read(fd, text, (size_t)b->size) != b->size)
        return err_set(err, ERR_INTERNAL, text ? EIO : ENOMEM, "read \"%.200s\"", path);
    *ret = STEAL(text);
    *ret_len = (size_t)b->size;
    return 0;
}

static int import_layer(struct importer *im, int fd, const char *expected, struct err *err)
{
    const struct tar_stream_source source = { .fd = fd };
    return staging_add(&im->staging, &source, expected, err);
}

static int import_parts(struct importer *im, const struct manifest_parts *parts, struct err *err)
{
    CLEANUP(free_p) char *text = NULL;
    size_t len = 0;
    int r = read_blob(im, parts->config, &text, &len, err);
    if (r == 0)
        r = manifest_parse_config(text, len, &im->staging.config, err);
    if (r < 0)
        return r;
    size_t n = strlist_count(parts->layers), n_ids = strlist_count(im->staging.config.diff_ids);
    if (n != n_ids)
        return err_set(err, ERR_INVALID, 0, "the manifest has %zu layers, the image config %zu", n, n_ids);
    for (size_t i = 0; parts->layers && parts->layers[i]; i++) {
        const struct blob *b = NULL;
        r = find_blob(im, parts->layers[i], &b, err);
        CLEANUP(close_fd_p) int fd = r < 0 ? NO_FD : open_blob(im, b, err);
        if (r == 0)
            r = fd < 0 ? fd : import_layer(im, fd, im->staging.config.diff_ids[i], err);
        if (r < 0)
            return err_wrap(err, r, "layer %zu of %zu", i + 1, n);
    }
    return 0;
}

static int import_oci(struct importer *im, struct err *err)
{
    CLEANUP(manifest_parts_done) struct manifest_parts parts = { 0 };
    char path[128] = "index.json", hex[DIGEST_HEX];
    bool is_index = true;
    for (int depth = 0; is_index; depth++) {
        CLEANUP(free_p) char *text = NULL;
        size_t len = 0;
        if (depth == 3)
            return err_set(err, ERR_INVALID, 0, "indexes inside indexes, over 3 deep");
        int r = read_blob(im, path, &text, &len, err);
        if (r == 0)
            r = manifest_parse_index(text, len, hex, &is_index, err);
        if (r < 0)
            return r;
        (void)snprintf(path, sizeof(path), "blobs/sha256/%s", hex);
        (void)json_array_append_new(im->digests, json_sprintf("sha256:%s", hex));
    }
    CLEANUP(free_p) char *text = NULL;
    size_t len = 0;
    int r = read_blob(im, path, &text, &len, err);
    if (r == 0)
        r = manifest_parse_oci(text, len, &parts, err);
    return r < 0 ? r : import_parts(im, &parts, err);
}

static int unpack_archive(struct importer *im, struct err *err)
{
    enum kind kind = KIND_ROOTFS;
    int r = detect_kind(im, &kind, err);
    if (r == 0 && lseek(im->fd, 0, SEEK_SET) < 0)
        r = err_set(err, err_from_errno(errno), errno, "rewind");
    if (r < 0)
        return r;
    if (kind == KIND_ROOTFS)
        return import_layer(im, im->fd, NULL, err);
    r = extract_blobs(im, err);
    if (r < 0 || kind == KIND_OCI)
        return r < 0 ? r : import_oci(im, err);
    CLEANUP(free_p) char *text = NULL;
    CLEANUP(manifest_parts_done) struct manifest_parts parts = { 0 };
    size_t len = 0;
    r = read_blob(im, "manifest.json", &text, &len, err);
    if (r == 0)
        r = manifest_parse_docker(text, len, &parts, err);
    return r < 0 ? r : import_parts(im, &parts, err);
}

static struct importer *importer_free(struct importer *im)
{
    for (size_t i = 0; i < im->n_blobs; i++) {
        free(im->blobs[i].path);
        free(im->blobs[i].alias);
    }
    free(im->blobs);
    json_decref(im->digests);
    staging_done(&im->staging);
    close_fd_p(&im->fd);
    free(im);
    return NULL;
}
DEFINE_CLEANUP(struct importer *, importer_free)

/* The signature that the policy asks for: beside the archive. */
static int import_signature(struct importer *im, const char *tar_path, const char *name, json_t *record,
                            struct err *err)
{
    const json_t *rule = image_policy_rule(im->store->policy, name);
    CLEANUP(free_p) char *path = xasprintf("%s.sigs", tar_path);
    if (!rule)
        return 0;
    if (!json_array_size(im->digests))
        return err_set(
            err, ERR_FORBIDDEN, 0,
            "images.policy wants a signature for %.80s, and only an OCI layout states what was signed: save the "
            "image with `skopeo copy docker://… oci-archive:FILE.tar`",
            name);
    return signature_fetch_file(path, rule, name, im->digests, record, err);
}

static int import_once(struct image_store *s, const char *tenant, const char *tar_path, const char *name,
                       struct image **ret, struct err *err)
{
    CLEANUP(importer_free_p) struct importer *im = xzalloc(sizeof(*im));
    struct stat st;
    im->store = s;
    im->fd = NO_FD;
    im->digests = json_array();
    int r = staging_init(&im->staging, s, err);
    if (r < 0)
        return r;
    im->staging.job.on_progress = show_progress;
    im->staging.job.progress_arg = im;
    im->fd = open(tar_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (im->fd < 0)
        return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : err_from_errno(errno), errno, "open %s", tar_path);
    if (fstat(im->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return err_set(err, ERR_INVALID, 0, "%s is not a file", tar_path);
    im->file_bytes = st.st_size;
    r = unpack_archive(im, err);
    if (r < 0)
        return err_wrap(err, r, "import %s", tar_path);
    JSON_OWNED extra = *tenant ? json_pack("{s:s}", "tenant", tenant) : json_object();
    if (json_array_size(im->digests))
        (void)json_object_set(extra, "digests", im->digests);
    r = import_signature(im, tar_path, name, extra, err);
    return r < 0 ? r : staging_commit(&im->staging, name, "tar", extra, ret, err);
}

int image_import(struct image_store *s, const char *tar_path, const char *name, struct image **ret, struct err *err)
{
    return image_import_for(s, "", tar_path, name, ret, err);
}

int image_import_for(struct image_store *s, const char *tenant, const char *tar_path, const char *name,
                     struct image **ret, struct err *err)
{
    struct image_limits limits;
    int r = image_name_check(name, err);
    if (r == 0)
        r = image_limits_load(&limits, err);
    int64_t free_mb = image_store_free_mb(s);
    if (r == 0 && free_mb >= 0 && free_mb < limits.reserve_mb)
        r = err_set(err, ERR_NO_SPACE, ENOSPC,
                    "the image store's file system has %lld MB free, less than the reserve of %lld: remove images, or "
                    "change III_DISK_RESERVE_MB",
                    (long long)free_mb, (long long)limits.reserve_mb);
    if (r < 0)
        return r;
    r = import_once(s, tenant, tar_path, name, ret, err);
    return r == -EAGAIN ? import_once(s, tenant, tar_path, name, ret, err) : r;
}
