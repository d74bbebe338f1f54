/* What the policy says of a stored image now, and what a tenant's images take of the disk. */
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "image/image.h"
#include "image/image_policy.h"
#include "image/layout.h"
#include "image/record.h"
#include "image/signature.h"

int image_verify(struct image_store *s, const struct image_scope *scope, const char *name, json_t **ret,
                 struct err *err)
{
    JSON_OWNED record = NULL;
    char by[SIGNATURE_BY] = "";
    int r = image_inspect(s, scope, name, &record, err);
    if (r == 0)
        r = image_policy_check(s->policy, record, by, err);
    if (r < 0)
        return r;
    const json_t *rule = image_policy_rule(s->policy, json_get_str(record, "name", ""));
    const json_t *digests = json_get(record, "digests");
    *ret = json_pack("{s:s, s:b, s:b}", "name", json_get_str(record, "name", name), "verified", *by != '\0', "required",
                     rule != NULL);
    if (*by)
        (void)json_object_set_new(*ret, "signedBy", json_text(by, strlen(by)));
    if (rule)
        (void)json_object_set_new(*ret, "pattern", json_deep_copy(json_array_get(json_get(rule, "images"), 0)));
    if (json_array_size(digests))
        (void)json_object_set(*ret, "digest", json_array_get(digests, 0));
    return 0;
}

/* --- disk --- */

/* {layer: {tenant, bytes}}; tenant "" once an image of another owner has the layer, too. */
static bool count_layers(void *arg, json_t *record)
{
    const json_t *layers = json_get(record, "layers");
    const char *tenant = json_get_str(record, "tenant", "");
    for (size_t i = 0; i < json_array_size(layers); i++) {
        const json_t *layer = json_array_get(layers, i);
        const char *hex = json_get_str(layer, "digest", "");
        json_t *known = json_object_get(arg, hex);
        if (!known)
            (void)json_object_set_new(
                arg, hex,
                json_pack("{s:s, s:I}", "tenant", tenant, "bytes", (json_int_t)json_get_int(layer, "size", 0)));
        else if (strcmp(json_get_str(known, "tenant", ""), tenant) != 0)
            (void)json_object_set_new(known, "tenant", json_string(""));
    }
    return true;
}

int64_t image_tenant_bytes(struct image_store *s, const char *tenant)
{
    struct stat st;
    if (fstat(s->images_fd, &st) < 0)
        return 0;
    bool is_current = s->tenant_bytes && st.st_mtim.tv_sec == s->tenant_bytes_at.tv_sec &&
                      st.st_mtim.tv_nsec == s->tenant_bytes_at.tv_nsec;
    if (!is_current) { /* images come and go rarely; every create asks */
        JSON_OWNED layers = json_object();
        const char *hex;
        json_t *layer;
        json_decref(s->tenant_bytes);
        s->tenant_bytes = json_object();
        s->tenant_bytes_at = st.st_mtim;
        record_each(s, count_layers, layers);
        json_object_foreach(layers, hex, layer)
        {
            const char *owner = json_get_str(layer, "tenant", "");
            int64_t sum = json_get_int(s->tenant_bytes, owner, 0) + json_get_int(layer, "bytes", 0);
            (void)json_object_set_new(s->tenant_bytes, owner, json_integer((json_int_t)sum));
        }
    }
    return *tenant ? json_get_int(s->tenant_bytes, tenant, 0) : 0;
}
