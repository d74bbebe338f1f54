/* An image as an OCI-layout tar: each layer is packed into tmp/, then config, manifest, index and all layers are
 * written into one archive. A file gets its name only when it is complete; a container engine gets the archive through
 * a pipe. The host's view goes to an engine as the tar of one root file system. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_writer.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/ident.h"
#include "image/host_view.h"
#include "image/image.h"
#include "image/image_remote.h"
#include "image/layer_pack.h"
#include "image/layout.h"
#include "image/record.h"
#include "image/reference.h"

#define TYPE_INDEX    "application/vnd.oci.image.index.v1+json"
#define TYPE_MANIFEST "application/vnd.oci.image.manifest.v1+json"
#define TYPE_CONFIG   "application/vnd.oci.image.config.v1+json"
#define TYPE_LAYER    "application/vnd.oci.image.layer.v1.tar"
#define CHUNK         (256 * 1024)

struct exporter {
    struct image_store *store;
    struct layout_tmp tmp;
    struct image *image;
    struct archive_writer *out;
    json_t *record, *layers, *diff_ids;
    const char *tag; /* the name for `docker load` */
};

static json_t *descriptor(const char *type, const char *hex, int64_t size)
{
    return json_pack("{s:s, s:s+, s:I}", "mediaType", type, "digest", "sha256:", hex, "size", (json_int_t)size);
}

/* Writes a JSON document as a blob. */
static int put_doc(struct exporter *x, const json_t *doc, char ret_hex[DIGEST_HEX], int64_t *ret_size, struct err *err)
{
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(doc, &len);
    char path[128];
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "write a manifest");
    digest_of(text, len, ret_hex);
    *ret_size = (int64_t)len;
    (void)snprintf(path, sizeof(path), "blobs/sha256/%s", ret_hex);
    return archive_writer_file(x->out, path, 0644, text, len, err);
}

static int put_layer(struct exporter *x, const char *folder, struct err *err)
{
    char hex[DIGEST_HEX], path[128];
    int64_t size = 0;
    CLEANUP(close_fd_p) int root = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p) int fd = openat(x->tmp.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (root < 0 || fd < 0)
        return err_set(err, err_from_errno(errno), errno, "open %s", root < 0 ? folder : "a file in tmp");
    int r = layer_pack_write(root, x->store->is_rootless, fd, hex, &size, err);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof(path), "blobs/sha256/%s", hex);
    (void)json_array_append_new(x->layers, descriptor(TYPE_LAYER, hex, size));
    (void)json_array_append_new(x->diff_ids, json_pack("s+", "sha256:", hex));
    CLEANUP(free_p) char *chunk = xzalloc(CHUNK);
    const struct archive_member m = { .path = path, .mode = S_IFREG | 0644, .size = size };
    r = archive_writer_member(x->out, &m, err);
    for (int64_t at = 0; r == 0 && at < size;) {
        ssize_t n = pread(fd, chunk, CHUNK, at);
        if (n <= 0)
            r = err_set(err, ERR_INTERNAL, n < 0 ? errno : EIO, "read a packed layer");
        else
            r = archive_writer_data(x->out, chunk, (size_t)n, err);
        at += n > 0 ? n : 0;
    }
    return r;
}

static int put_all(struct exporter *x, struct err *err)
{
    static const char layout[] = "{\"imageLayoutVersion\":\"1.0.0\"}";
    char hex[DIGEST_HEX];
    int64_t size = 0;
    int r = archive_writer_file(x->out, "oci-layout", 0644, layout, sizeof(layout) - 1, err);
    const json_t *layers = json_get(x->record, "layers"); /* x->image has a repeated layer only once */
    for (size_t i = 0; r == 0 && i < json_array_size(layers); i++) {
        CLEANUP(free_p)
        char *folder = layout_layer_path(x->store, json_get_str(json_array_get(layers, i), "digest", ""));
        r = put_layer(x, folder, err);
    }
    const struct manifest_config c = record_config(x->image);
    JSON_OWNED config = manifest_make_config(&c, x->diff_ids, json_get_int(x->record, "createdAt", 0));
    if (r == 0)
        r = put_doc(x, config, hex, &size, err);
    if (r < 0)
        return r;
    /* What `docker load` reads. A name that a registry would not take is left out. */
    JSON_OWNED loaded = json_pack("[{s:s+, s:[], s:[]}]", "Config", "blobs/sha256/", hex, "RepoTags", "Layers");
    struct reference ref;
    if (reference_parse(x->tag, &ref, NULL) == 0 && *ref.tag) {
        CLEANUP(free_p) char *tagged = xasprintf("%s/%s:%s", ref.host, ref.repository, ref.tag);
        (void)json_array_append_new(json_get(json_array_get(loaded, 0), "RepoTags"), json_string(tagged));
    }
    for (size_t i = 0; i < json_array_size(x->diff_ids); i++)
        (void)json_array_append_new(
            json_get(json_array_get(loaded, 0), "Layers"),
            json_pack("s+", "blobs/sha256/", digest_from_ref(json_string_value(json_array_get(x->diff_ids, i)))));
    size_t len = 0;
    CLEANUP(free_p) char *list = json_write(loaded, &len);
    r = archive_writer_file(x->out, "manifest.json", 0644, list, len, err);
    if (r < 0)
        return r;
    JSON_OWNED manifest = json_pack("{s:i, s:s, s:o, s:O}", "schemaVersion", 2, "mediaType", TYPE_MANIFEST, "config",
                                    descriptor(TYPE_CONFIG, hex, size), "layers", x->layers);
    r = put_doc(x, manifest, hex, &size, err);
    if (r < 0)
        return r;
    json_t *entry = descriptor(TYPE_MANIFEST, hex, size);
    (void)json_object_set_new(entry, "annotations", json_pack("{s:s}", "org.opencontainers.image.ref.name", x->tag));
    JSON_OWNED index = json_pack("{s:i, s:s, s:[o]}", "schemaVersion", 2, "mediaType", TYPE_INDEX, "manifests", entry);
    CLEANUP(free_p) char *text = json_write(index, &len);
    r = archive_writer_file(x->out, "index.json", 0644, text, len, err);
    return r == 0 ? archive_writer_close(x->out, err) : r;
}

