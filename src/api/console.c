#include "api/console.h"

#include <string.h>

#include "api/api_core.h"
#include "api/asset.h"
#include "api/console_assets.h"

#define FOLDER "/console/"
#define INDEX  "index.html"
/* Nothing inline, nothing evaluated, nothing of another origin; previews are shown in frames of their own origins. */
#define POLICY                                                                                               \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; " \
    "connect-src 'self'; frame-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static const struct console_asset *find_asset(const char *path)
{
    const char *name = strcmp(path, "/") == 0 ? INDEX : path + strlen(FOLDER);
    if (strcmp(path, "/") != 0 && strncmp(path, FOLDER, strlen(FOLDER)) != 0)
        return NULL;
    for (const struct console_asset *a = console_assets; a->name; a++)
        if (strcmp(a->name, name) == 0)
            return a;
    return NULL;
}

/* Other paths are those of workers' routes, or unknown. */
static bool claims(void *arg, struct http_req *r)
{
    (void)arg;
    const char *method = http_req_method(r);
    return (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) && find_asset(http_req_path(r));
}

static bool serve(void *arg, struct http_req *r)
{
    (void)arg;
    const struct console_asset *found = find_asset(http_req_path(r));
    const struct asset file = {
        .packed = console_assets_data + found->at, .packed_len = found->packed, .size = found->size, .tag = found->tag
    };
    /* Every name but the page's has a part from its bytes. */
    bool is_page = strcmp(found->name, INDEX) == 0;
    http_req_add_header(r, "Cache-Control", is_page ? "no-cache" : "public, max-age=31536000, immutable");
    http_req_add_header(r, "Cross-Origin-Resource-Policy", "same-origin");
    if (is_page) {
        http_req_add_header(r, "Content-Security-Policy", POLICY);
        http_req_add_header(r, "Cross-Origin-Opener-Policy", "same-origin");
    }
    asset_reply(r, &file, found->type, NULL);
    return true;
}

void console_add(struct api *a)
{
    if (console_assets[0].name)
        api_add_entry(a, &(struct api_entry){ .path_prefix = "/", .claims = claims, .fn = serve });
}
