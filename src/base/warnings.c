#include "base/warnings.h"

#include <stdio.h>
#include <string.h>

#define SENTENCE_MAX 300
#define NAME_SHOWN   64 /* bytes of an unknown name */

static void append(json_t **list, json_t *sentence)
{
    size_t n = json_array_size(*list);
    if (!*list)
        *list = json_array();
    if (n < WARNINGS_MAX)
        (void)json_array_append_new(*list, sentence);
    else
        json_decref(sentence);
    if (n == WARNINGS_MAX)
        (void)json_array_append_new(*list, json_string("there are more warnings than these"));
}

void warnings_add(json_t **list, const char *fmt, ...)
{
    char text[SENTENCE_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    append(list, json_text(text, strlen(text)));
}

void warnings_add_all(json_t **list, const json_t *more)
{
    for (size_t i = 0; i < json_array_size(more); i++)
        append(list, json_incref(json_array_get(more, i)));
}

void warnings_add_unknown(json_t **list, const char *what, const char *name, const char *nearest)
{
    if (*nearest)
        warnings_add(list, "%.*s: unknown %s; did you mean \"%s\"?", NAME_SHOWN, name, what, nearest);
    else
        warnings_add(list, "%.*s: unknown %s", NAME_SHOWN, name, what);
}

int warnings_refuse(const json_t *list, struct err *err)
{
    size_t used = 0;
    int r = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *sentence = json_string_value(json_array_get(list, i));
        if (i == 0)
            r = err_set(err, ERR_INVALID, 0, "%s", sentence);
        else if (err && (used = strlen(err->msg)) + strlen(sentence) + 3 < sizeof(err->msg))
            (void)snprintf(err->msg + used, sizeof(err->msg) - used, "; %s", sentence);
    }
    return r;
}
