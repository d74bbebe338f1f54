/* The image store as its users see it: names, resolution, listing, removal, pins and captured layers. A record
 * (images/<key>.json) maps a name to an ordered list of layers; a pin (pins/<owner>) keeps layers alive for a sandbox
 * or snapshot; a layer no record, pin or host view names is garbage. struct image_store owns the folder descriptors
 * (layout.c); every change of images/, layers/ or pins/ happens under the store's lock. A store opened with
 * image_store_attach() belongs to an unprivileged server: it reads records and writes pins itself and sends the rest to
 * the image tool (image_remote.c). Failure never leaves a record without its layers: pins are written before folders
 * move, so a crash can only leave a pin too many. */
#include "image/image.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/ident.h"
#include "base/strlist.h"
#include "base/utf8.h"
#include "image/host_view.h"
#include "image/image_policy.h"
#include "image/image_remote.h"
#include "image/layer_digest.h"
#include "image/layer_tree.h"
#include "image/layout.h"
#include "image/preset.h"
#include "image/record.h"
#include "os/tree.h"

#define OWNER_MAX 128

struct image *image_free(struct image *i)
{
    if (!i)
        return NULL;
    free(i->name);
    free(i->resolved);
    free(i->version);
    free(i->id);
    free(i->tenant);
    strlist_free(i->layers);
    free(i->layer_bytes);
    strlist_free(i->env);
    strlist_free(i->entrypoint);
    strlist_free(i->cmd);
    free(i->user);
    free(i->workdir);
    json_decref(i->more);
    (void)image_helper_unref(i->helper);
    free(i);
    return NULL;
}

struct image *image_copy(const struct image *i)
{
    struct image *copy = xzalloc(sizeof(*copy));
    *copy = (struct image){ .name = xstrdup(i->name),
                            .resolved = xstrdup(i->resolved),
                            .version = xstrdup(i->version),
                            .id = xstrdup(i->id),
                            .tenant = xstrdup(i->tenant),
                            .layers = i->layers ? strlist_copy(i->layers) : NULL,
                            .n_layers = i->n_layers,
                            .layer_bytes = xzalloc((i->n_layers + 1) * sizeof(*copy->layer_bytes)),
                            .is_host = i->is_host,
                            .env = strlist_copy(i->env),
                            .entrypoint = strlist_copy(i->entrypoint),
                            .cmd = strlist_copy(i->cmd),
                            .user = xstrdup(i->user),
                            .workdir = xstrdup(i->workdir),
                            .size_bytes = i->size_bytes,
                            .more = json_deep_copy(i->more) };
    if (i->layer_bytes && i->n_layers)
        memcpy(copy->layer_bytes, i->layer_bytes, i->n_layers * sizeof(*copy->layer_bytes));
    return copy;
}

int image_store_open(const char *dir, struct image_store **ret, struct err *err)
{
    int r = layout_open(dir, ret, err);
    if (r == 0)
        (void)record_rekey(*ret, false);
    return r;
}

int image_store_attach(const char *data_dir, struct keeper *k, unsigned job, struct image_store **ret, struct err *err)
{
    CLEANUP(free_p) char *dir = xasprintf("%s/images", data_dir);
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    int r = layout_attach(dir, &s, err);
    if (r == 0)
        r = image_remote_new(data_dir, k, job, &s->remote, err);
    if (r == 0 && record_rekey(s, true) > 0)
        (void)image_collect(s, NULL); /* the image tool renames them when it starts */
    if (r == 0)
        *ret = STEAL(s);
    return r;
}

struct image_store *image_store_close(struct image_store *s)
{
    if (s)
        s->remote = image_remote_free(s->remote);
    return layout_close(s);
}

void image_store_allow_host(struct image_store *s, bool is_allowed)
{
    s->is_host_barred = !is_allowed;
}

void image_store_use_policy(struct image_store *s, const struct image_policy *policy)
{
    s->policy = policy;
}

