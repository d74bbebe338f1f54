#include "main/config/worker_settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/engine_config.h"

#define OUR_NAME "iii-sandbox"
#define LIST_MAX 65536u

struct block {
    const char *path;
    struct settings *settings;
    struct err *err;
};

static void where(const struct block *b, struct fy_node *at, char *out, size_t size)
{
    struct fy_token *token = at && fy_node_is_scalar(at) ? fy_node_get_scalar_token(at) : NULL;
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark)
        (void)snprintf(out, size, "%.200s:%d:%d", b->path, mark->line + 1, mark->column + 1);
    else
        (void)snprintf(out, size, "%.200s", b->path);
}

static int complain(const struct block *b, struct fy_node *at, const char *key, const char *what)
{
    char place[240];
    where(b, at, place, sizeof(place));
    return err_set(b->err, ERR_INVALID, 0, "%s: %s: %s", place, key, what);
}

/* A scalar's text; NULL: not a scalar. Caller frees. */
static char *text_of(struct fy_node *n)
{
    size_t len = 0;
    const char *text = n && fy_node_is_scalar(n) && !fy_node_is_alias(n) ? fy_node_get_scalar(n, &len) : NULL;
    return text ? xstrndup(text, len) : NULL;
}

static const struct settings_row *row_of(const char *yaml)
{
    const struct settings_row *row = settings_rows;
    while (row->field && strcmp(row->yaml, yaml) != 0)
        row++;
    return row;
}

static int set_row(const struct block *b, const char *key, struct fy_node *at, const char *text)
{
    CLEANUP(free_p) char *yaml = xasprintf("functions.%s", key);
    struct err why = ERR_INIT;
    if (settings_set(b->settings, row_of(yaml), text, &why) == 0)
        return 0;
    return complain(b, at, key, why.msg);
}

static int read_scalar(const struct block *b, const char *key, struct fy_node *at, struct fy_node *value)
{
    CLEANUP(free_p) char *text = text_of(value);
    return text && !fy_node_is_null(value) ? set_row(b, key, value, text)
                                           : complain(b, at, key, "one value is expected");
}

/* Whether the word can be part of a comma-separated list. */
static bool is_plain(const char *word)
{
    return *word && !strpbrk(word, ",= \t\n");
}

static int read_list(const struct block *b, const char *key, struct fy_node *at, struct fy_node *value)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(LIST_MAX);
    void *iter = NULL;
    if (!value || !fy_node_is_sequence(value))
        return complain(b, at, key, "a list of names is expected, as in [python, node]");
    for (struct fy_node *n; (n = fy_node_sequence_iterate(value, &iter));) {
        CLEANUP(free_p) char *word = text_of(n);
        if (!word || !is_plain(word))
            return complain(b, word ? n : at, key, "each entry must be the name of an image");
        if (buf_addf(&out, "%s%s", out.len ? "," : "", word) < 0)
            return complain(b, at, key, "the list is too long");
    }
    return set_row(b, key, at, buf_text(&out));
}

static int read_images(const struct block *b, const char *key, struct fy_node *at, struct fy_node *value)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(LIST_MAX);
    void *iter = NULL;
    if (!value || !fy_node_is_mapping(value))
        return complain(b, at, key, "a mapping of names to image references is expected");
    for (struct fy_node_pair *p; (p = fy_node_mapping_iterate(value, &iter));) {
        struct fy_node *name_node = fy_node_pair_key(p);
        CLEANUP(free_p) char *name = text_of(name_node);
        CLEANUP(free_p) char *reference = text_of(fy_node_pair_value(p));
        if (!name || !*name)
            return complain(b, name_node, key, "a name is empty");
        if (strcmp(name, "python") == 0 || strcmp(name, "node") == 0)
            return complain(b, name_node, key,
                            "python and node are presets and must not be shadowed: use another name");
        if (!is_plain(name) || !reference || !is_plain(reference))
            return complain(b, name_node, key, "expected NAME: IMAGE_REFERENCE, both without blanks, commas and =");
        if (buf_addf(&out, "%s%s=%s", out.len ? "," : "", name, reference) < 0)
            return complain(b, at, key, "the mapping is too long");
    }
    return set_row(b, key, at, buf_text(&out));
}

/* One limit: a whole number, "" when absent. */
static int read_cap(const struct block *b, struct fy_node *caps, const char *name, char **ret)
{
    struct fy_node *value = fy_node_mapping_lookup_by_string(caps, name, FY_NT);
    CLEANUP(free_p) char *text = text_of(value);
    if (value && (!text || !*text || strspn(text, "0123456789") != strlen(text)))
        return complain(b, value, name, "a whole number is expected");
    *ret = text ? STEAL(text) : xstrdup("");
    return 0;
}

