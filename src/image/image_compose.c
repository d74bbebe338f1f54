/* Images composed of layers that are in the store already: the result of a build. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "image/image.h"
#include "image/layer_tree.h"
#include "image/layout.h"
#include "image/record.h"

int image_compose(struct image_store *s, const struct image *like, const char *name, struct err *err)
{
    CLEANUP(free_p) struct layout_layer *layers = xzalloc((IMAGE_LAYERS_MAX + 1) * sizeof(*layers));
    char file[RECORD_FILE];
    int r = image_name_check(name, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    if (like->n_layers > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "an image has at most %d layers: use fewer RUN, COPY and ADD",
                       IMAGE_LAYERS_MAX);
    for (size_t i = 0; i < like->n_layers; i++) {
        const char *slash = strrchr(like->layers[i], '/');
        if (!slash || !digest_is_hex(slash + 1) || !layout_has_layer(s, slash + 1))
            return err_set(err, ERR_GONE, 0, "image %s was removed during the operation", like->name);
        memcpy(layers[i].hex, slash + 1, DIGEST_HEX);
        layers[i].size_bytes = like->layer_bytes ? like->layer_bytes[i] : 0;
    }
    const struct manifest_config config = record_config(like);
    JSON_OWNED record = record_new(name, "layer", layers, like->n_layers, &config);
    record_own(record, like->tenant);
    record_file_of(record, file);
    return layout_write_json(s, s->images_fd, file, record, true, err);
}

int image_from_pin(struct image_store *s, const char *owner, const struct image *base, struct image **ret,
                   struct err *err)
{
    JSON_OWNED pin = NULL;
    if (strchr(owner, '/') || owner[0] == '.' || layout_read_json(s->pins_fd, owner, &pin, err) < 0)
        return err_set(
            err, ERR_NOT_FOUND, 0,
            "%.60s holds no layers in %s: is this the server's own data folder, and its backend native? What "
            "other backends keep of a sandbox are no layers",
            owner, s->dir);
    const json_t *layers = json_get(pin, "layers");
    size_t n = json_array_size(layers);
    if (n == 0 || n > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "an image has 1 to %d layers, this would have %zu", IMAGE_LAYERS_MAX, n);
    CLEANUP(image_free_p) struct image *made = image_copy(base);
    (void)strlist_free(made->layers);
    made->layers = xzalloc((n + 1) * sizeof(*made->layers));
    made->layer_bytes = xrealloc(made->layer_bytes, (n + 1) * sizeof(*made->layer_bytes));
    made->n_layers = 0;
    made->size_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const char *hex = json_get_str(json_array_get(layers, i), "digest", "");
        if (!digest_is_hex(hex))
            return err_set(err, ERR_INVALID, 0, "pin %s names a layer that cannot be", owner);
        made->layers[made->n_layers++] = layout_layer_path(s, hex);
        bool is_known = i < base->n_layers && strcmp(base->layers[i], made->layers[i]) == 0 && base->layer_bytes;
        made->layer_bytes[i] = is_known ? base->layer_bytes[i] : layer_tree_size_at(s->layers_fd, hex);
        made->size_bytes += made->layer_bytes[i];
    }
    *ret = STEAL(made);
    return 0;
}

static bool note_cached(void *arg, json_t *record)
{
    const char *name = json_get_str(record, "name", "");
    char file[RECORD_FILE];
    record_file_of(record, file);
    if (strncmp(name, IMAGE_BUILD_CACHE, strlen(IMAGE_BUILD_CACHE)) == 0)
        (void)json_array_append_new(arg, json_string(file));
    return true;
}

int image_forget_builds(struct image_store *s, struct err *err)
{
    JSON_OWNED files = json_array();
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    record_each(s, note_cached, files);
    for (size_t i = 0; i < json_array_size(files); i++)
        if (unlinkat(s->images_fd, json_string_value(json_array_get(files, i)), 0) < 0 && errno != ENOENT)
            return err_set(err, err_from_errno(errno), errno, "remove a cached build step");
    return 0;
}

int image_of_layers(struct image_store *s, const json_t *digests, bool is_host, struct image **ret, struct err *err)
{
    size_t n = json_array_size(digests);
    if (n == 0 || n > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "an image has 1 to %d layers, this one has %zu", IMAGE_LAYERS_MAX, n);
    CLEANUP(image_free_p) struct image *made = xzalloc(sizeof(*made));
    made->layers = xzalloc((n + 1) * sizeof(*made->layers));
    made->layer_bytes = xzalloc((n + 1) * sizeof(*made->layer_bytes));
    made->is_host = is_host;
    for (size_t i = 0; i < n; i++) {
        const char *hex = json_string_value(json_array_get(digests, i));
        if (!hex || !digest_is_hex(hex) || !layout_has_layer(s, hex))
            return err_set(err, ERR_GONE, 0, "a layer was removed during the build: build again");
        made->layers[made->n_layers++] = layout_layer_path(s, hex);
    }
    *ret = STEAL(made);
    return 0;
}