void image_on_progress(struct image_store *s, void (*fn)(void *arg, int64_t done_bytes, int64_t total_bytes), void *arg)
{
    s->on_progress = fn;
    s->progress_arg = arg;
}

int image_name_check(const char *name, struct err *err)
{
    size_t len = name ? strlen(name) : 0;
    if (len == 0)
        return err_set(err, ERR_INVALID, 0, "image name is empty");
    if (len > IMAGE_NAME_MAX)
        return err_set(err, ERR_INVALID, 0, "image name has %zu bytes, the limit is %d", len, IMAGE_NAME_MAX);
    if (strstr(name, "..") || strchr(name, '$'))
        return err_set(err, ERR_INVALID, 0, "image name must not contain \"..\" or \"$\"");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
            return err_set(err, ERR_INVALID, 0, "image name must not contain control bytes");
    if (!utf8_is_valid(name, len))
        return err_set(err, ERR_INVALID, 0, "image name is not valid UTF-8");
    return 0;
}

static const struct image_scope operator_scope = { .tenant = "" };

static int read_named(struct image_store *s, const char *tenant, const char *name, json_t **ret, struct err *err)
{
    char file[RECORD_FILE];
    record_file(tenant, name, file);
    return layout_read_json(s->images_fd, file, ret, err);
}

static bool is_seen(const struct image_scope *scope, const json_t *record)
{
    const char *tenant = json_get_str(record, "tenant", "");
    return scope->has_all || strcmp(tenant, scope->tenant) == 0 || (!*tenant && scope->has_shared);
}

struct search {
    const struct image_scope *scope;
    const char *id;
    json_t *found; /* a record, or a list of them by name */
};

static bool match_id(void *arg, json_t *record)
{
    struct search *search = arg;
    if (strcmp(json_get_str(record, "id", ""), search->id) != 0 || !is_seen(search->scope, record))
        return true;
    search->found = json_incref(record);
    return false;
}

/* Finds a record by any spelling of its name, or by id. */
static int find_record(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                       struct err *err)
{
    int r = read_named(s, scope->tenant, name, ret, err);
    if (r == -ENOENT && *scope->tenant && scope->has_shared)
        r = read_named(s, "", name, ret, err);
    if (r == -ENOENT && digest_from_ref(name)) {
        const struct image_scope own = { scope->tenant, scope->has_shared, false };
        struct search search = { .scope = &own, .id = name };
        record_each(s, match_id, &search);
        *ret = search.found;
        r = search.found ? 0 : r;
    }
    return r;
}

static json_t *host_record(const char *name, const struct layout_layer *layer)
{
    CLEANUP(manifest_config_done) struct manifest_config config = { 0 };
    host_view_config(&config);
    json_t *record = record_new(name, "host", layer, 1, &config);
    json_object_set_new(record, "id", json_string("host"));
    return record;
}

/* "alpine:3, python, shell (12 more: iii image ls)" */
static void name_what_is_here(struct image_store *s, const struct image_scope *scope, struct buf *out)
{
    const struct image_scope own = { scope->tenant, scope->has_shared, false };
    JSON_OWNED list = image_list(s, &own);
    size_t n = json_array_size(list), at = 0;
    for (; at < n && out->len < 100; at++)
        (void)buf_addf(out, "%s%s", at ? ", " : "", json_get_str(json_array_get(list, at), "name", ""));
    if (at < n)
        (void)buf_addf(out, " (%zu more: iii image ls)", n - at);
    if (n == 0)
        (void)buf_add_str(out, "nothing");
}

static int not_found(struct image_store *s, const struct image_scope *scope, const char *name,
                     const struct preset *preset, struct err *err)
{
    CLEANUP(buf_done) struct buf here = BUF_INIT(1024);
    name_what_is_here(s, scope, &here);
    if (preset && !preset->reference)
        return err_set(err, ERR_NOT_FOUND, 0,
                       "preset \"%s\" is this host's own programs, and %s: name an image; here are: %s", name,
                       s->is_host_barred ? "III_PRESETS=image takes them out" : "the host has none that fit",
                       buf_text(&here));
    return err_set(
        err, ERR_NOT_FOUND, 0,
        "image \"%.80s\" is not in the store: `iii image pull %.80s` or `iii image import FILE.tar %.80s` adds "
        "it; here are: %s",
        name, preset ? preset->reference : name, name, buf_text(&here));
}

