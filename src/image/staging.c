#include "image/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "image/layer_tree.h"
#include "image/record.h"

int staging_init(struct staging *st, struct image_store *s, struct err *err)
{
    *st = (struct staging){ .store = s, .job = { .limits = &s->limits, .is_rootless = s->is_rootless } };
    for (size_t i = 0; i < IMAGE_LAYERS_MAX; i++)
        st->layer_fds[i] = NO_FD;
    return layout_tmp_new(s, &st->tmp, err);
}

void staging_done(struct staging *st)
{
    for (size_t i = 0; i < IMAGE_LAYERS_MAX; i++) {
        close_fd_p(&st->layer_fds[i]);
        free(st->blobs[i]);
    }
    manifest_config_done(&st->config);
    layout_tmp_done(&st->tmp);
}

void staging_chain_hex(const struct layout_layer *below, size_t n_below, const char *top, char ret[DIGEST_HEX])
{
    struct digest d;
    digest_init(&d);
    for (size_t i = 0; i < n_below; i++)
        digest_add(&d, below[i].hex, DIGEST_HEX - 1);
    digest_add(&d, top, DIGEST_HEX - 1);
    digest_hex(&d, ret);
    digest_done(&d);
}

static int layer_unpack(struct staging *st, const struct tar_stream_source *source, struct layout_layer *layer,
                        struct err *err)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "layer-%zu", st->n_layers);
    if (mkdirat(st->tmp.fd, name, 0755) < 0 || fchmodat(st->tmp.fd, name, 0755, 0) < 0)
        return err_set(err, err_from_errno(errno), errno, "make a layer folder");
    int root = openat(st->tmp.fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0)
        return err_set(err, err_from_errno(errno), errno, "open a layer folder");
    st->layer_fds[st->n_layers] = root;
    st->is_staged[st->n_layers] = true;
    st->job.root_fd = root;
    st->job.lower_fds = st->layer_fds;
    st->job.n_lower = st->n_layers;
    st->job.has_lower_links = false;
    int64_t before = st->job.bytes;
    int r = unpack_layer(&st->job, source, layer->hex, err);
    layer->size_bytes = st->job.bytes - before;
    return r;
}

static int open_known(struct staging *st, const char *hex)
{
    return openat(st->store->layers_fd, hex, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int staging_add(struct staging *st, const struct tar_stream_source *source, const char *expected, struct err *err)
{
    if (st->n_layers == IMAGE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "the image has over %d layers", IMAGE_LAYERS_MAX);
    struct layout_layer layer = { 0 };
    size_t at = st->n_layers;
    bool is_known = expected && layout_has_layer(st->store, expected);
    int r;
    if (is_known) {
        /* Its digest is still computed from the received bytes: an archive that merely states the digest of another
         * user's layer must not get that layer. */
        CLEANUP(tar_stream_close_p) struct tar_stream *t = NULL;
        r = tar_stream_open(source, image_limits_of_stream(&st->store->limits), &t, err);
        r = r < 0 ? r : tar_stream_finish(t, layer.hex, err);
    } else {
        r = layer_unpack(st, source, &layer, err);
    }
    if (r == 0 && expected && strcmp(layer.hex, expected) != 0)
        r = err_set(err, ERR_INVALID, 0, "its digest is %s, the image says %s", layer.hex, expected);
    if (r == 0 && is_known) {
        layer.size_bytes = layer_tree_size_at(st->store->layers_fd, layer.hex);
        st->layer_fds[at] = open_known(st, layer.hex);
    }
    if (r == 0 && st->is_staged[at] && st->job.has_lower_links) {
        char own[DIGEST_HEX];
        memcpy(own, layer.hex, sizeof(own));
        staging_chain_hex(st->layers, st->n_layers, own, layer.hex);
    }
    st->layers[at] = layer;
    st->n_layers++;
    return r;
}

bool staging_add_known(struct staging *st, const char *hex)
{
    if (st->n_layers == IMAGE_LAYERS_MAX)
        return false;
    int fd = open_known(st, hex);
    if (fd < 0)
        return false;
    struct layout_layer *layer = &st->layers[st->n_layers];
    memcpy(layer->hex, hex, DIGEST_HEX);
    layer->size_bytes = layer_tree_size_at(st->store->layers_fd, hex);
    st->layer_fds[st->n_layers++] = fd;
    return true;
}

int staging_commit(struct staging *st, const char *name, const char *source, const json_t *extra, struct image **ret,
                   struct err *err)
{
    struct image_store *s = st->store;
    char file[RECORD_FILE];
    record_file(json_get_str(extra, "tenant", ""), name, file);
    JSON_OWNED record = record_new(name, source, st->layers, st->n_layers, &st->config);
    for (size_t i = 0; i < st->n_layers; i++)
        if (st->blobs[i])
            (void)json_object_set_new(json_array_get(json_get(record, "layers"), i), "blob", json_string(st->blobs[i]));
    if (extra)
        (void)json_object_update_missing(record, (json_t *)(uintptr_t)extra);

    if (syncfs(st->tmp.fd) < 0) /* before taking the lock, which the start of a sandbox may be waiting for */
        return err_set(err, err_from_errno(errno), errno, "write the layers");
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    for (size_t i = 0; i < st->n_layers; i++) {
        char layer[32];
        (void)snprintf(layer, sizeof(layer), "layer-%zu", i);
        if (!st->is_staged[i] && !layout_has_layer(s, st->layers[i].hex))
            return err_set(err, ERR_RATE_LIMITED, 0, "a layer was removed meanwhile: try again");
        int r = st->is_staged[i] ? layout_adopt_layer(s, st->tmp.fd, layer, st->layers[i].hex, err) : 0;
        if (r < 0)
            return r;
    }
    if (fsync(s->layers_fd) < 0)
        return err_set(err, err_from_errno(errno), errno, "write %s/layers", s->dir);
    int r = layout_write_json(s, s->images_fd, file, record, true, err);
    if (r == 0)
        r = record_to_image(s, record, name, ret, err);
    if (r == 0)
        (void)layout_collect(
            s, &st->tmp,
            NULL); /* layers of the image that had the name before; otherwise the next removal collects them */
    return r;
}
