#include "api/image_json.h"

#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/image_source.h"

json_t *image_json(struct call *c, const struct image *image)
{
    JSON_OWNED record = NULL;
    const struct image_scope scope = image_source_scope(call_manager(c), call_by(c));
    int64_t created = image_inspect(call_manager(c)->images, &scope, image->name, &record, NULL) == 0
                          ? json_get_int(record, "createdAt", 0)
                          : 0;
    return json_pack(
        "{s:s, s:s, s:I, s:I, s:I, s:s, s:s*, s:s*}", "name", image->name, "id", image->id, "size",
        (json_int_t)image->size_bytes, "layers", (json_int_t)image->n_layers, "createdAt", (json_int_t)created,
        "source", image->n_layers && image->layers[0][0] != '/' ? "docker" : json_get_str(record, "source", "oci"),
        "tenant", json_get_str(record, "tenant", NULL), "signedBy", json_get_str(record, "signedBy", NULL));
}