static int put_archive(struct exporter *x, int fd, struct err *err)
{
    int r = archive_writer_new(ARCHIVE_WRITER_TAR, fd, NULL, &x->out, err);
    if (r == 0)
        r = put_all(x, err);
    x->out = archive_writer_free(x->out);
    return r;
}

static int put_file(struct exporter *x, const char *tar_path, struct err *err)
{
    unsigned char raw[8];
    char hex[17];
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), hex);
    CLEANUP(free_p) char *part = xasprintf("%s.%s.part", tar_path, hex);
    CLEANUP(close_fd_p) int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_set(err, err_from_errno(errno), errno, "make %s", part);
    int r = put_archive(x, fd, err);
    if (r == 0 && fsync(fd) < 0)
        r = err_set(err, err_from_errno(errno), errno, "write %s", part);
    if (r == 0 && rename(part, tar_path) < 0)
        r = err_set(err, err_from_errno(errno), errno, "name %s", tar_path);
    if (r < 0)
        (void)unlink(part); /* the first error is the one to report */
    return r;
}

/* Into the file tar_path; NULL: into fd. */
static int export_to(struct exporter *x, const char *tar_path, int fd, struct err *err)
{
    CLEANUP(layout_tmp_done) struct layout_tmp tmp = { 0 };
    int r = layout_tmp_new(x->store, &tmp, err);
    if (r < 0)
        return r;
    CLEANUP(free_p) char *owner = xasprintf(LAYOUT_EXPORT_PIN "%s", tmp.name);
    r = image_pin(x->store, x->image, owner, err); /* pins the layers while they are read */
    if (r < 0)
        return r;
    x->tmp = tmp;
    x->layers = json_array();
    x->diff_ids = json_array();
    r = tar_path ? put_file(x, tar_path, err) : put_archive(x, fd, err);
    json_decref(x->layers);
    json_decref(x->diff_ids);
    (void)image_unpin_lazy(x->store, owner, NULL); /* otherwise tmp's sweep removes it at the next open */
    return r < 0 ? err_wrap(err, r, "export %s", x->image->name) : 0;
}

int image_export(struct image_store *s, const struct image_scope *scope, const char *name, const char *tar_path,
                 struct err *err)
{
    CLEANUP(image_free_p) struct image *image = NULL;
    JSON_OWNED record = NULL;
    int r = image_resolve_for(s, scope, name, &image, err);
    if (r == 0)
        r = image_inspect(s, scope, name, &record, err);
    if (r < 0)
        return r;
    if (image->is_host)
        return err_set(err, ERR_INVALID, 0, "\"%s\" is this host's own view, not a stored image: nothing to export",
                       name);
    struct exporter x = { .store = s, .image = image, .record = record, .tag = image->name };
    return export_to(&x, tar_path, NO_FD, err);
}

/* --- for a container engine --- */

static int send_host(struct image_store *s, const struct image *image, int out_fd, struct image_pull_state *state,
                     struct err *err)
{
    CLEANUP(close_fd_p) int layer = open(image->layers[0], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    CLEANUP(close_fd_p) int usr = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (layer < 0 || usr < 0)
        return err_sys(err, -errno, "open %s", layer < 0 ? image->layers[0] : "/usr");
    const struct layer_pack_host host = {
        .layer_fd = layer, .usr_fd = usr, .is_rootless = s->is_rootless, .done_bytes = &state->done_bytes
    };
    atomic_store(&state->layers, 1);
    int r = layer_pack_write_host(&host, out_fd, err);
    return r < 0 ? err_wrap(err, r, "copy this host's view") : 0;
}

int image_send(struct image_store *s, const struct image *of, const char *tag, int out_fd,
               struct image_pull_state *state, struct err *err)
{
    const struct image_scope scope = { .tenant = of->tenant ? of->tenant : "" };
    if (s->remote) {
        const struct image_remote_how how = { .state = state, .fd = &out_fd };
        return image_remote_work(
            s->remote,
            json_pack("{s:s, s:s, s:s, s:s}", "op", "send", "name", of->name, "tag", tag, "tenant", scope.tenant), &how,
            NULL, err);
    }
    CLEANUP(image_free_p) struct image *image = NULL;
    JSON_OWNED record = NULL;
    int r = image_resolve_for(s, &scope, of->name, &image, err);
    if (r == 0 && image->is_host && strcmp(image->id, "host") == 0)
        return send_host(s, image, out_fd, state, err);
    if (r == 0)
        r = image_inspect(s, &scope, of->name, &record, err);
    if (r == 0 && image->is_host)
        r = err_set(err, ERR_UNSUPPORTED, 0,
                    "image %s needs this host's own files below it, which an engine cannot have", of->name);
    struct exporter x = { .store = s, .image = image, .record = record, .tag = tag };
    return r < 0 ? r : export_to(&x, NULL, out_fd, err);
}

void image_content_key(const struct image *image, char ret[DIGEST_HEX])
{
    const char *hex = digest_from_ref(image->id);
    if (hex)
        memcpy(ret, hex, DIGEST_HEX);
    else
        host_view_key(ret);
}
