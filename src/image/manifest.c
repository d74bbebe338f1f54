/* The JSON of archives and registries, all of it untrusted: docker-save manifests, OCI indexes and manifests, image
 * configurations. Each parser checks kinds, counts and lengths (image_limits.h) and returns owned copies; nothing of
 * the document is kept. What a configuration states beyond what a sandbox uses (labels, ports, health check …) is kept
 * as `more`, member by member from the table below, so that an export can state it again. */
#include "image/manifest.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/strlist.h"
#include "image/image.h"
#include "image/image_limits.h"

#define BLOB_FOLDER "blobs/sha256/"

void manifest_parts_done(struct manifest_parts *p)
{
    free(p->config);
    strlist_free(p->layers);
    *p = (struct manifest_parts){ 0 };
}

void manifest_config_done(struct manifest_config *c)
{
    strlist_free(c->env);
    strlist_free(c->entrypoint);
    strlist_free(c->cmd);
    strlist_free(c->diff_ids);
    free(c->user);
    free(c->workdir);
    json_decref(c->more);
    *c = (struct manifest_config){ 0 };
}

const char *manifest_architecture(void)
{
#if defined(__x86_64__)
    return "amd64";
#elif defined(__aarch64__)
    return "arm64";
#elif defined(__riscv)
    return "riscv64";
#else
    return "unknown";
#endif
}

static int read_object(const char *text, size_t len, const char *what, json_t **ret, struct err *err)
{
    if (len > IMAGE_LIMITS_JSON_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0, "%s is over %d bytes", what, IMAGE_LIMITS_JSON_BYTES);
    if (json_read(text, len, ret, NULL) < 0) /* the parser's message would repeat bytes of what somebody sent */
        return err_set(err, ERR_INVALID, 0, "%s is not JSON", what);
    return 0;
}

int manifest_words(const json_t *j, const char *what, size_t max_items, size_t max_bytes, char ***ret, struct err *err)
{
    if (!j || json_is_null(j)) {
        *ret = NULL;
        return 0;
    }
    if (!json_is_array(j))
        return err_set(err, ERR_INVALID, 0, "%s is not a list", what);
    size_t n = json_array_size(j);
    if (n > max_items)
        return err_set(err, ERR_TOO_LARGE, 0, "%s has %zu items, the limit is %zu", what, n, max_items);

    CLEANUP(strlist_free_p) char **list = xzalloc((n + 1) * sizeof(*list));
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(j, i);
        if (!json_is_string(item) || strlen(json_string_value(item)) != json_string_length(item))
            return err_set(err, ERR_INVALID, 0, "%s, item %zu: not a text without NUL bytes", what, i + 1);
        if (json_string_length(item) > max_bytes)
            return err_set(err, ERR_TOO_LARGE, 0, "%s, item %zu: %zu bytes, the limit is %zu", what, i + 1,
                           json_string_length(item), max_bytes);
        list[i] = xstrdup(json_string_value(item));
    }
    *ret = STEAL(list);
    return 0;
}

int manifest_parse_docker(const char *text, size_t len, struct manifest_parts *ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = read_object(text, len, "manifest.json", &doc, err);
    if (r < 0)
        return r;
    if (!json_is_array(doc) || json_array_size(doc) == 0)
        return err_set(err, ERR_INVALID, 0, "manifest.json is not a list of images");
    if (json_array_size(doc) > 1)
        return err_set(err, ERR_INVALID, 0, "the archive holds %zu images: save one at a time", json_array_size(doc));
    const json_t *first = json_array_get(doc, 0);
    const char *config = json_get_str(first, "Config", NULL);
    if (!config || strlen(config) > IMAGE_LIMITS_PATH_BYTES)
        return err_set(err, ERR_INVALID, 0, "manifest.json names no Config");
    CLEANUP(strlist_free_p) char **layers = NULL;
    r = manifest_words(json_get(first, "Layers"), "manifest.json: Layers", IMAGE_LAYERS_MAX, IMAGE_LIMITS_PATH_BYTES,
                       &layers, err);
    if (r < 0)
        return r;
    if (strlist_count(layers) == 0)
        return err_set(err, ERR_INVALID, 0, "manifest.json: the image has no layers");
    ret->config = xstrdup(config);
    ret->layers = STEAL(layers);
    return 0;
}