/* A preset: its own image, an image of that name, the host's view. Any other name: only the image of that name. */
static int find_or_host(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                        struct err *err)
{
    const struct preset *preset = preset_find(name);
    int r = image_name_check(name, err);
    if (r < 0)
        return r;
    r = preset && preset->reference ? find_record(s, scope, preset->reference, ret, err) : -ENOENT;
    if (r == -ENOENT)
        r = find_record(s, scope, name, ret, err);
    if (r != -ENOENT)
        return r;
    if (!preset || s->is_host_barred || !host_view_fits(preset))
        return not_found(s, scope, name, preset, err);
    struct layout_layer layer;
    r = host_view_layer(s, &layer, err);
    if (r == 0)
        *ret = host_record(name, &layer);
    return r;
}

/* What a preset states in the place of an image's config. */
static void use_preset(struct image_store *s, const struct preset *p, struct image *image)
{
    image->version = host_view_version(s, p);
    strlist_free(image->cmd);
    image->cmd = NULL;
    strlist_add(&image->cmd, p->program);
}

int image_resolve(struct image_store *s, const char *name, struct image **ret, struct err *err)
{
    return image_resolve_for(s, &operator_scope, name, ret, err);
}

int image_resolve_for(struct image_store *s, const struct image_scope *scope, const char *name, struct image **ret,
                      struct err *err)
{
    assert(s->magic == LAYOUT_MAGIC);
    JSON_OWNED record = NULL;
    int r = find_or_host(s, scope ? scope : &operator_scope, name, &record, err);
    if (r == 0)
        r = image_policy_check(s->policy, record, NULL, err);
    if (r < 0)
        return r;
    record_touch(s, record);
    r = record_to_image(s, record, name, ret, err);
    if (r == 0 && (*ret)->is_host && strcmp((*ret)->resolved, "host") == 0)
        use_preset(s, preset_find(name), *ret);
    return r;
}

int image_inspect(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                  struct err *err)
{
    return find_or_host(s, scope ? scope : &operator_scope, name, ret, err);
}

