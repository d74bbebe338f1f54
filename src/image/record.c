#include "image/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/strlist.h"
#include "image/reference.h"

void record_file(const char *tenant, const char *name, char ret[RECORD_FILE])
{
    char hex[DIGEST_HEX], canonical[REFERENCE_MAX];
    reference_canonical(name, canonical);
    CLEANUP(free_p)
    char *owned = xasprintf("%s%s%s", tenant, *tenant ? "\n" : "", canonical); /* no name has a line break */
    digest_of(owned, strlen(owned), hex);
    (void)snprintf(ret, RECORD_FILE, "%s.json", hex);
}

void record_file_of(const json_t *record, char ret[RECORD_FILE])
{
    record_file(json_get_str(record, "tenant", ""), json_get_str(record, "name", ""), ret);
}

static json_t *list_or_null(char *const *list)
{
    return list ? strlist_to_json(list) : json_null();
}

json_t *record_new(const char *name, const char *source, const struct layout_layer *layers, size_t n_layers,
                   const struct manifest_config *config)
{
    json_t *list = json_array();
    int64_t size = 0;
    /* The id covers what a sandbox sees: layers and configuration, not the name or the time. */
    struct digest id;
    char hex[DIGEST_HEX];
    digest_init(&id);
    for (size_t i = 0; i < n_layers; i++) {
        digest_add(&id, layers[i].hex, strlen(layers[i].hex));
        json_array_append_new(
            list, json_pack("{s:s,s:I}", "digest", layers[i].hex, "size", (json_int_t)layers[i].size_bytes));
        size += layers[i].size_bytes;
    }
    json_t *cfg =
        json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "env", list_or_null(config->env), "entrypoint",
                  list_or_null(config->entrypoint), "cmd", list_or_null(config->cmd), "user",
                  json_text(config->user ? config->user : "", config->user ? strlen(config->user) : 0), "workdir",
                  json_text(config->workdir ? config->workdir : "", config->workdir ? strlen(config->workdir) : 0),
                  "isHost", config->is_host);
    size_t len = 0;
    CLEANUP(free_p) char *text = json_write(cfg, &len);
    if (text)
        digest_add(&id, text, len);
    digest_end(&id, hex);
    if (config->more)
        (void)json_object_update_missing(cfg, config->more);
    return json_pack("{s:i,s:s,s:s+,s:s,s:I,s:I,s:b,s:o,s:o}", "v", 1, "name", name, "id", "sha256:", hex, "source",
                     source, "createdAt", (json_int_t)clock_wall_ms(), "size", (json_int_t)size, "rootless",
                     geteuid() != 0, "layers", list, "config", cfg);
}

void record_own(json_t *record, const char *tenant)
{
    if (tenant && *tenant)
        (void)json_object_set_new(record, "tenant", json_string(tenant));
}

struct manifest_config record_config(const struct image *i)
{
    return (struct manifest_config){ .env = i->env,
                                     .entrypoint = i->entrypoint,
                                     .cmd = i->cmd,
                                     .user = i->user,
                                     .workdir = i->workdir,
                                     .is_host = i->is_host,
                                     .more = i->more };
}

/* An overlay accepts each folder once. The higher one hides the same one below. */
static bool is_again_above(const json_t *layers, size_t at, const char *hex)
{
    for (size_t i = at + 1; i < json_array_size(layers); i++)
        if (strcmp(json_get_str(json_array_get(layers, i), "digest", ""), hex) == 0)
            return true;
    return false;
}

