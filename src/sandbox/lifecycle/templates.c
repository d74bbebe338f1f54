#include "sandbox/lifecycle/templates.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"
#include "sandbox/lifecycle/records.h"

#define SCOPE "template"

struct templates {
    const struct settings *settings;
    struct records records; /* the built-in ones are in memory only */
    size_t n_own;           /* not built in */
};

static const struct {
    const char *name, *description, *image, *variable, *value;
    int memory_mb, timeout_s;
    bool has_network;
} builtins[] = {
    { "python-data-science", "Python with room for data", "python", "PYTHONUNBUFFERED", "1", 1024, 7200, false },
    { "node-web", "Node.js with network", "node", NULL, NULL, 512, 3600, true },
    { "go-api", "Go with network", "golang:1.22-alpine", NULL, NULL, 512, 3600, true },
    { "rust-cli", "Rust with room to compile", "rust:1.77-slim", NULL, NULL, 1024, 7200, false },
};

static json_t *new_record(const char *id, const char *name, const char *description, json_t *config, bool is_builtin)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:b, s:I}", "id", id, "name", name, "description", description, "config",
                     config, "builtin", is_builtin, "createdAt",
                     is_builtin ? (json_int_t)0 : (json_int_t)clock_wall_ms());
}

static bool is_own(void *arg, const char *key, json_t *doc)
{
    struct templates *t = arg;
    (void)doc;
    t->n_own += ident_is("tpl", key);
    return ident_is("tpl", key);
}

int templates_new(struct store *store, const struct settings *s, struct templates **ret, struct err *err)
{
    struct templates *t = xzalloc(sizeof(*t));
    t->settings = s;
    records_init(&t->records, store, SCOPE, "template");
    for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
        CLEANUP(free_p) char *id = xasprintf("tpl_%s", builtins[i].name);
        SANDBOX_CONFIG_OWNED config = { .given = SANDBOX_CONFIG_MEMORY | SANDBOX_CONFIG_TIMEOUT |
                                                 (builtins[i].has_network ? SANDBOX_CONFIG_NETWORK : 0),
                                        .memory_mb = builtins[i].memory_mb,
                                        .timeout_s = builtins[i].timeout_s,
                                        .has_network = builtins[i].has_network };
        sandbox_config_set_text(&config, SANDBOX_CONFIG_IMAGE, builtins[i].image);
        if (builtins[i].variable)
            sandbox_config_set_map(&config, SANDBOX_CONFIG_ENV,
                                   json_pack("{s:s}", builtins[i].variable, builtins[i].value));
        map_set(t->records.by_id, id,
                new_record(id, builtins[i].name, builtins[i].description, sandbox_config_write(&config), true));
    }
    int r = records_load(&t->records, is_own, t, err);
    if (r < 0) {
        templates_free(t);
        return r;
    }
    *ret = t;
    return 0;
}

struct templates *templates_free(struct templates *t)
{
    if (!t)
        return NULL;
    records_done(&t->records);
    free(t);
    return NULL;
}

static const char *owner_of(const json_t *record)
{
    return json_get_bool(record, "builtin", false) ? TENANT_SHARED : json_get_str(record, "tenant", "");
}

json_t *templates_list(const struct templates *t, const struct tenant_by *by)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(t->records.by_id); map_next(&it);)
        if (tenant_sees(by, owner_of(it.value)))
            (void)json_array_append(list, it.value);
    return list;
}

/* Every tenant has names of its own: only those that by may see count. */
static json_t *by_name(const struct templates *t, const struct tenant_by *by, const char *name)
{
    for (struct map_iter it = map_iter(t->records.by_id); map_next(&it);)
        if (tenant_sees(by, owner_of(it.value)) && strcmp(json_get_str(it.value, "name", ""), name) == 0)
            return it.value;
    return NULL;
}

const char *templates_owner(const struct templates *t, const char *id)
{
    const json_t *rec = records_find(&t->records, id, NULL);
    return rec ? owner_of(rec) : NULL;
}

const char *templates_owner_named(const struct templates *t, const struct tenant_by *by, const char *id_or_name)
{
    const json_t *rec = templates_find(t, by, id_or_name, NULL);
    return rec ? owner_of(rec) : NULL;
}

json_t *templates_get(const struct templates *t, const char *id, struct err *err)
{
    return records_find(&t->records, id, err);
}

json_t *templates_find(const struct templates *t, const struct tenant_by *by, const char *id_or_name, struct err *err)
{
    json_t *rec = by_name(t, by, id_or_name);
    return rec ? rec : templates_get(t, id_or_name, err);
}

json_t *templates_create(struct templates *t, const struct tenant_by *by, const char *name, const char *description,
                         const struct sandbox_config *config, struct err *err)
{
    char id[IDENT_MAX];
    struct tenant_by own = { .tenant = tenant_of(by), .view = tenant_of(by) };
    if (by_name(t, &own, name)) {
        (void)err_set(err, ERR_CONFLICT, 0, "a template called \"%.100s\" already exists", name);
        return NULL;
    }
    if (t->n_own >= (size_t)t->settings->max_templates) {
        (void)err_set(err, ERR_CAPACITY, 0, "template limit reached (%lld): delete one, or raise III_MAX_TEMPLATES",
                      (long long)t->settings->max_templates);
        return NULL;
    }
    ident_new("tpl", id);
    JSON_OWNED rec = new_record(id, name, description, sandbox_config_write(config), false);
    tenant_mark(by, rec);
    if (records_add(&t->records, id, rec, err) < 0)
        return NULL;
    t->n_own++;
    return rec;
}

int templates_delete(struct templates *t, const char *id, struct err *err)
{
    json_t *rec = templates_get(t, id, err);
    if (!rec)
        return -1;
    if (json_get_bool(rec, "builtin", false))
        return err_set(err, ERR_CONFLICT, 0, "template %s is built in and cannot be deleted",
                       json_get_str(rec, "name", ""));
    int r = records_delete(&t->records, id, err);
    t->n_own -= r == 0;
    return r;
}

int templates_apply(const struct templates *t, const struct tenant_by *by, const json_t *request,
                    struct sandbox_config *ret, struct err *err)
{
    const char *wanted = json_get_str(request, "template", NULL);
    const json_t *rec = wanted ? templates_find(t, by, wanted, err) : NULL;
    if (wanted && !rec)
        return -1;
    sandbox_config_read(ret, json_get(rec, "config")); /* any number, in both */
    sandbox_config_read(ret, request);
    return 0;
}
