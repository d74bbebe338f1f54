#include "image/registry_auth.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/json.h"

#define JSON_MAX (1 << 20)

static int challenge_error(const char *why, struct err *err)
{
    return err_set(err, ERR_UPSTREAM, 0, "the registry's login challenge is not usable: %s", why);
}

static const char *skip(const char *at)
{
    return at + strspn(at, " \t,");
}

/* Copies one token or "quoted \"text\"" into ret; NULL when malformed or too long. */
static const char *take_value(const char *at, char ret[REGISTRY_AUTH_FIELD])
{
    size_t len = 0;
    bool is_quoted = *at == '"';
    at += is_quoted;
    for (; *at && (is_quoted ? *at != '"' : !strchr(" \t,", *at)); at++) {
        if (is_quoted && *at == '\\' && at[1])
            at++;
        if (len == REGISTRY_AUTH_FIELD - 1 || (unsigned char)*at < 0x20 || *at == 0x7f)
            return NULL;
        ret[len++] = *at;
    }
    ret[len] = '\0';
    if (is_quoted && *at != '"')
        return NULL;
    return at + is_quoted;
}

int registry_auth_parse_challenge(const char *text, struct registry_auth_challenge *ret, struct err *err)
{
    struct registry_auth_challenge c = { .is_basic = false };
    const char *at = skip(text);
    size_t len = strcspn(at, " \t,");
    if (len == 5 && strncasecmp(at, "Basic", 5) == 0) {
        c.is_basic = true;
        *ret = c;
        return 0;
    }
    if (len != 6 || strncasecmp(at, "Bearer", 6) != 0)
        return challenge_error("it is neither Bearer nor Basic", err);
    const struct {
        const char *name;
        char *slot;
    } known[] = { { "realm", c.realm }, { "service", c.service }, { "scope", c.scope } };
    for (at = skip(at + len); *at; at = skip(at)) {
        char value[REGISTRY_AUTH_FIELD];
        len = strcspn(at, "= \t,");
        if (at[len] != '=')
            break; /* the next scheme begins */
        const char *end = take_value(at + len + 1, value);
        if (!end)
            return challenge_error("a value is cut off, too long or not text", err);
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            if (strlen(known[i].name) == len && strncasecmp(at, known[i].name, len) == 0)
                memcpy(known[i].slot, value, strlen(value) + 1);
        at = end;
    }
    if (strncmp(c.realm, "https://", 8) != 0 && strncmp(c.realm, "http://", 7) != 0)
        return challenge_error("its realm is not an http or https address", err);
    *ret = c;
    return 0;
}

int registry_auth_parse_token(const char *text, size_t len, char **ret, struct err *err)
{
    JSON_OWNED doc = NULL;
    if (len > JSON_MAX || json_read(text, len, &doc, err) < 0)
        return err_set(err, ERR_UPSTREAM, 0, "the registry's token reply is not JSON of at most %d bytes", JSON_MAX);
    const char *token = json_get_str(doc, "token", NULL);
    if (!token)
        token = json_get_str(doc, "access_token", NULL);
    if (!token || !*token || strlen(token) > REGISTRY_AUTH_TOKEN)
        return err_set(err, ERR_UPSTREAM, 0, "the registry's token reply has no token of 1 to %d bytes",
                       REGISTRY_AUTH_TOKEN);
    for (const char *at = token; *at; at++)
        if (!isgraph((unsigned char)*at))
            return err_set(err, ERR_UPSTREAM, 0, "the registry's token has bytes that no header may carry");
    *ret = xstrdup(token);
    return 0;
}