int record_to_image(struct image_store *s, const json_t *record, const char *asked, struct image **ret, struct err *err)
{
    CLEANUP(image_free_p) struct image *i = xzalloc(sizeof(*i));
    const json_t *cfg = json_get(record, "config");
    char resolved[REFERENCE_MAX] = "host";
    if (strcmp(json_get_str(record, "id", ""), "host") != 0)
        reference_canonical(json_get_str(record, "name", asked), resolved);
    i->name = xstrdup(asked);
    i->tenant = xstrdup(json_get_str(record, "tenant", ""));
    i->resolved = xstrdup(resolved);
    i->id = xstrdup(json_get_str(record, "id", ""));
    i->is_host = json_get_bool(cfg, "isHost", false);
    i->user = xstrdup(json_get_str(cfg, "user", ""));
    i->workdir = xstrdup(json_get_str(cfg, "workdir", ""));
    i->size_bytes = json_get_int(record, "size", 0);
    i->more = json_incref((json_t *)(uintptr_t)cfg);
    const json_t *layers = json_get(record, "layers");
    size_t n = json_array_size(layers);
    if (n > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_INVALID, 0, "image %s has %zu layers, the limit is %d", i->name, n, IMAGE_LAYERS_MAX);
    i->layers = xzalloc((n + 1) * sizeof(*i->layers));
    i->layer_bytes = xzalloc((n + 1) * sizeof(*i->layer_bytes));
    for (size_t at = 0; at < n; at++) {
        const char *hex = json_get_str(json_array_get(layers, at), "digest", "");
        if (is_again_above(layers, at, hex))
            continue;
        if (!digest_is_hex(hex))
            return err_set(err, ERR_INVALID, 0, "image %s: its record names a layer that cannot be", i->name);
        if (!layout_has_layer(s, hex))
            return err_set(err, ERR_GONE, errno == ENOENT ? 0 : errno,
                           "image %s: layer %.12s is missing from the store: import it again", i->name, hex);
        i->layer_bytes[i->n_layers] = json_get_int(json_array_get(layers, at), "size", 0);
        i->layers[i->n_layers++] = layout_layer_path(s, hex);
    }
    int r = manifest_words(json_get(cfg, "env"), "env", IMAGE_LIMITS_ENV, IMAGE_LIMITS_WORD_BYTES, &i->env, err);
    if (r == 0)
        r = manifest_words(json_get(cfg, "entrypoint"), "entrypoint", IMAGE_LIMITS_ARGS, IMAGE_LIMITS_WORD_BYTES,
                           &i->entrypoint, err);
    if (r == 0)
        r = manifest_words(json_get(cfg, "cmd"), "cmd", IMAGE_LIMITS_ARGS, IMAGE_LIMITS_WORD_BYTES, &i->cmd, err);
    if (r < 0)
        return r;
    *ret = STEAL(i);
    return 0;
}

void record_each(struct image_store *s, record_each_fn *fn, void *arg)
{
    int fd = openat(s->images_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return;
    }
    bool is_going = true;
    for (struct dirent *e = readdir(d); e && is_going; e = readdir(d)) {
        JSON_OWNED record = NULL;
        if (e->d_name[0] != '.' && layout_read_json(s->images_fd, e->d_name, &record, NULL) == 0)
            is_going = fn(arg, record);
    }
    closedir(d);
}

void record_touch(struct image_store *s, const json_t *record)
{
    char file[RECORD_FILE];
    if (strcmp(json_get_str(record, "source", ""), "oci") != 0)
        return;
    record_file_of(record, file);
    (void)utimensat(s->images_fd, file, NULL, 0); /* a use that is not recorded costs at most a pull */
}

struct rekey {
    struct image_store *store;
    size_t n;
    bool is_dry;
};

static bool rekey_one(void *arg, json_t *record)
{
    struct rekey *k = arg;
    const char *name = json_get_str(record, "name", "");
    char hex[DIGEST_HEX], old[RECORD_FILE], file[RECORD_FILE];
    JSON_OWNED there = NULL;
    digest_of(name, strlen(name), hex);
    (void)snprintf(old, sizeof(old), "%s.json", hex);
    record_file("", name, file);
    if (*json_get_str(record, "tenant", "") || strcmp(old, file) == 0 ||
        faccessat(k->store->images_fd, old, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return true;
    k->n++;
    if (k->is_dry)
        return true;
    if (layout_read_json(k->store->images_fd, file, &there, NULL) == 0 &&
        json_get_int(there, "createdAt", 0) > json_get_int(record, "createdAt", 0))
        (void)unlinkat(k->store->images_fd, old, 0); /* what fails is done at the next start */
    else
        (void)renameat(k->store->images_fd, old, k->store->images_fd, file);
    return true;
}

size_t record_rekey(struct image_store *s, bool is_dry)
{
    struct rekey k = { .store = s, .is_dry = is_dry };
    CLEANUP(close_fd_p) int lock = is_dry ? NO_FD : layout_lock(s, LOCK_EX, NULL);
    if (is_dry || lock >= 0)
        record_each(s, rekey_one, &k);
    return k.n;
}
