/* Preview addresses: http://PORT-ID.localhost:3111 (or below III_PREVIEW_DOMAIN) is the server on that port of that
 * sandbox, an origin of its own for each. Says which host names are previews and who may see one: whoever has a token
 * for the sandbox, whoever opened a signed link, anyone for a public port or on a server without tokens. Untrusted:
 * host names, cookies, links, pages of every origin. May include: base/, http/, sandbox/, api/.
 * Invariants: (1) a refusal is the same whether or not there is such a sandbox; (2) a link is good once, a cookie only
 * for its own sandbox and port. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "http/server.h"
#include "sandbox/lifecycle/sandbox.h"

struct api;
struct caller;
struct preview;

struct preview *preview_new(struct api *a);
struct preview *preview_free(struct preview *p);

struct preview_target {
    char id[IDENT_MAX];
    uint16_t port;
};
/* Whether a Host header names a preview. domain: III_PREVIEW_DOMAIN. */
bool preview_parse(const char *host, const char *domain, struct preview_target *ret);
bool preview_is_one(const struct api *a, const struct http_req *r);

/* 0: pass it on; *ret is who asks, NULL for visitors without a token. 1: answered with a redirect that exchanges a link
 * for a cookie. Else refused. s NULL: there is no such sandbox. */
int preview_admit(struct preview *p, struct http_req *r, const struct preview_target *t, struct sandbox *s,
                  struct caller **ret, struct err *err);
/* "http://8000-0123….localhost:3111/"; caller frees. */
char *preview_url(const struct api *a, const struct sandbox *s, uint16_t port);
bool preview_rewrites_host(const struct sandbox *s, uint16_t port); /* the server inside is told it is localhost */
bool preview_is_own_cookie(const char *name, size_t len);           /* not for the server inside */
