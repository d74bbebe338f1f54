#include "runtime/docker/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "http/url.h"

static char *string_copy(const char *path)
{
    return path ? xstrdup(path) : NULL;
}

int docker_host_parse(const char *host, bool is_tls, const struct docker_tls *tls, struct docker_host *ret,
                      struct err *err)
{
    struct docker_host h = { .name = xstrdup(host) };
    struct url u;
    if (strncmp(host, "unix://", 7) == 0 && host[7] == '/') {
        h.unix_path = xstrdup(host + 7);
    } else if (strncmp(host, "tcp://", 6) == 0) {
        h.base_url = xasprintf("%s://%s", is_tls ? "https" : "http", host + 6);
        size_t n = strlen(h.base_url);
        if (n && h.base_url[n - 1] == '/')
            h.base_url[n - 1] = '\0';
        if (url_parse_either(h.base_url, "http", &u) < 0 || strcmp(u.path, "/") != 0)
            h.base_url = (free(h.base_url), NULL);
    }
    if (!h.unix_path && !h.base_url) {
        docker_host_done(&h);
        return err_set(err, ERR_INVALID, 0, "DOCKER_HOST \"%.200s\" is neither unix:///PATH nor tcp://HOST:PORT", host);
    }
    h.ca = string_copy(tls->ca);
    h.cert = string_copy(tls->cert);
    h.key = string_copy(tls->key);
    h.trust = (struct tls_context_trust){ .ca_file = h.ca, .cert_file = h.cert, .key_file = h.key };
    *ret = h;
    return 0;
}

void docker_host_done(struct docker_host *h)
{
    free(h->unix_path);
    free(h->base_url);
    free(h->ca);
    free(h->cert);
    free(h->key);
    free(h->name);
    *h = (struct docker_host){ 0 };
}
