#include "image/image_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/image.h"
#include "image/name_pattern.h"
#include "image/preset.h"
#include "image/reference.h"
#include "image/signature.h"
#include "os/write_all.h"

#define POLICY_MAX  (256 << 10)
#define POLICY_FILE "image-policy.json"
#define SETTING     "III_IMAGE_POLICY"

struct image_policy {
    json_t *doc;
};

/* --- reading --- */

static int check_members(const json_t *j, const char *where, const char *known, struct err *err)
{
    const char *name;
    const json_t *value;
    if (!json_is_object(j))
        return err_set(err, ERR_INVALID, 0, SETTING ": %s must be an object", where);
    json_object_foreach((json_t *)(uintptr_t)j, name, value)
    {
        CLEANUP(free_p) char *word = xasprintf(" %s ", name);
        if (strchr(name, ' ') || !strstr(known, word))
            return err_set(err, ERR_INVALID, 0, SETTING ": %s has an unknown member \"%.40s\", known are%s", where,
                           name, known);
    }
    return 0;
}

static int check_registries(const json_t *owner, const char *where, const char *known, struct err *err)
{
    const json_t *list = json_get(owner, "registries");
    int r = check_members(owner, where, known, err);
    bool is_good = !list || json_is_array(list);
    for (size_t i = 0; r == 0 && is_good && i < json_array_size(list); i++)
        is_good = json_string_length(json_array_get(list, i)) > 0;
    return r == 0 && !is_good
               ? err_set(err, ERR_INVALID, 0,
                         SETTING ": registries of %s must be an array of HOST[:PORT], *.DOMAIN or *", where)
               : r;
}

static int check_rules(const json_t *list, struct err *err)
{
    if (list && !json_is_array(list))
        return err_set(err, ERR_INVALID, 0, SETTING ": signatures must be an array");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *rule = json_array_get(list, i), *who = json_get(rule, "keyless");
        CLEANUP(free_p) char *where = xasprintf("signatures[%zu]", i);
        int r = check_members(rule, where, " images keys keyless unsigned ", err);
        for (size_t k = 0; r == 0 && k < json_array_size(who); k++)
            r = check_members(json_array_get(who, k), where, " identity issuer roots logs ", err);
        if (r < 0)
            return r;
        r = signature_rule_check(rule, err);
        if (r < 0)
            return err_wrap(err, r, SETTING ": %s", where);
    }
    return 0;
}

int image_policy_new(const char *text, struct image_policy **ret, struct err *err)
{
    CLEANUP(image_policy_free_p) struct image_policy *p = xzalloc(sizeof(*p));
    const char *name;
    json_t *one;
    int r = json_read(*text ? text : "{}", *text ? strlen(text) : 2, &p->doc, err);
    if (r < 0)
        return err_wrap(err, r, SETTING);
    r = check_registries(p->doc, "the policy", " registries tenants signatures ", err);
    json_t *tenants = json_object_get(p->doc, "tenants");
    if (r == 0 && tenants && !json_is_object(tenants))
        r = err_set(err, ERR_INVALID, 0, SETTING ": tenants must be an object of {registries}");
    json_object_foreach(tenants, name, one)
    {
        CLEANUP(free_p) char *where = xasprintf("tenant %.64s", name);
        if (r == 0)
            r = check_registries(one, where, " registries ", err);
    }
    if (r == 0)
        r = check_rules(json_get(p->doc, "signatures"), err);
    if (r == 0)
        *ret = STEAL(p);
    return r;
}

struct image_policy *image_policy_free(struct image_policy *p)
{
    if (p)
        json_decref(p->doc);
    free(p);
    return NULL;
}

/* --- names --- */

/* The canonical name with its registry under one name: another spelling of a host must not evade a rule. A registry
 * that has several host names has as many names here: `registries` lists those that may be used. */