static bool add_to_list(void *arg, json_t *record)
{
    struct search *list = arg;
    const char *name = json_get_str(record, "name", NULL), *tenant = json_get_str(record, "tenant", "");
    if (!name || !is_seen(list->scope, record) ||
        strncmp(name, IMAGE_BUILD_CACHE, strlen(IMAGE_BUILD_CACHE)) == 0) /* steps of builds have no name to users */
        return true;
    json_t *row = json_pack(
        "{s:s,s:s,s:I,s:I,s:I,s:s}", "name", name, "id", json_get_str(record, "id", ""), "size",
        (json_int_t)json_get_int(record, "size", 0), "layers", (json_int_t)json_array_size(json_get(record, "layers")),
        "createdAt", (json_int_t)json_get_int(record, "createdAt", 0), "source", json_get_str(record, "source", ""));
    if (*tenant)
        (void)json_object_set_new(row, "tenant", json_string(tenant));
    if (json_get(record, "signedBy"))
        (void)json_object_set(row, "signedBy", json_get(record, "signedBy"));
    CLEANUP(free_p) char *key = xasprintf("%s\n%s", name, tenant); /* tenants may have the same names */
    json_object_set_new(list->found, key, row);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *image_list(struct image_store *s, const struct image_scope *scope)
{
    static const struct image_scope all = { .tenant = "", .has_all = true };
    JSON_OWNED by_name = json_object();
    struct search search = { .scope = scope ? scope : &all, .found = by_name };
    const struct image_scope own = { search.scope->tenant, search.scope->has_shared, false };
    record_each(s, add_to_list, &search);
    struct layout_layer layer;
    bool has_view = !s->is_host_barred && host_view_layer(s, &layer, NULL) == 0;
    const struct preset *p;
    for (size_t i = 0; has_view && (p = preset_at(i)); i++) {
        JSON_OWNED stored = NULL;
        if (strcmp(p->name, "host") == 0 || !host_view_fits(p) || find_record(s, &own, p->name, &stored, NULL) == 0 ||
            (p->reference && find_record(s, &own, p->reference, &stored, NULL) == 0))
            continue;
        JSON_OWNED record = host_record(p->name, &layer);
        const struct image_scope any = { .tenant = "" };
        (void)add_to_list(&(struct search){ .scope = &any, .found = by_name }, record);
    }

    size_t n = json_object_size(by_name), at = 0;
    CLEANUP(free_p) const char **names = xzalloc((n + 1) * sizeof(*names));
    const char *name;
    json_t *item;
    json_object_foreach(by_name, name, item) names[at++] = name;
    qsort(names, n, sizeof(*names), compare_names);
    json_t *list = json_array();
    for (at = 0; at < n; at++)
        json_array_append(list, json_object_get(by_name, names[at]));
    return list;
}

int image_prune(struct image_store *s, struct err *err)
{
    layout_sweep_partial(s, true);
    int r = image_forget_builds(s, err);
    return r < 0 ? r : image_collect(s, err);
}

int image_collect(struct image_store *s, struct err *err)
{
    if (s->remote)
        return image_remote_call(s->remote, json_pack("{s:s}", "op", "collect"), NULL, err);
    return layout_collect_now(s, err);
}

static int remove_record(struct image_store *s, const struct image_scope *scope, const char *name, struct err *err)
{
    JSON_OWNED record = NULL;
    char file[RECORD_FILE];
    int r = find_record(s, scope, name, &record, err);
    if (r == -ENOENT && preset_find(name) && host_view_fits(preset_find(name)))
        return err_set(err, ERR_INVALID, 0,
                       "\"%s\" is this host's own view, not a stored image: there is nothing to remove", name);
    if (r == -ENOENT)
        return err_set(err, ERR_NOT_FOUND, 0, "image \"%s\" is not in the store (`iii image ls` lists it)", name);
    if (r < 0)
        record_file(scope->tenant, name, file); /* the record is damaged: removing it is all that can be done */
    else if (strcmp(json_get_str(record, "tenant", ""), scope->tenant) != 0)
        return err_set(err, ERR_FORBIDDEN, 0,
                       "image \"%s\" is the operator's, for all tenants: only the operator removes it", name);
    else
        record_file_of(record, file);
    if (unlinkat(s->images_fd, file, 0) < 0)
        return err_set(err, err_from_errno(errno), errno, "remove image %s", name);
    return 0;
}

int image_remove(struct image_store *s, const struct image_scope *scope, const char *name, struct err *err)
{
    int r = image_name_check(name, err);
    if (!scope)
        scope = &operator_scope;
    if (r < 0)
        return r;
    if (s->remote)
        return image_remote_call(s->remote,
                                 json_pack("{s:s, s:s, s:s, s:b}", "op", "remove", "name", name, "tenant",
                                           scope->tenant, "hasShared", scope->has_shared),
                                 NULL, err);
    int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    r = remove_record(s, scope, name, err);
    (void)close(lock);
    return r < 0 ? r : image_collect(s, err);
}

/* The digest of a layer folder that image_resolve() gave, or NULL when it is not one of this store. */
static const char *layer_hex(struct image_store *s, const char *folder)
{
    size_t n = strlen(s->dir);
    if (strncmp(folder, s->dir, n) != 0 || strncmp(folder + n, "/layers/", 8) != 0 || !digest_is_hex(folder + n + 8))
        return NULL;
    return folder + n + 8;
}

static int check_owner(const char *owner, struct err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t len = strlen(owner);
    if (len == 0 || len > OWNER_MAX || owner[0] == '.' || strspn(owner, letters) != len)
        return err_set(err, ERR_INVALID, 0,
                       "pin owner \"%.60s\": 1 to %d letters, digits, _ . and -, not beginning with a dot", owner,
                       OWNER_MAX);
    return 0;
}

int image_pin(struct image_store *s, const struct image *i, const char *owner, struct err *err)
{
    int r = check_owner(owner, err);
    if (r < 0)
        return r;
    JSON_OWNED list = json_array();
    char shared[sizeof(LAYOUT_SHARED) + DIGEST_HEX] = LAYOUT_SHARED;
    CLEANUP(digest_done) struct digest sum;
    digest_init(&sum);
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_SH, err); /* excludes collection, not other pins */
    if (lock < 0)
        return lock;
    for (size_t at = 0; at < i->n_layers; at++) {
        const char *hex = layer_hex(s, i->layers[at]);
        if (!hex)
            return err_set(err, ERR_INVALID, 0, "%s is not a layer of this store", i->layers[at]);
        if (!layout_has_layer(s, hex))
            return err_set(err, ERR_GONE, 0, "image %s was removed during the operation", i->name);
        json_array_append_new(list, json_pack("{s:s}", "digest", hex));
        digest_add(&sum, hex, strlen(hex));
    }
    /* Owners of the same layers share one file by hard links; one of the links has the layers' digest as its name. A
     * new file for each pin costs much more: the file system searches for an inode that was not just freed, among all
     * those of sandboxes created and deleted before. */
    digest_hex(&sum, shared + strlen(LAYOUT_SHARED));
    if (linkat(s->pins_fd, shared, s->pins_fd, owner, 0) == 0)
        return 0;
    if (errno == EMLINK)
        (void)unlinkat(s->pins_fd, shared, 0); /* later pins share ours */
    JSON_OWNED doc = json_pack("{s:O}", "layers", list);
    r = layout_write_json(s, s->pins_fd, owner, doc, false, err);
    if (r == 0) /* the link may exist; without it each pin is a file of its own */
        (void)!linkat(s->pins_fd, owner, s->pins_fd, shared, 0);
    return r;
}

