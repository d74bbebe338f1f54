/* Keeps web pages away from a server without tokens. Such a server trusts whoever reaches it, and a browser on this
 * host reaches it for every page it shows: directly (Origin, Sec-Fetch-Site), or after the page's own host name was
 * rebound to a loopback address (Host). Every listener asks here with the head of each request. Clients that are not
 * browsers send no Origin and are not affected. Untrusted: every header. May include: base/, http/, api/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"

struct api;
struct http_req;

/* 0, or -EPERM (403): err says which header it is and how to allow it. */
int hostguard_check(const struct api *a, const struct http_req *r, struct err *err);
/* What the request says about the page that sent it, if any: of this server, or listed. */
bool hostguard_is_page_known(const struct api *a, const struct http_req *r);
/* Access-Control-Allow-Origin for a page of this origin (or NULL): "*", the origin itself, or "" for none. allowed:
 * comma list of origins, or *. */
const char *hostguard_cors(const char *origin, const char *allowed);
bool hostguard_is_loopback(const char *host); /* an address that only this host reaches */
/* Whether a server that listens on listen_host answers to this Host header; allowed: comma list of more names, or *. */
bool hostguard_knows(const char *host_header, const char *listen_host, const char *allowed);
