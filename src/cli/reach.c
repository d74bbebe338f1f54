#include "cli/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/face.h"

static const char envelope_mark[] = "handler error: ";

static long long default_port(void)
{
    const char *text = getenv("III_ENGINE_PORT");
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && end != text && !*end && n > 0 && n < 65536 ? n : WIRE_PORT;
}

int reach_where(const struct verbs_args *a, const char *host, const char *name, struct wire_where *ret)
{
    const char *address = verbs_value(a, "address");
    long long port = default_port();
    if (verbs_number(a, "port", 1, 65535, &port) < 0)
        return 2;
    *ret = (struct wire_where){ .host = address && *address ? address : host, .name = name, .port = (uint16_t)port };
    return 0;
}

const char *reach_code(const json_t *error, json_t **ret_envelope)
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

int reach_fail_text(const char *text)
{
    CLEANUP(free_p) char *clean = face_clean(text);
    (void)fprintf(stderr, "%serror:%s %s\n", face_on(stderr, FACE_BAD), face_off(stderr), clean);
    return 1;
}

int reach_fail(const json_t *error)
{
    JSON_OWNED envelope = NULL;
    const char *code = reach_code(error, &envelope), *kind = json_get_str(error, "code", "");
    if (!code) {
        (void)reach_fail_text(json_get_str(error, "message", "the engine answered with an error"));
        if (strcmp(kind, "function_not_found") == 0)
            (void)fprintf(
                stderr,
                "Is an iii-sandbox server connected to this engine? `iii serve` is engine and server in one.\n");
        return 1;
    }
    CLEANUP(free_p) char *text = face_clean(json_get_str(envelope, "message", ""));
    CLEANUP(free_p) char *shown = face_clean(code);
    CLEANUP(free_p) char *note = face_clean(json_get_str(envelope, "fix_note", ""));
    (void)fprintf(stderr, "%serror:%s [%s] %s\n", face_on(stderr, FACE_BAD), face_off(stderr), shown, text);
    if (*note && face_is_terminal(stderr))
        (void)fprintf(stderr, "%s%s%s\n", face_on(stderr, FACE_FAINT), note, face_off(stderr));
    return 1;
}