int image_unpin_lazy(struct image_store *s, const char *owner, struct err *err)
{
    int r = check_owner(owner, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_SH, err);
    if (lock < 0)
        return lock;
    if (unlinkat(s->pins_fd, owner, 0) < 0 && errno != ENOENT)
        return err_set(err, err_from_errno(errno), errno, "unpin %s", owner);
    return 0;
}

int image_unpin(struct image_store *s, const char *owner, struct err *err)
{
    int r = image_unpin_lazy(s, owner, err);
    return r < 0 ? r : image_collect(s, err);
}

int image_sweep_pins(struct image_store *s, bool (*is_alive)(void *arg, const char *owner), void *arg, struct err *err)
{
    int fd = openat(s->pins_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        close_fd_p(&fd);
        return err_set(err, ERR_INTERNAL, errno, "read %s/pins", s->dir);
    }
    for (struct dirent *e = readdir(d); e && r == 0; e = readdir(d)) {
        bool is_part = strncmp(e->d_name, LAYOUT_PART, strlen(LAYOUT_PART)) == 0;
        if (is_part || strncmp(e->d_name, LAYOUT_SHARED, strlen(LAYOUT_SHARED)) == 0)
            (void)unlinkat(s->pins_fd, e->d_name, 0); /* left by a server that died; retried at the next start */
        else if (e->d_name[0] != '.' && !is_alive(arg, e->d_name))
            r = image_unpin_lazy(s, e->d_name, err);
    }
    closedir(d);
    return r < 0 ? r : image_collect(s, err);
}