int manifest_parse_index(const char *text, size_t len, char ret_hex[DIGEST_HEX], bool *ret_is_index, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = read_object(text, len, "index.json", &doc, err);
    if (r < 0)
        return r;
    const json_t *manifests = json_get(doc, "manifests");
    if (!json_is_array(manifests) || json_array_size(manifests) > IMAGE_LIMITS_BLOBS)
        return err_set(err, ERR_INVALID, 0, "index.json has no list of manifests");
    /* The descriptor for this host's platform; otherwise the only one that names no platform. */
    const json_t *picked = NULL, *plain = NULL;
    size_t n_plain = 0;
    for (size_t i = 0; i < json_array_size(manifests) && !picked; i++) {
        const json_t *d = json_array_get(manifests, i), *platform = json_get(d, "platform");
        if (!platform) {
            plain = d;
            n_plain++;
        } else if (strcmp(json_get_str(platform, "os", ""), "linux") == 0 &&
                   strcmp(json_get_str(platform, "architecture", ""), manifest_architecture()) == 0) {
            picked = d;
        }
    }
    if (!picked && n_plain == 1)
        picked = plain;
    if (!picked)
        return err_set(err, ERR_INVALID, 0, "index.json has no single image for linux/%s among its %zu",
                       manifest_architecture(), json_array_size(manifests));
    const char *hex = digest_from_ref(json_get_str(picked, "digest", NULL));
    if (!hex)
        return err_set(err, ERR_INVALID, 0, "index.json: a digest that is not sha256 with 64 hex digits");
    const char *type = json_get_str(picked, "mediaType", "");
    memcpy(ret_hex, hex, DIGEST_HEX);
    *ret_is_index = strstr(type, "image.index") || strstr(type, "manifest.list");
    return 0;
}

static char *blob_path(const json_t *descriptor)
{
    const char *hex = digest_from_ref(json_get_str(descriptor, "digest", NULL));
    return hex ? xasprintf(BLOB_FOLDER "%s", hex) : NULL;
}

int manifest_parse_oci(const char *text, size_t len, struct manifest_parts *ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = read_object(text, len, "image manifest", &doc, err);
    if (r < 0)
        return r;
    const json_t *layers = json_get(doc, "layers");
    size_t n = json_array_size(layers);
    if (n == 0 || n > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_INVALID, 0, "image manifest has %zu layers, 1 to %d are possible", n, IMAGE_LAYERS_MAX);
    CLEANUP(manifest_parts_done) struct manifest_parts parts = { 0 };
    parts.config = blob_path(json_get(doc, "config"));
    parts.layers = xzalloc((n + 1) * sizeof(*parts.layers));
    bool is_ok = parts.config != NULL;
    for (size_t i = 0; is_ok && i < n; i++)
        is_ok = (parts.layers[i] = blob_path(json_array_get(layers, i))) != NULL;
    if (!is_ok)
        return err_set(err, ERR_INVALID, 0, "image manifest: a digest that is not sha256 with 64 hex digits");
    *ret = (struct manifest_parts){ .config = STEAL(parts.config), .layers = STEAL(parts.layers) };
    return 0;
}

void manifest_image_done(struct manifest_image *m)
{
    free(m->layers);
    *m = (struct manifest_image){ 0 };
}

bool manifest_is_index(const char *text, size_t len)
{
    JSON_OWNED doc = NULL;
    return read_object(text, len, "manifest", &doc, NULL) == 0 && json_is_array(json_get(doc, "manifests"));
}

static bool read_descriptor(const json_t *descriptor, struct manifest_blob *ret)
{
    const char *hex = digest_from_ref(json_get_str(descriptor, "digest", NULL));
    ret->size = json_get_int(descriptor, "size", -1);
    if (!hex || ret->size < 0)
        return false;
    memcpy(ret->hex, hex, DIGEST_HEX);
    return true;
}

int manifest_parse_image(const char *text, size_t len, struct manifest_image *ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = read_object(text, len, "image manifest", &doc, err);
    if (r < 0)
        return r;
    if (json_get_int(doc, "schemaVersion", 0) != 2)
        return err_set(err, ERR_INVALID, 0, "the manifest is not of version 2: push the image again with a newer tool");
    const json_t *layers = json_get(doc, "layers");
    size_t n = json_array_size(layers);
    if (n == 0 || n > IMAGE_LAYERS_MAX)
        return err_set(err, ERR_INVALID, 0, "image manifest has %zu layers, 1 to %d are possible", n, IMAGE_LAYERS_MAX);
    struct manifest_image m = { .n_layers = n };
    m.layers = xzalloc(n * sizeof(*m.layers));
    bool is_ok = read_descriptor(json_get(doc, "config"), &m.config);
    for (size_t i = 0; is_ok && i < n; i++)
        is_ok = read_descriptor(json_array_get(layers, i), &m.layers[i]);
    if (!is_ok) {
        manifest_image_done(&m);
        return err_set(err, ERR_INVALID, 0, "image manifest: a part without size or with a digest that is not sha256");
    }
    *ret = m;
    return 0;
}

