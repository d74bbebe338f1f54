#include "api/hostguard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/api_core.h"
#include "api/keyring.h"
#include "http/server.h"

#define NAME_MAX_BYTES 256
#define CURE           "create a token with `iii token create`, or allow it in "

static bool is_listed(const char *name, const char *list)
{
    size_t len = strlen(name);
    for (const char *at = list; *at; at += *at == ',') {
        at += strspn(at, " ");
        size_t n = strcspn(at, ", ");
        if ((n == 1 && *at == '*') || (n == len && strncasecmp(at, name, len) == 0))
            return true;
        at += strcspn(at, ",");
    }
    return false;
}

bool hostguard_knows(const char *host_header, const char *listen_host, const char *allowed)
{
    static const char suffix[] = ".localhost"; /* names that resolvers keep to loopback */
    char name[NAME_MAX_BYTES];
    struct in_addr v4;
    struct in6_addr v6;
    /* Host or [address] without the port. */
    bool has_bracket = *host_header == '[';
    const char *from = host_header + has_bracket;
    size_t len = strcspn(from, has_bracket ? "]" : ":"), tail = sizeof(suffix) - 1;
    if (len == 0 || len >= sizeof(name))
        return false;
    memcpy(name, from, len);
    name[len] = '\0';
    bool is_v4 = inet_pton(AF_INET, name, &v4) == 1, is_v6 = inet_pton(AF_INET6, name, &v6) == 1;
    bool is_everywhere = strcmp(listen_host, "0.0.0.0") == 0 || strcmp(listen_host, "::") == 0;
    if (hostguard_is_loopback(name))
        return true;
    if (strcasecmp(name, "localhost") == 0 || (len > tail && strcasecmp(name + len - tail, suffix) == 0))
        return true;
    /* An address cannot be rebound, so one that listens on all of them answers to each. */
    return (is_everywhere && (is_v4 || is_v6)) || strcasecmp(name, listen_host) == 0 || is_listed(name, allowed);
}

const char *hostguard_cors(const char *origin, const char *allowed)
{
    if (strcmp(allowed, "*") == 0)
        return "*";
    return origin && is_listed(origin, allowed) ? origin : "";
}

/* A page that this server itself has sent, or whatever was listed. Other ports of this host are other sites: what an
 * exposed port of a sandbox serves is untrusted. */
static bool is_origin_known(const struct api *a, const struct http_req *r, const char *origin, const char *host)
{
    const char *rest = strstr(origin, "://");
    bool is_same = rest && host && strcasecmp(rest + 3, host) == 0;
    bool is_mcp = strncmp(http_req_path(r), "/mcp", 4) == 0;
    return is_same || is_listed(origin, a->settings->allowed_origins) ||
           (is_mcp && is_listed(origin, a->settings->mcp_origins));
}

bool hostguard_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    return (inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET) ||
           (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

/* A page on another port of this host is of the same site, but not ours: an exposed port serves what a sandbox wants.
 */
static bool is_site_known(const char *site)
{
    return !site || strcasecmp(site, "same-origin") == 0 || strcasecmp(site, "none") == 0;
}

bool hostguard_is_page_known(const struct api *a, const struct http_req *r)
{
    const char *origin = http_req_header(r, "origin"), *site = http_req_header(r, "sec-fetch-site");
    return origin ? is_origin_known(a, r, origin, http_req_header(r, "host")) : is_site_known(site);
}

int hostguard_check(const struct api *a, const struct http_req *r, struct err *err)
{
    const char *host = http_req_header(r, "host"), *origin = http_req_header(r, "origin");
    const char *site = http_req_header(r, "sec-fetch-site");
    bool is_host_known = !host || hostguard_knows(host, a->settings->host, a->settings->allowed_hosts);
    bool is_page_known = hostguard_is_page_known(a, r);
    if ((is_host_known && is_page_known) || !keyring_is_open(a->keys))
        return 0;
    if (!is_host_known)
        return err_set(err, ERR_FORBIDDEN, 0,
                       "Host \"%.80s\" is not a name of this server, which has no tokens: " CURE "III_ALLOWED_HOSTS",
                       host);
    return err_set(err, ERR_FORBIDDEN, 0,
                   "%s \"%.80s\": web pages of other sites may not call a server without tokens: " CURE
                   "III_ALLOWED_ORIGINS",
                   origin ? "Origin" : "Sec-Fetch-Site", origin ? origin : site);
}