static json_t *layered_record(struct image_store *s, const struct image *base, const char *name,
                              const struct layout_layer *top)
{
    struct layout_layer *layers = xzalloc((base->n_layers + 1) * sizeof(*layers));
    for (size_t i = 0; i < base->n_layers; i++) {
        memcpy(layers[i].hex, layer_hex(s, base->layers[i]), DIGEST_HEX);
        layers[i].size_bytes = base->layer_bytes ? base->layer_bytes[i] : 0;
    }
    layers[base->n_layers] = *top;
    const struct manifest_config config = record_config(base);
    json_t *record = record_new(name, "layer", layers, base->n_layers + 1, &config);
    free(layers);
    return record;
}

static int check_base(struct image_store *s, const struct image *base, struct err *err)
{
    if (base->n_layers >= IMAGE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0,
                       "image %s already has %zu layers, the limit is %d: start from a new image", base->name,
                       base->n_layers, IMAGE_LAYERS_MAX);
    for (size_t i = 0; i < base->n_layers; i++)
        if (!layer_hex(s, base->layers[i]))
            return err_set(err, ERR_INVALID, 0, "%s is not a layer of this store", base->layers[i]);
    return 0;
}

int64_t image_store_free_mb(const struct image_store *s)
{
    struct statvfs st;
    if (fstatvfs(s->dir_fd, &st) < 0)
        return -1;
    return (int64_t)((uint64_t)st.f_bavail * st.f_frsize >> 20);
}

int64_t image_store_disk_mb(const struct image_store *s)
{
    struct statvfs st;
    return fstatvfs(s->dir_fd, &st) < 0 ? -1 : (int64_t)((uint64_t)st.f_blocks * st.f_frsize >> 20);
}

char *image_layer_path(struct image_store *s)
{
    unsigned char raw[32];
    char hex[DIGEST_HEX];
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), hex);
    return layout_layer_path(s, hex);
}

int image_stack_at(struct image_store *s, const struct image *base, int parent, const char *folder, const char *hex,
                   const char *owner, struct err *err)
{
    int r = check_owner(owner, err);
    if (r == 0)
        r = check_base(s, base, err);
    if (r < 0)
        return r;
    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    JSON_OWNED list = json_array();
    for (size_t i = 0; i < base->n_layers; i++) {
        if (!layout_has_layer(s, layer_hex(s, base->layers[i])))
            return err_set(err, ERR_GONE, 0, "image %s was removed during the operation", base->name);
        json_array_append_new(list, json_pack("{s:s}", "digest", layer_hex(s, base->layers[i])));
    }
    json_array_append_new(list, json_pack("{s:s}", "digest", hex));
    JSON_OWNED doc = json_pack("{s:O}", "layers", list);
    /* The pin comes before the move: after a crash, a collection finds at most a pin too many. */
    r = layout_write_json(s, s->pins_fd, owner, doc, false, err);
    return r < 0 ? r : layout_adopt_layer(s, parent, folder, hex, err);
}

/* The digests of layer folders; NULL when one is not of this store. */
static json_t *digests_of(struct image_store *s, char *const *folders, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const char *hex = layer_hex(s, folders[i]);
        if (!hex)
            return json_unref(list);
        (void)json_array_append_new(list, json_string(hex));
    }
    return list;
}

int image_stack_layer(struct image_store *s, const struct image *base, const char *folder, const char *layer,
                      const char *owner, struct image **ret, struct err *err)
{
    int r = check_owner(owner, err);
    if (r == 0)
        r = check_base(s, base, err);
    if (r < 0)
        return r;
    struct layout_layer top = { 0 };
    if (!layer_hex(s, layer))
        return err_set(err, ERR_INVALID, 0, "%s is not a layer of this store", layer);
    memcpy(top.hex, layer_hex(s, layer), DIGEST_HEX);
    JSON_OWNED record = layered_record(s, base, base->name, &top);
    const char *name = s->remote ? image_remote_folder(s->remote, folder) : folder;
    struct image_helper *helper = NULL;
    if (!name)
        return err_set(err, ERR_INVALID, 0, "%s is not below the data folder", folder);
    if (s->remote) {
        json_t *request =
            json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "op", "stack", "name", base->name, "layers",
                      digests_of(s, base->layers, base->n_layers), "folder", name, "layer", top.hex, "owner", owner);
        r = image_remote_work(s->remote, request, &(struct image_remote_how){ .keep = &helper }, NULL, err);
    } else {
        r = image_stack_at(s, base, AT_FDCWD, folder, top.hex, owner, err);
    }
    if (r >= 0)
        r = record_to_image(s, record, base->name, ret, err);
    if (r < 0)
        (void)image_helper_unref(helper);
    else
        (*ret)->helper = helper;
    return r;
}

