#include "api/docs.h"

#include <string.h>

#include "api/api_core.h"
#include "api/asset.h"
#include "api/docs_pages.h"
#include "base/alloc.h"

#define ROOT "/docs"

/* The page that a path names, and whether it asks for Markdown; NULL: none. */
static const struct docs_page *find_page(const char *path, bool *ret_markdown)
{
    static const char ending[] = ".md";
    const char *name = path + strlen(ROOT);
    if (*name && *name++ != '/')
        return NULL;
    size_t len = strlen(name), tail = sizeof(ending) - 1;
    *ret_markdown = len > tail && strcmp(name + len - tail, ending) == 0;
    len -= *ret_markdown ? tail : 0;
    for (const struct docs_page *p = docs_pages; p->name; p++)
        if (len ? strlen(p->name) == len && memcmp(p->name, name, len) == 0 : strcmp(p->name, "README") == 0)
            return p;
    return NULL;
}

/* What is not a page is left to workers' routes, and to the answer for unknown paths. */
static bool claims(void *arg, struct http_req *r)
{
    bool is_markdown;
    (void)arg;
    const char *method = http_req_method(r);
    return (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) && find_page(http_req_path(r), &is_markdown);
}

static bool serve_page(void *arg, struct http_req *r)
{
    bool is_markdown = false;
    (void)arg;
    const struct docs_page *p = find_page(http_req_path(r), &is_markdown);
    int form = is_markdown || asset_accepts(r, "accept", "text/markdown") ? DOCS_PAGES_MARKDOWN : DOCS_PAGES_HTML;
    const struct asset page = { .packed = docs_pages_data + p->form[form].at,
                                .packed_len = p->form[form].packed,
                                .size = p->form[form].size,
                                .tag = p->form[form].tag };
    http_req_add_header(r, "Cache-Control", "no-cache"); /* asked for again, and answered by the tag */
    http_req_add_header(r, "Content-Security-Policy", docs_pages_policy);
    asset_reply(r, &page, form == DOCS_PAGES_HTML ? "text/html; charset=utf-8" : "text/markdown; charset=utf-8",
                "Accept");
    return true;
}

void docs_add(struct api *a)
{
    if (strcmp(a->settings->api_prefix, ROOT + 1) != 0) /* else the path is the API's */
        api_add_entry(a, &(struct api_entry){ .path_prefix = ROOT, .claims = claims, .fn = serve_page });
}

/* Without its port; 0: it is not a name or an address. */
static size_t name_len(const char *host)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    static const char digits[] = "0123456789abcdefABCDEF:.";
    size_t len = *host == '[' ? strspn(host + 1, digits) : strspn(host, letters);
    if (*host == '[')
        len = host[len + 1] == ']' ? len + 2 : 0;
    return host[len] == '\0' || host[len] == ':' ? len : 0;
}

char *docs_url(const struct api *a, const char *host, const char *page, const char *part)
{
    const struct settings *s = a->settings;
    size_t len = host ? name_len(host) : 0;
    if (len == 0) {
        bool is_any = strcmp(s->host, "0.0.0.0") == 0 || strcmp(s->host, "::") == 0;
        host = is_any ? "127.0.0.1" : s->host;
        len = strlen(host);
    }
    bool is_bare_v6 = *host != '[' && memchr(host, ':', len);
    return xasprintf("http%s://%s%.*s%s:%u" ROOT "/%s#%s", *s->tls_cert ? "s" : "", is_bare_v6 ? "[" : "", (int)len,
                     host, is_bare_v6 ? "]" : "", a->rest_port, page, part);
}
