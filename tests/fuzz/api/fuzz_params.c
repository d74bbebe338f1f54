/* A request's target and body, divided by the first newline: path and query are matched against every method's routes,
 * query and body become parameters, and what a row then takes is checked by it. All of it is raw client bytes. */
#include "../feed.h"

#include "api/params.h"
#include "api/routes.h"
#include "base/alloc.h"

static void run(const struct routes *r, const char *method, const char *path, const json_t *given)
{
    struct err err = ERR_INIT;
    char allow[ROUTES_ALLOW_MAX] = "";
    JSON_OWNED params = json_deep_copy(given);
    const struct op *op = routes_match(r, method, path, params, allow, &err);
    MUST(op || (err.code == ERR_NOT_FOUND) != (err.code == ERR_METHOD));
    MUST(op || err.code != ERR_METHOD || allow[0]); /* 405 names what would do */
    if (op)
        (void)spec_check(op, params, NULL, NULL, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "x" };
    static struct routes *routes;
    struct err err = ERR_INIT;
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t head = end ? (size_t)(end - data) : size, body = end ? head + 1 : size;
    CLEANUP(free_p) char *path = feed_text(data, head);
    JSON_OWNED params = json_object();
    if (!routes)
        routes = routes_new("sandbox", spec_ops, OP_COUNT);
    char *query = strchr(path, '?');
    if (query)
        *query++ = '\0';
    int r = params_add_query(params, query ? query : "", &err);
    MUST((r == 0) == (err.code == ERR_NONE) && json_object_size(params) <= PARAMS_QUERY_MAX);
    CLEANUP(free_p) char *bytes = feed_bytes(data + body, size - body);
    json_t *parsed = NULL;
    if (params_has_json(size % 2 ? "application/json; charset=utf-8" : "text/plain", bytes, size - body) &&
        json_read_input(bytes, size - body, &parsed, &err) == 0)
        (void)params_take_body(params, parsed, &err);
    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
        run(routes, methods[i], path, params);
    return 0;
}