static bool one_name(const char *name, char ret_host[REFERENCE_MAX], char ret[REFERENCE_MAX])
{
    static const char *const hub[] = { "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com" };
    struct reference ref;
    const char *wanted = preset_pull_name(name);
    if (!wanted)
        return false;
    if (strncmp(wanted, "oci:", 4) == 0 && strchr(wanted, '/'))
        wanted += 4;
    if (reference_parse(wanted, &ref, NULL) < 0)
        return false;
    for (char *c = ref.host; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    char *port = strchr(ref.host, ':');
    if (port && (strcmp(port, ":443") == 0 || strcmp(port, ":80") == 0))
        *port = '\0';
    for (size_t i = 0; i < sizeof(hub) / sizeof(hub[0]); i++)
        if (strcmp(ref.host, hub[i]) == 0)
            (void)snprintf(ref.host, sizeof(ref.host), "docker.io");
    (void)snprintf(ret_host, REFERENCE_MAX, "%s", ref.host);
    (void)snprintf(ret, REFERENCE_MAX, "%s/%s%s%s", ref.host, ref.repository, *ref.digest ? "@sha256:" : ":",
                   *ref.digest ? ref.digest : ref.tag);
    return true;
}

static bool is_registry_listed(const json_t *list, const char *host)
{
    bool is_listed = !list;
    for (size_t i = 0; !is_listed && i < json_array_size(list); i++)
        is_listed = name_pattern_host(json_string_value(json_array_get(list, i)), host);
    return is_listed;
}

int image_policy_may_pull(const struct image_policy *p, const char *tenant, const char *name, struct err *err)
{
    char host[REFERENCE_MAX], whole[REFERENCE_MAX];
    if (!p || !one_name(name, host, whole))
        return 0; /* what is not a reference cannot be pulled */
    if (!is_registry_listed(json_get(p->doc, "registries"), host))
        return err_set(err, ERR_FORBIDDEN, 0,
                       "registry %.100s is not allowed: it is not among the registries of images.policy (" SETTING ")",
                       host);
    if (!is_registry_listed(json_get(json_get(json_get(p->doc, "tenants"), tenant), "registries"), host))
        return err_set(err, ERR_FORBIDDEN, 0,
                       "registry %.100s is not allowed for tenant %.64s (images.policy, " SETTING ")", host, tenant);
    return 0;
}

/* A pattern without a tag means all tags and digests of its repository: a digest must not evade a rule. */
static bool is_pattern_of(const char *pattern, const char *name)
{
    struct reference ref;
    size_t n = strlen(pattern);
    const char *slash = strrchr(pattern, '/');
    bool is_whole = n && pattern[n - 1] != '*' && !strchr(slash ? slash : pattern, ':') && !strchr(pattern, '@');
    CLEANUP(free_p)
    char *any = is_whole && reference_parse(pattern, &ref, NULL) == 0 ? xasprintf("%s:*", pattern) : NULL;
    return name_pattern_matches(pattern, name) || (any && name_pattern_matches(any, name));
}

const json_t *image_policy_rule(const struct image_policy *p, const char *name)
{
    char host[REFERENCE_MAX], whole[REFERENCE_MAX];
    const json_t *rules = p ? json_get(p->doc, "signatures") : NULL;
    if (!one_name(name, host, whole))
        (void)snprintf(whole, sizeof(whole), "%s", name);
    for (size_t i = 0; i < json_array_size(rules); i++) {
        const json_t *rule = json_array_get(rules, i), *images = json_get(rule, "images");
        for (size_t k = 0; k < json_array_size(images); k++)
            if (is_pattern_of(json_string_value(json_array_get(images, k)), whole))
                return json_get_bool(rule, "unsigned", false) ? NULL : rule;
    }
    return NULL;
}

/* --- stored images --- */

int image_policy_refuse(const json_t *rule, const char *name, size_t found, const struct err *why, struct err *err)
{
    char wanted[SIGNATURE_BY];
    signature_wanted(rule, wanted);
    CLEANUP(free_p) char *none = found ? xasprintf("%zu found, none accepted (%.130s)", found, why->msg) : NULL;
    return err_set(err, ERR_FORBIDDEN, 0,
                   "%.80s needs %.80s (images.policy, \"%.40s\"): sign it with cosign and pull again; %s", name, wanted,
                   json_string_value(json_array_get(json_get(rule, "images"), 0)),
                   none ? none : "no signature is beside it");
}

int image_policy_check(const struct image_policy *p, const json_t *record, char *ret_by, struct err *err)
{
    const char *name = json_get_str(record, "name", "");
    bool is_step =
        strncmp(name, IMAGE_BUILD_CACHE, strlen(IMAGE_BUILD_CACHE)) == 0 &&
        strcmp(json_get_str(record, "source", ""), "layer") == 0;       /* of a build here, whose FROM was checked */
    bool is_host = strcmp(json_get_str(record, "id", ""), "host") == 0; /* not an image */
    const json_t *rule = is_step || is_host ? NULL : image_policy_rule(p, name);
    const json_t *evidence = json_get(record, "signature");
    char by[SIGNATURE_BY] = "";
    struct err why = ERR_INIT;
    if (rule && (!evidence || signature_check(rule, json_get(record, "digests"), evidence, by, &why) < 0))
        return image_policy_refuse(rule, name, evidence ? 1 : 0, &why, err);
    if (ret_by)
        memcpy(ret_by, by, sizeof(by));
    return 0;
}

/* --- the server's policy, for its command line --- */

int image_policy_save(const char *data_dir, const char *text, struct err *err)
{
    CLEANUP(close_fd_p) int dir = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    static const char part[] = POLICY_FILE ".part";
    CLEANUP(close_fd_p)
    int fd = dir < 0 ? NO_FD : openat(dir, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    int r = fd < 0 ? -errno : write_all_write(fd, text, strlen(text));
    if (r >= 0 && renameat(dir, part, dir, POLICY_FILE) < 0)
        r = -errno;
    return r < 0 ? err_sys(err, r, "write %s/" POLICY_FILE, data_dir) : 0;
}

int image_policy_load(const char *data_dir, struct image_policy **ret, struct err *err)
{
    const char *own = getenv(SETTING);
    if (own && *own)
        return image_policy_new(own, ret, err);
    CLEANUP(free_p) char *path = xasprintf("%s/" POLICY_FILE, data_dir);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > POLICY_MAX)
        return err_set(err, ERR_INVALID, fd < 0 ? errno : 0, "%s is not the policy of a server", path);
    CLEANUP(free_p) char *text = xzalloc((size_t)st.st_size + 1);
    if (read(fd, text, (size_t)st.st_size) != st.st_size)
        return err_set(err, ERR_INTERNAL, errno, "read %s", path);
    return image_policy_new(text, ret, err);
}