static int read_caps(const struct block *b, const char *key, struct fy_node *at, struct fy_node *value)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(LIST_MAX);
    void *iter = NULL;
    if (!value || !fy_node_is_mapping(value))
        return complain(b, at, key, "a mapping of images to {max_cpus, max_memory_mb} is expected");
    for (struct fy_node_pair *p; (p = fy_node_mapping_iterate(value, &iter));) {
        struct fy_node *name_node = fy_node_pair_key(p), *caps = fy_node_pair_value(p);
        CLEANUP(free_p) char *name = text_of(name_node);
        CLEANUP(free_p) char *cpus = NULL;
        CLEANUP(free_p) char *memory = NULL;
        if (!name || !is_plain(name) || !caps || !fy_node_is_mapping(caps))
            return complain(b, name_node, key, "expected IMAGE: {max_cpus: 2, max_memory_mb: 1024}");
        int r = read_cap(b, caps, "max_cpus", &cpus);
        if (r == 0)
            r = read_cap(b, caps, "max_memory_mb", &memory);
        if (r == 0 && buf_addf(&out, "%s%s=%s:%s", out.len ? "," : "", name, cpus, memory) < 0)
            r = complain(b, at, key, "the mapping is too long");
        if (r < 0)
            return r;
    }
    return set_row(b, key, at, buf_text(&out));
}

typedef int read_fn(const struct block *b, const char *key, struct fy_node *at, struct fy_node *value);

static const struct {
    const char *key;
    read_fn *fn;
} keys[] = {
    { "auto_install", read_scalar },
    { "image_allowlist", read_list },
    { "default_idle_timeout_secs", read_scalar },
    { "max_concurrent_sandboxes", read_scalar },
    { "max_concurrent_exec_per_sandbox", read_scalar },
    { "max_exec_timeout_ms", read_scalar },
    { "default_cpus", read_scalar },
    { "default_memory_mb", read_scalar },
    { "per_image_caps", read_caps },
    { "custom_images", read_images },
};

static int read_config(const struct block *b, struct fy_node *entry)
{
    struct fy_node *config = fy_node_mapping_lookup_by_string(entry, "config", FY_NT);
    void *iter = NULL;
    int r = set_row(b, "image_allowlist", NULL, ""); /* images that are not listed here are denied */
    if (r == 0 && (!config || fy_node_is_null(config))) {
        log_event(LOG_WARN, "config.worker", "at", b->path, "msg",
                  "the worker " OUR_NAME " has no config: no image is allowed to sandbox:: functions", NULL);
        return 0;
    }
    if (r == 0 && !fy_node_is_mapping(config))
        return complain(b, config, "config", "settings are expected, as \"key: value\"");
    for (struct fy_node_pair *p; r == 0 && (p = fy_node_mapping_iterate(config, &iter));) {
        struct fy_node *key_node = fy_node_pair_key(p);
        CLEANUP(free_p) char *key = text_of(key_node);
        size_t i = 0;
        while (i < sizeof(keys) / sizeof(keys[0]) && (!key || strcmp(keys[i].key, key) != 0))
            i++;
        if (i < sizeof(keys) / sizeof(keys[0])) {
            r = keys[i].fn(b, key, key_node, fy_node_pair_value(p));
            continue;
        }
        char place[240];
        where(b, key_node, place, sizeof(place));
        log_event(LOG_WARN, "config.unknown_key", "at", place, "key", key, "then", "it is ignored", NULL);
    }
    return r;
}

static void warn_unknown(const struct block *b, struct fy_node *at, const char *name)
{
    char place[240];
    where(b, at, place, sizeof(place));
    log_event(LOG_WARN, "config.unknown_worker", "at", place, "name", name, "msg",
              "this server has no worker of that name (it has iii-sandbox, iii-stream, iii-state, iii-http-functions, "
              "iii-worker-manager)",
              "then", "the entry is ignored", NULL);
}

/* Adds the entry, as JSON, to the list of the engine's own workers. */
static int add_engine_worker(const struct block *b, struct fy_node *entry, const char *name)
{
    CLEANUP(free_p) char *text = fy_emit_node_to_string(entry, FYECF_MODE_JSON_ONELINE);
    JSON_OWNED all = NULL;
    JSON_OWNED one = NULL;
    struct err why = ERR_INIT;
    int r = engine_config_read(b->settings->engine_workers, &all, &why);
    if (r == 0 && (!text || json_read(text, strlen(text), &one, &why) < 0))
        return complain(b, entry, name, "cannot be read as JSON");
    if (r == 0) {
        (void)json_array_append(all, one);
        CLEANUP(free_p) char *list = json_write(all, NULL);
        json_t *checked = NULL;
        r = engine_config_read(list, &checked, &why);
        json_decref(checked);
        if (r == 0)
            r = settings_set(b->settings, row_of("engine.workers"), list, &why);
    }
    return r < 0 ? complain(b, entry, "workers", why.msg) : 0;
}

int worker_settings_read(const char *path, struct fy_node *list, struct settings *s, struct err *err)
{
    struct block b = { path, s, err };
    void *iter = NULL;
    if (!list || fy_node_is_null(list))
        return 0;
    if (!fy_node_is_sequence(list))
        return complain(&b, list, "workers", "a list of {name, config} is expected");
    for (struct fy_node *n; (n = fy_node_sequence_iterate(list, &iter));) {
        if (!fy_node_is_mapping(n))
            return complain(&b, n, "workers", "each entry must be {name, config}");
        CLEANUP(free_p) char *name = text_of(fy_node_mapping_lookup_by_string(n, "name", FY_NT));
        if (!name)
            return complain(&b, n, "workers", "an entry has no name");
        int r = 0;
        if (strcmp(name, OUR_NAME) == 0)
            r = read_config(&b, n);
        else if (engine_config_is_known(name))
            r = add_engine_worker(&b, n, name);
        else
            warn_unknown(&b, fy_node_mapping_lookup_by_string(n, "name", FY_NT), name);
        if (r < 0)
            return r;
    }
    return 0;
}
