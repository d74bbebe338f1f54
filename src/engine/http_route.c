#include "engine/http_route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strlist.h"
#include "engine/http_trigger.h"
#include "http/url.h"

struct route {
    struct binding *binding;
    char *method;
    char **parts; /* ":name" is a parameter */
    struct route *next;
};

struct http_route {
    struct route *first;
};

/* --- paths --- */

static int split(const char *path, char ***ret)
{
    char **parts = NULL;
    size_t n = 0;
    while (*path) {
        path += strspn(path, "/");
        size_t len = strcspn(path, "/");
        if (len == 0)
            break;
        if (++n > HTTP_ROUTE_PARTS_MAX) {
            strlist_free(parts);
            return -E2BIG;
        }
        CLEANUP(free_p) char *part = xstrndup(path, len);
        strlist_add(&parts, part);
        path += len;
    }
    *ret = parts;
    return 0;
}

static bool is_param(const char *part)
{
    return part[0] == ':' && part[1];
}

/* Same method and same shape, whatever the parameter names. */
static bool is_conflict(const struct route *a, const char *method, char *const *parts)
{
    if (strcmp(a->method, method) != 0 || strlist_count(a->parts) != strlist_count(parts))
        return false;
    for (size_t i = 0; parts && parts[i]; i++)
        if (is_param(a->parts[i]) != is_param(parts[i]) || (!is_param(parts[i]) && strcmp(a->parts[i], parts[i]) != 0))
            return false;
    return true;
}

static bool fits(const struct route *r, const char *method, char *const *parts)
{
    if (strcmp(r->method, method) != 0 || strlist_count(r->parts) != strlist_count(parts))
        return false;
    for (size_t i = 0; parts && parts[i]; i++)
        if (!is_param(r->parts[i]) && strcmp(r->parts[i], parts[i]) != 0)
            return false;
    return true;
}

/* Of two routes that match, the one with the earlier literal part is better. */
static bool is_better(const struct route *a, const struct route *b)
{
    for (size_t i = 0; a->parts && a->parts[i]; i++)
        if (is_param(a->parts[i]) != is_param(b->parts[i]))
            return !is_param(a->parts[i]);
    return false;
}

struct binding *http_route_match(const struct engine *e, const char *method, const char *path, json_t *params)
{
    CLEANUP(strlist_free_p) char **parts = NULL;
    const struct route *best = NULL;
    if (!e->http_route->first || split(path, &parts) < 0)
        return NULL;
    for (const struct route *r = e->http_route->first; r; r = r->next)
        if (fits(r, method, parts) && (!best || is_better(r, best)))
            best = r;
    if (!best)
        return NULL;
    for (size_t i = 0; params && best->parts && best->parts[i]; i++) {
        CLEANUP(buf_done) struct buf value = BUF_INIT(16384);
        if (!is_param(best->parts[i]))
            continue;
        if (url_decode(parts[i], strlen(parts[i]), &value) < 0) {
            buf_clear(&value);
            (void)buf_add_str(&value, parts[i]); /* a bad escape is passed on unchanged */
        }
        (void)json_object_set_new(params, best->parts[i] + 1, json_text(buf_text(&value), value.len));
    }
    return best->binding;
}

/* --- binding --- */

static bool is_method(const char *s)
{
    static const char *const known[] = { "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD" };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(s, known[i]) == 0)
            return true;
    return false;
}

static int route_bind(struct engine *e, struct binding *b, struct err *err)
{
    const char *path = trigger_config_str(b, "api_path", NULL), *method = trigger_config_str(b, "http_method", "GET");
    CLEANUP(strlist_free_p) char **parts = NULL;
    if (!path)
        return err_set(err, ERR_INVALID, 0, "an http trigger needs config.api_path");
    if (!is_method(method))
        return err_set(err, ERR_INVALID, 0, "http_method \"%.16s\" is not one of GET POST PUT PATCH DELETE HEAD",
                       method);
    if (split(path, &parts) < 0)
        return err_set(err, ERR_INVALID, 0, "api_path has more than %d parts", HTTP_ROUTE_PARTS_MAX);
    for (const struct route *r = e->http_route->first; r; r = r->next)
        if (is_conflict(r, method, parts))
            return err_set(err, ERR_CONFLICT, 0, "%s %.100s is already bound by trigger %s", method, path,
                           r->binding->id);
    struct route *r = xzalloc(sizeof(*r));
    *r = (struct route){ .binding = b, .method = xstrdup(method), .parts = STEAL(parts), .next = e->http_route->first };
    e->http_route->first = r;
    return 0;
}

static void route_unbind(struct engine *e, struct binding *b)
{
    for (struct route **at = &e->http_route->first; *at; at = &(*at)->next)
        if ((*at)->binding == b) {
            struct route *r = *at;
            *at = r->next;
            free(r->method);
            strlist_free(r->parts);
            free(r);
            return;
        }
}

static const struct trigger_provider http_type = {
    .type = "http",
    .description = "A request to a path of the REST listener",
    .bind = route_bind,
    .unbind = route_unbind,
};

void http_route_init(struct engine *e)
{
    e->http_route = xzalloc(sizeof(*e->http_route));
    LIST_INIT(&e->exchanges);
    trigger_add_provider(e, &http_type);
}

void http_route_stop(struct engine *e)
{
    http_trigger_stop(e);
}

void http_route_done(struct engine *e)
{
    free(e->http_route);
    e->http_route = NULL;
}

bool engine_has_route(struct engine *e, const struct http_req *r)
{
    return http_route_match(e, http_req_method(r), http_req_path(r), NULL) != NULL;
}
