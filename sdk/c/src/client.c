/* Clients: where the server is, by the configuration or the environment. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"
#include "table.h"

#define DEFAULT_URL        "http://localhost:3111"
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_RETRIES    2
#define ADDRESS_MAX        200 /* of what a message shows of it */

/* What is given, otherwise the first of these variables that has a value. */
static const char *setting(const char *given, const char *name, const char *other_name)
{
    const char *value = given ? given : getenv(name);
    if (!given && (!value || !*value) && other_name)
        value = getenv(other_name);
    return value ? value : "";
}

/* The texts are not shown: they may be secrets. */
static int check(const char *url, const char *token, struct iii_error *err)
{
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
        return iii_fail(err, III_ARGUMENT, 0, "base_url does not begin with http:// or https://");
    const char *host = strstr(url, "://") + 3;
    if (memchr(host, '@', strcspn(host, "/")))
        return iii_fail(err, III_ARGUMENT, 0, "base_url has a user in it, which errors would show; use token");
    for (const char *at = token; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 127)
            return iii_fail(err, III_ARGUMENT, 0, "the token has a character that a header cannot have");
    return 0;
}

static char *without_slashes(const char *url)
{
    char *copy = strdup(url);
    for (size_t len = copy ? strlen(copy) : 0; len > 0 && copy[len - 1] == '/'; len--)
        copy[len - 1] = '\0';
    return copy;
}

int iii_client_new(const struct iii_config *config, iii_client **ret, struct iii_error *err)
{
    static const struct iii_config none;
    const struct iii_config *given = config ? config : &none;
    const char *url = setting(given->base_url, "III_SANDBOX_URL", NULL);
    const char *token = setting(given->token, "III_SANDBOX_TOKEN", "III_AUTH_TOKEN");

    *ret = NULL;
    if (!*url)
        url = DEFAULT_URL;
    int e = check(url, token, err);
    if (e != 0)
        return e;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return iii_fail(err, III_NO_MEMORY, 0, "libcurl does not start");
    iii_client *c = calloc(1, sizeof(*c));
    if (!c)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    c->users = 1;
    c->base_url = without_slashes(url);
    c->token = strdup(token);
    c->ca_file = strdup(setting(given->ca_file, "III_CA_CERT", NULL));
    c->timeout_ms = given->timeout_ms ? given->timeout_ms : DEFAULT_TIMEOUT_MS;
    c->max_retries = given->max_retries ? given->max_retries : DEFAULT_RETRIES;
    if (!c->base_url || !c->token || !c->ca_file) {
        iii_client_free(c);
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    }
    *ret = c;
    return 0;
}

iii_client *iii_client_share(iii_client *c)
{
    c->users++;
    return c;
}

void iii_client_free(iii_client *c)
{
    if (!c || --c->users > 0)
        return;
    while (c->idle_count > 0)
        curl_easy_cleanup(c->idle[--c->idle_count]);
    pthread_mutex_destroy(&c->lock);
    free(c->base_url);
    free(c->token);
    free(c->ca_file);
    free(c);
}

void iii_client_name_address(const iii_client *c, struct iii_error *err)
{
    struct iii_error said;

    if (!err)
        return;
    said = *err;
    iii_fail(err, said.code, said.status, "%.*s: %s", ADDRESS_MAX, c->base_url, said.message);
}
