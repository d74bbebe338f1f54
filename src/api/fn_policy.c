#include "api/fn_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/preset.h"

bool fn_policy_is_preset(const char *name)
{
    const struct preset *p = preset_find(name);
    return p && p->reference;
}

/* Calls add for each entry of a comma list, blanks around it cut. */
static int each_entry(const char *list, int (*add)(struct fn_policy *p, char *entry, struct err *err),
                      struct fn_policy *p, struct err *err)
{
    CLEANUP(free_p) char *copy = xstrdup(list);
    char *rest = copy, *entry;
    int r = 0;
    while (r == 0 && (entry = strsep(&rest, ","))) {
        entry += strspn(entry, " \t\n");
        entry[strcspn(entry, " \t\n")] = '\0';
        if (*entry)
            r = add(p, entry, err);
    }
    return r;
}

static int add_allowed(struct fn_policy *p, char *entry, struct err *err)
{
    (void)err;
    (void)json_object_set_new(p->allowed, entry, json_true());
    return 0;
}

static int add_custom(struct fn_policy *p, char *entry, struct err *err)
{
    char *equals = strchr(entry, '=');
    if (!equals || equals == entry || !equals[1])
        return err_set(err, ERR_INVALID, 0, "custom_images: \"%.200s\" is not NAME=REFERENCE", entry);
    *equals = '\0';
    if (fn_policy_is_preset(entry))
        return err_set(err, ERR_INVALID, 0, "custom_images: \"%s\" is a preset and cannot be redefined", entry);
    (void)json_object_set_new(p->custom, entry, json_string(equals + 1));
    return 0;
}

static int set_cap(json_t *caps, const char *key, const char *text, struct err *err)
{
    char *end;
    if (!*text)
        return 0;
    long long value = strtoll(text, &end, 10);
    if (*end || value < 0)
        return err_set(err, ERR_INVALID, 0, "per_image_caps: \"%.60s\" is not a number", text);
    (void)json_object_set_new(caps, key, json_integer(value));
    return 0;
}

static int add_cap(struct fn_policy *p, char *entry, struct err *err)
{
    char *equals = strchr(entry, '='), *colon = equals ? strchr(equals, ':') : NULL;
    if (!colon)
        return err_set(err, ERR_INVALID, 0, "per_image_caps: \"%.200s\" is not NAME=CPUS:MEMORY_MB", entry);
    *equals = *colon = '\0';
    json_t *caps = json_object();
    (void)json_object_set_new(p->caps, entry, caps);
    int r = set_cap(caps, "max_cpus", equals + 1, err);
    return r < 0 ? r : set_cap(caps, "max_memory_mb", colon + 1, err);
}

int fn_policy_new(const struct settings *s, struct fn_policy **ret, struct err *err)
{
    CLEANUP(fn_policy_unref_p) struct fn_policy *p = xzalloc(sizeof(*p));
    *p = (struct fn_policy){ .refs = 1,
                             .is_auto_install = s->fn_auto_install,
                             .idle_timeout_s = s->fn_idle_timeout_s,
                             .idle_scan_ms = s->fn_idle_scan_ms,
                             .max_sandboxes = s->fn_max_sandboxes,
                             .max_execs = s->fn_max_execs < 1 ? 1 : s->fn_max_execs,
                             .max_exec_ms = s->fn_max_exec_ms,
                             .default_cpus = s->fn_default_cpus,
                             .default_memory_mb = s->fn_default_memory_mb,
                             .custom = json_object(),
                             .caps = json_object(),
                             .allowed = json_object() };
    int r = each_entry(s->fn_image_allowlist, add_allowed, p, err);
    if (r == 0)
        r = each_entry(s->fn_custom_images, add_custom, p, err);
    if (r == 0)
        r = each_entry(s->fn_image_caps, add_cap, p, err);
    if (r == 0)
        *ret = STEAL(p);
    return r;
}

struct fn_policy *fn_policy_ref(struct fn_policy *p)
{
    p->refs++;
    return p;
}

struct fn_policy *fn_policy_unref(struct fn_policy *p)
{
    if (p && --p->refs == 0) {
        json_decref(p->custom);
        json_decref(p->caps);
        json_decref(p->allowed);
        free(p);
    }
    return NULL;
}

const char *fn_policy_reference(const struct fn_policy *p, const char *name)
{
    return fn_policy_is_preset(name) ? preset_find(name)->reference : json_get_str(p->custom, name, NULL);
}

bool fn_policy_allows(const struct fn_policy *p, const char *name)
{
    return json_get(p->allowed, name);
}

int64_t fn_policy_cap(const struct fn_policy *p, const char *name, const char *what, int64_t fallback)
{
    return json_get_int(json_get(p->caps, name), what, fallback);
}

static void list_image(const struct fn_policy *p, json_t *list, const char *name, const char *kind)
{
    (void)json_array_append_new(list,
                                json_pack("{s:s, s:s, s:s, s:b}", "name", name, "oci_ref", fn_policy_reference(p, name),
                                          "kind", kind, "allowed", fn_policy_allows(p, name)));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

json_t *fn_policy_catalogue(const struct fn_policy *p)
{
    json_t *list = json_array(), *value;
    const char *name;
    size_t n = 0;
    CLEANUP(free_p) const char **names = xzalloc((json_object_size(p->custom) + 1) * sizeof(*names));
    const struct preset *preset;
    for (size_t i = 0; (preset = preset_at(i)); i++)
        if (preset->reference)
            list_image(p, list, preset->name, "preset");
    json_object_foreach(p->custom, name, value) names[n++] = name;
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++)
        list_image(p, list, names[i], "custom");
    return list;
}
