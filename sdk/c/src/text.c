#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "table.h"

void iii_text_add(struct text *t, const char *data, size_t size)
{
    if (t->failed || size > SIZE_MAX / 4 - t->size) {
        t->failed = true;
        return;
    }
    if (t->size + size + 1 > t->room) {
        size_t room = (t->size + size + 1) * 2;
        char *grown = realloc(t->data, room);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->room = room;
    }
    memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void iii_text_escaped(struct text *t, const char *value)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (const char *at = value; *at; at++) {
        char code[4];
        if (strchr(plain, *at)) {
            iii_text_add(t, at, 1);
        } else {
            snprintf(code, sizeof(code), "%%%02X", (unsigned char)*at);
            iii_text_add(t, code, 3);
        }
    }
}

void iii_text_done(struct text *t)
{
    free(t->data);
    *t = (struct text){ 0 };
}

int iii_fail(struct iii_error *err, int code, int status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        err->status = status;
        vsnprintf(err->message, sizeof(err->message), format, args);
        va_end(args);
    }
    return code;
}

static const struct error_name own_names[] = {
    { III_OK, "ok" },
    { III_ARGUMENT, "argument" },
    { III_CONNECTION, "connection" },
    { III_DEADLINE, "deadline" },
    { III_PROTOCOL, "protocol" },
    { III_NO_MEMORY, "no_memory" },
    { III_OTHER, "other" },
    { III_COMMAND, "command_failed" },
    { III_LOCAL, "local" },
    { 0, NULL },
};

static const char *find_name(const struct error_name *names, int code)
{
    for (; names->name; names++)
        if (names->code == code)
            return names->name;
    return NULL;
}

const char *iii_code_name(int code)
{
    const char *name = find_name(own_names, code);
    if (!name)
        name = find_name(iii_error_names, code);
    return name ? name : "unknown";
}