static int read_text(const json_t *obj, const char *key, size_t max, char **ret, struct err *err)
{
    const json_t *j = json_get(obj, key);
    if (!j)
        return 0;
    if (!json_is_string(j) || strlen(json_string_value(j)) != json_string_length(j))
        return err_set(err, ERR_INVALID, 0, "image config: %s is not a text without NUL bytes", key);
    if (json_string_length(j) > max)
        return err_set(err, ERR_TOO_LARGE, 0, "image config: %s is over %zu bytes", key, max);
    *ret = xstrdup(json_string_value(j));
    return 0;
}

/* Members of an image config that no sandbox needs. A keys' member is an object of which only the keys count. */
static const struct member {
    const char *theirs, *ours;
    json_type type;
    bool is_top, is_keys; /* is_top: beside "config", not in it */
} members[] = {
    { "Labels", "labels", JSON_OBJECT, false, false },
    { "ExposedPorts", "exposedPorts", JSON_OBJECT, false, true },
    { "Volumes", "volumes", JSON_OBJECT, false, true },
    { "Healthcheck", "healthcheck", JSON_OBJECT, false, false },
    { "StopSignal", "stopSignal", JSON_STRING, false, false },
    { "StopTimeout", "stopTimeout", JSON_INTEGER, false, false },
    { "Shell", "shell", JSON_ARRAY, false, false },
    { "OnBuild", "onBuild", JSON_ARRAY, false, false },
    { "ArgsEscaped", "argsEscaped", JSON_TRUE, false, false },
    { "author", "author", JSON_STRING, true, false },
    { "created", "created", JSON_STRING, true, false },
    { "variant", "variant", JSON_STRING, true, false },
    { "history", "history", JSON_ARRAY, true, false },
};
#define N_MEMBERS (sizeof(members) / sizeof(members[0]))

static int read_more(const json_t *doc, json_t **ret, struct err *err)
{
    JSON_OWNED more = json_object();
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const struct member *m = &members[i];
        json_t *value = json_object_get(m->is_top ? doc : json_get(doc, "config"), m->theirs);
        if (!value || json_is_null(value) || json_is_false(value))
            continue;
        if (json_typeof(value) != m->type)
            return err_set(err, ERR_INVALID, 0, "image config: %s is of another kind than the specification states",
                           m->theirs);
        if (m->is_keys) {
            json_t *keys = json_array();
            const char *key;
            json_t *ignored;
            json_object_foreach(value, key, ignored)(void) json_array_append_new(keys, json_text(key, strlen(key)));
            (void)json_object_set_new(more, m->ours, keys);
        } else {
            (void)json_object_set(more, m->ours, value);
        }
    }
    size_t len = 0;
    CLEANUP(free_p) char *text = json_object_size(more) ? json_write(more, &len) : NULL;
    if (len > IMAGE_LIMITS_MORE_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0,
                       "image config: labels, history and the like have %zu bytes, the limit is %d", len,
                       IMAGE_LIMITS_MORE_BYTES);
    *ret = text ? json_incref(more) : NULL;
    return 0;
}

