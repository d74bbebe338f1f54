#include "cli/engine_connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "cli/display.h"

static const char envelope_mark[] = "handler error: ";

/* "HOST", or "ws://HOST[:PORT]" and similar; wss and https use TLS. False: not an address. */
static bool read_address(const char *text, struct wire_where *ret)
{
    static const struct {
        const char *scheme;
        bool is_secure;
    } schemes[] = { { "ws", false }, { "http", false }, { "wss", true }, { "https", true } };
    struct url u;
    if (!strstr(text, "://")) {
        ret->host = text;
        return true;
    }
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
        if (url_parse(text, schemes[i].scheme, 0, &u) < 0 || strcmp(u.path, "/") != 0)
            continue;
        memcpy(ret->host_room, u.host, sizeof(ret->host_room));
        ret->host = ret->host_room;
        ret->is_secure = schemes[i].is_secure;
        if (u.port)
            ret->port = u.port;
        return true;
    }
    return false;
}

int engine_connect_where(const struct verbs_args *a, const char *host, const char *name, struct wire_where *ret)
{
    const char *address = verbs_value(a, "address"), *ca = verbs_value(a, "ca-cert");
    const char *usual = getenv("III_ENGINE_PORT");
    char *end = NULL;
    long long port = usual ? strtoll(usual, &end, 10) : 0;
    if (!usual || end == usual || *end || port < LIMIT_MIN(PORT) || port > LIMIT_MAX(PORT))
        port = URL_ENGINE_PORT;
    if (verbs_number(a, "port", LIMIT_MIN(PORT), LIMIT_MAX(PORT), &port) < 0)
        return 2;
    if (!address || !*address)
        address = getenv("III_URL");
    *ret = (struct wire_where){ .name = name, .port = (uint16_t)port };
    ret->trust = (struct tls_context_trust){ .ca_file = ca ? ca : getenv("III_CA_CERT"),
                                             .cert_file = getenv("III_CLIENT_CERT"),
                                             .key_file = getenv("III_CLIENT_KEY") };
    if (!read_address(address && *address ? address : host, ret))
        return verbs_usage_error(a->verb, "\"%s\" is not an address: HOST, ws://HOST:PORT or wss://HOST:PORT is needed",
                                 address);
    return 0;
}

int engine_connect_open(const struct verbs_args *a, struct wire **ret)
{
    struct wire_where where;
    struct err err = ERR_INIT;
    int r = engine_connect_where(a, "127.0.0.1", "iii-cli:sandbox", &where);
    if (r != 0)
        return r;
    return wire_open(&where, ret, &err) < 0 ? engine_connect_fail_text(err.msg) : 0;
}

const char *engine_connect_code(const json_t *error, json_t **ret_envelope)
{
    const char *message = json_get_str(error, "message", "");
    const char *at = strstr(message, envelope_mark);
    *ret_envelope = NULL;
    if (!at)
        return NULL;
    at += sizeof(envelope_mark) - 1;
    if (json_read(at, strlen(at), ret_envelope, NULL) < 0)
        return NULL;
    return json_get_str(*ret_envelope, "code", NULL);
}

int engine_connect_fail_text(const char *text)
{
    CLEANUP(free_p) char *clean = display_clean(text);
    (void)fprintf(stderr, "%serror:%s %s\n", display_on(stderr, DISPLAY_BAD), display_off(stderr), clean);
    return 1;
}

int engine_connect_fail(const json_t *error)
{
    JSON_OWNED envelope = NULL;
    const char *code = engine_connect_code(error, &envelope), *kind = json_get_str(error, "code", "");
    if (!code) {
        (void)engine_connect_fail_text(json_get_str(error, "message", "the engine answered with an error"));
        if (strcmp(kind, "function_not_found") == 0)
            (void)fprintf(
                stderr,
                "Is an iii-sandbox server connected to this engine? `iii serve` is engine and server in one.\n");
        return 1;
    }
    CLEANUP(free_p) char *text = display_clean(json_get_str(envelope, "message", ""));
    CLEANUP(free_p) char *shown = display_clean(code);
    CLEANUP(free_p) char *note = display_clean(json_get_str(envelope, "fix_note", ""));
    (void)fprintf(stderr, "%serror:%s [%s] %s\n", display_on(stderr, DISPLAY_BAD), display_off(stderr), shown, text);
    if (*note && display_is_terminal(stderr))
        (void)fprintf(stderr, "%s%s%s\n", display_on(stderr, DISPLAY_FAINT), note, display_off(stderr));
    return 1;
}