int image_add_layer(struct image_store *s, const struct image *base, const char *folder, const char *name,
                    struct image **ret, struct err *err)
{
    int r = image_name_check(name, err);
    if (r == 0)
        r = check_base(s, base, err);
    struct stat st;
    if (r < 0)
        return r;
    if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, 0, "%s is not a folder", folder);
    /* Hashing a captured layer would read all of it during a snapshot. A random name is as unique, and no other image
     * could share the same content. */
    unsigned char raw[32];
    struct layout_layer top = { .size_bytes = layer_tree_size_at(AT_FDCWD, folder) };
    ident_random(raw, sizeof(raw));
    ident_hex(raw, sizeof(raw), top.hex);
    JSON_OWNED record = layered_record(s, base, name, &top);
    char file[RECORD_FILE];
    record_own(record, base->tenant);
    record_file_of(record, file);

    CLEANUP(close_fd_p) int lock = layout_lock(s, LOCK_EX, err);
    if (lock < 0)
        return lock;
    for (size_t i = 0; i < base->n_layers; i++)
        if (!layout_has_layer(s, layer_hex(s, base->layers[i])))
            return err_set(err, ERR_GONE, 0, "image %s was removed during the operation", base->name);
    r = layout_adopt_layer(s, AT_FDCWD, folder, top.hex, err);
    if (r == 0)
        r = layout_write_json(s, s->images_fd, file, record, true, err);
    return r < 0 ? r : record_to_image(s, record, name, ret, err);
}

int image_sum(struct image_store *s, char *const *layers, struct image_helper *helper, const atomic_bool *stop,
              char ret[DIGEST_HEX], struct err *err)
{
    if (!s->remote)
        return layer_digest_of(layers, stop, ret, err);
    JSON_OWNED answer = NULL;
    json_t *list = digests_of(s, layers, strlist_count(layers));
    if (!list)
        return err_set(err, ERR_INVALID, 0, "a layer is not in this store");
    int r = image_remote_work(s->remote, json_pack("{s:s, s:o}", "op", "sum", "layers", list),
                              &(struct image_remote_how){ .helper = helper, .stop = stop }, &answer, err);
    const char *sum = json_get_str(answer, "sum", "");
    if (r == 0 && !digest_is_hex(sum))
        return err_set(err, ERR_INTERNAL, 0, "the image tool returned no checksum");
    if (r == 0)
        memcpy(ret, sum, DIGEST_HEX);
    return r;
}

int64_t image_bytes(struct image_store *s, char *const *layers, struct image_helper *helper)
{
    JSON_OWNED answer = NULL;
    if (!s->remote)
        return layer_digest_bytes(layers, strlist_count(layers));
    json_t *list = digests_of(s, layers, strlist_count(layers));
    if (!list || image_remote_work(s->remote, json_pack("{s:s, s:o}", "op", "bytes", "layers", list),
                                   &(struct image_remote_how){ .helper = helper }, &answer, NULL) < 0)
        return 0;
    return json_get_int(answer, "bytes", 0);
}

void image_discard(struct image_store *s, const char *folder)
{
    const char *name = s->remote ? image_remote_folder(s->remote, folder) : NULL;
    if (name)
        (void)image_remote_call(s->remote, json_pack("{s:s, s:s}", "op", "discard", "folder", name), NULL, NULL);
    else
        (void)tree_remove(AT_FDCWD, folder, NULL); /* on failure the sweep of the next start removes it */
}
