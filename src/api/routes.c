#include "api/routes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define SEGMENTS_MAX 12
#define METHODS_MAX  4 /* rows of one path */

struct node {
    const char *text; /* segment in a row's path, not NUL-terminated; NULL for the root */
    size_t len;
    const struct op *ops[METHODS_MAX];
    struct node *child, *next; /* first child; next sibling */
};

struct routes {
    char *prefix;
    struct node root;
};

struct segment {
    const char *text;
    size_t len;
};

/* Splits "/a/b" into at most SEGMENTS_MAX; -1 when the path has another form. */
static int split(const char *path, struct segment out[SEGMENTS_MAX])
{
    int n = 0;
    while (*path == '/') {
        size_t len = strcspn(++path, "/");
        if (len == 0)
            return *path == '\0' ? n : -1;
        if (n == SEGMENTS_MAX)
            return -1;
        out[n++] = (struct segment){ path, len };
        path += len;
    }
    return *path == '\0' ? n : -1;
}

static bool is_param(const struct node *n)
{
    return n->text[0] == ':';
}

static bool is_same(const struct node *n, const struct segment *s)
{
    return n->len == s->len && memcmp(n->text, s->text, s->len) == 0;
}

/* Parameters of one place share a node whatever they are called: names are read from the row that matched. */
static struct node *child_for(struct node *parent, const struct segment *s)
{
    struct node **slot = &parent->child;
    for (; *slot; slot = &(*slot)->next)
        if (is_same(*slot, s) || (is_param(*slot) && s->text[0] == ':'))
            return *slot;
    struct node *n = xzalloc(sizeof(*n));
    n->text = s->text;
    n->len = s->len;
    *slot = n;
    return n;
}

struct routes *routes_new(const char *prefix, const struct op *ops, size_t n)
{
    struct routes *r = xzalloc(sizeof(*r));
    r->prefix = xasprintf("/%s", prefix);
    for (size_t i = 0; i < n; i++) {
        if (!*ops[i].path)
            continue;
        struct segment parts[SEGMENTS_MAX];
        struct node *node = &r->root;
        int count = split(ops[i].path, parts), at = 0;
        assert(count >= 0); /* the table is ours: a path that cannot be split is a bug */
        for (int p = 0; p < count; p++)
            node = child_for(node, &parts[p]);
        while (at < METHODS_MAX && node->ops[at])
            at++;
        assert(at < METHODS_MAX);
        node->ops[at] = &ops[i];
    }
    return r;
}

static void free_children(struct node *n)
{
    for (struct node *next, *c = n->child; c; c = next) {
        next = c->next;
        free_children(c); /* as deep as SEGMENTS_MAX */
        free(c);
    }
}

struct routes *routes_free(struct routes *r)
{
    if (r) {
        free_children(&r->root);
        free(r->prefix);
        free(r);
    }
    return NULL;
}

/* Depth-first, literals before parameters; a node without rows does not match, so the search continues with its
 * sibling. */
static const struct node *find_node(const struct node *n, const struct segment *parts, int count)
{
    if (count == 0)
        return n->ops[0] ? n : NULL;
    for (int want_param = 0; want_param <= 1; want_param++) {
        for (const struct node *c = n->child; c; c = c->next) {
            if (is_param(c) != want_param || (!want_param && !is_same(c, parts)))
                continue;
            const struct node *hit = find_node(c, parts + 1, count - 1);
            if (hit)
                return hit;
        }
    }
    return NULL;
}

static int set_params(const struct op *op, const struct segment *parts, json_t *params, struct err *err)
{
    struct segment names[SEGMENTS_MAX];
    int n = split(op->path, names);
    for (int i = 0; i < n; i++) {
        if (names[i].text[0] != ':')
            continue;
        char name[64];
        (void)snprintf(name, sizeof(name), "%.*s", (int)names[i].len - 1, names[i].text + 1);
        json_t *value = json_stringn(parts[i].text, parts[i].len);
        if (!value || json_object_set_new(params, name, value) < 0)
            return err_set(err, ERR_NOT_FOUND, 0, "not found: the path is not UTF-8 text");
    }
    return 0;
}

int routes_params(const struct routes *r, const struct op *op, const char *path, json_t *params, struct err *err)
{
    struct segment parts[SEGMENTS_MAX] = { { 0 } };
    (void)split(path + strlen(r->prefix), parts); /* it was found by this */
    return set_params(op, parts, params, err);
}

const struct op *routes_match(const struct routes *r, const char *method, const char *path, json_t *params,
                              char allow[ROUTES_ALLOW_MAX], struct err *err)
{
    struct segment parts[SEGMENTS_MAX] = { { 0 } };
    size_t prefix_len = strlen(r->prefix);
    int count = strncmp(path, r->prefix, prefix_len) == 0 ? split(path + prefix_len, parts) : -1;
    const struct node *n = count >= 0 ? find_node(&r->root, parts, count) : NULL;
    if (!n) {
        (void)err_set(err, ERR_NOT_FOUND, 0, "not found: %s %s", method, path);
        return NULL;
    }
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    size_t at = 0;
    for (int i = 0; i < METHODS_MAX && n->ops[i]; i++) {
        if (strcmp(n->ops[i]->method, wanted) == 0)
            return params && set_params(n->ops[i], parts, params, err) < 0 ? NULL : n->ops[i];
    }
    for (int i = 0; i < METHODS_MAX && n->ops[i]; i++)
        at += (size_t)snprintf(allow + at, ROUTES_ALLOW_MAX - at, "%s%s, ", n->ops[i]->method,
                               strcmp(n->ops[i]->method, "GET") == 0 ? ", HEAD" : "");
    (void)snprintf(allow + at, ROUTES_ALLOW_MAX - at, "OPTIONS");
    (void)err_set(err, ERR_METHOD, 0, "method not allowed: %s %s takes %s", method, path, allow);
    return NULL;
}