void manifest_time(int64_t ms, char ret[MANIFEST_TIME])
{
    time_t at = (time_t)(ms / 1000);
    struct tm tm = { 0 };
    (void)gmtime_r(&at, &tm); /* fails only beyond the year 2 147 485 547 */
    (void)strftime(ret, MANIFEST_TIME, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

json_t *manifest_history(const json_t *known, size_t n_layers, int64_t created_ms)
{
    json_t *history = json_is_array(known) ? json_copy((json_t *)(uintptr_t)known) : json_array();
    size_t n = 0;
    char when[MANIFEST_TIME];
    manifest_time(created_ms, when);
    for (size_t i = 0; i < json_array_size(history); i++)
        n += !json_get_bool(json_array_get(history, i), "empty_layer", false);
    if (n > n_layers) { /* it is about other layers */
        (void)json_array_clear(history);
        n = 0;
    }
    for (; n < n_layers; n++)
        (void)json_array_append_new(history, json_pack("{s:s, s:s}", "created", when, "created_by", "iii"));
    return history;
}

json_t *manifest_make_config(const struct manifest_config *c, const json_t *diff_ids, int64_t created_ms)
{
    json_t *cfg = json_object();
    json_t *doc = json_pack("{s:s, s:s, s:o, s:{s:s, s:O}}", "architecture", manifest_architecture(), "os", "linux",
                            "config", cfg, "rootfs", "type", "layers", "diff_ids", diff_ids);
    if (c->env)
        (void)json_object_set_new(cfg, "Env", strlist_to_json(c->env));
    if (c->entrypoint)
        (void)json_object_set_new(cfg, "Entrypoint", strlist_to_json(c->entrypoint));
    if (c->cmd)
        (void)json_object_set_new(cfg, "Cmd", strlist_to_json(c->cmd));
    if (c->user && *c->user)
        (void)json_object_set_new(cfg, "User", json_string(c->user));
    if (c->workdir && *c->workdir)
        (void)json_object_set_new(cfg, "WorkingDir", json_string(c->workdir));
    for (size_t i = 0; i < N_MEMBERS; i++) {
        const struct member *m = &members[i];
        json_t *value = json_object_get(c->more, m->ours), *keys = m->is_keys ? json_object() : NULL;
        for (size_t k = 0; m->is_keys && k < json_array_size(value); k++)
            (void)json_object_set_new(keys, json_string_value(json_array_get(value, k)), json_object());
        if (value)
            (void)json_object_set(m->is_top ? doc : cfg, m->theirs, keys ? keys : value);
        json_decref(keys);
    }
    if (json_object_get(doc, "history"))
        (void)json_object_set_new(
            doc, "history", manifest_history(json_object_get(doc, "history"), json_array_size(diff_ids), created_ms));
    return doc;
}

int manifest_parse_config(const char *text, size_t len, struct manifest_config *ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    int r = read_object(text, len, "image config", &doc, err);
    if (r < 0)
        return r;
    const json_t *cfg = json_get(doc, "config");
    CLEANUP(manifest_config_done) struct manifest_config c = { 0 };
    r = manifest_words(json_get(json_get(doc, "rootfs"), "diff_ids"), "image config: diff_ids", IMAGE_LAYERS_MAX, 128,
                       &c.diff_ids, err);
    for (size_t i = 0; r == 0 && c.diff_ids && c.diff_ids[i]; i++) {
        const char *hex = digest_from_ref(c.diff_ids[i]);
        if (!hex)
            return err_set(err, ERR_INVALID, 0, "image config: diff_ids, item %zu: not sha256 with 64 hex digits",
                           i + 1);
        memmove(c.diff_ids[i], hex, DIGEST_HEX);
    }
    if (r == 0)
        r = manifest_words(json_get(cfg, "Env"), "image config: Env", IMAGE_LIMITS_ENV, IMAGE_LIMITS_WORD_BYTES, &c.env,
                           err);
    for (size_t i = 0; r == 0 && c.env && c.env[i]; i++)
        if (c.env[i][0] == '=' || !strchr(c.env[i], '='))
            return err_set(err, ERR_INVALID, 0, "image config: Env, item %zu: not NAME=value", i + 1);
    if (r == 0)
        r = manifest_words(json_get(cfg, "Entrypoint"), "image config: Entrypoint", IMAGE_LIMITS_ARGS,
                           IMAGE_LIMITS_WORD_BYTES, &c.entrypoint, err);
    if (r == 0)
        r = manifest_words(json_get(cfg, "Cmd"), "image config: Cmd", IMAGE_LIMITS_ARGS, IMAGE_LIMITS_WORD_BYTES,
                           &c.cmd, err);
    if (r == 0)
        r = read_text(cfg, "User", 255, &c.user, err);
    if (r == 0)
        r = read_text(cfg, "WorkingDir", IMAGE_LIMITS_PATH_BYTES, &c.workdir, err);
    if (r == 0)
        r = read_more(doc, &c.more, err);
    if (r < 0)
        return r;
    if (c.workdir && *c.workdir && c.workdir[0] != '/')
        return err_set(err, ERR_INVALID, 0, "image config: WorkingDir \"%.100s\" is not absolute", c.workdir);
    *ret = c;
    c = (struct manifest_config){ 0 };
    return 0;
}
