/* Registrations of HTTP-invoked functions, two lines: the `security` settings and the `invocation`. One that is
 * accepted has a URL that the settings allow, judged here by other means. Nothing is resolved and nothing is sent. */
#include "../feed.h"

#include <arpa/inet.h>
#include <strings.h>

#include "base/alloc.h"
#include "engine/engine_config.h"
#include "engine/engine_core.h"
#include "engine/http_function.h"
#include "http/url.h"

/* Addresses that no public server has, by what they look like. */
static bool looks_private(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6) || IN6_IS_ADDR_LINKLOCAL(&v6) || IN6_IS_ADDR_MULTICAST(&v6) ||
               IN6_IS_ADDR_UNSPECIFIED(&v6) || (v6.s6_addr[0] & 0xfe) == 0xfc ||
               (IN6_IS_ADDR_V4MAPPED(&v6) && (v6.s6_addr[12] == 127 || v6.s6_addr[12] == 10));
    if (inet_pton(AF_INET, host, &v4) != 1)
        return false; /* a name: judged when it is resolved */
    uint32_t ip = ntohl(v4.s_addr);
    return ip >> 24 == 0 || ip >> 24 == 10 || ip >> 24 == 127 || ip >> 20 == 0xac1 || ip >> 16 == 0xc0a8 ||
           ip >> 16 == 0xa9fe || ip >> 28 >= 0xe;
}

static void check_accepted(const json_t *security, const json_t *invocation)
{
    struct url u;
    const char *url = json_get_str(invocation, "url", NULL);
    MUST(url && url_parse_either(url, "http", &u) == 0 && *u.host);
    MUST(u.is_secure || !json_get_bool(security, "require_https", true));
    MUST(!json_get_bool(security, "block_private_ips", true) || !looks_private(u.host));
    for (const char *at = url; *at; at++)
        MUST((unsigned char)*at > ' ' && *at != 0x7f); /* it becomes part of a request line */
    const json_t *auth = json_get(invocation, "auth");
    const char *type = json_get_str(auth, "type", "");
    const char *key = strcmp(type, "hmac") == 0     ? "secret_key"
                      : strcmp(type, "bearer") == 0 ? "token_key"
                                                    : "value_key";
    MUST(strncmp(json_get_str(auth, key, ""), "III_", 4) != 0); /* the server's own tokens */
    const char *name;
    json_t *value;
    json_t *headers = json_get(invocation, "headers");
    json_object_foreach(headers, name, value)
    {
        MUST(json_is_string(value) && !strpbrk(name, "\r\n: ") && !strpbrk(json_string_value(value), "\r\n"));
        MUST(strcasecmp(name, "host") != 0 && strcasecmp(name, "content-length") != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct engine e = { 0 };
    struct err err = ERR_INIT;
    struct http_function *f = NULL;
    JSON_OWNED invocation = NULL;
    CLEANUP(free_p) char *text = feed_text(data, size);
    char *rest = text;
    const char *settings = feed_line(&rest);
    CLEANUP(free_p)
    char *config =
        xasprintf("[{\"name\":\"iii-http-functions\",\"config\":{\"security\":%s}}]", settings ? settings : "{}");
    if (setenv("APP_SECRET", "s3cret", 1) < 0 || setenv("III_AUTH_TOKEN", "own", 1) < 0)
        abort();
    if (rest && json_read(rest, strlen(rest), &invocation, NULL) == 0 &&
        engine_config_read(config, &e.config, &err) == 0) {
        if (http_function_new(&e, invocation, &f, &err) == 0)
            check_accepted(json_get(engine_config_of(e.config, "iii-http-functions"), "security"), invocation);
        else
            MUST(!f && err.code != ERR_NONE);
    }
    http_function_free(f);
    json_decref(e.config);
    return 0;
}
