#include "sse.h"

#include <string.h>

#include "table.h"

#define EVENT_MAX ((size_t)64 << 20)
#define DATA      "data:"

void iii_sse_init(struct sse *s, iii_data_fn *on_data, void *arg)
{
    *s = (struct sse){ .on_data = on_data, .arg = arg };
}

void iii_sse_done(struct sse *s)
{
    iii_text_done(&s->line);
}

static int take_line(struct sse *s, struct iii_error *err)
{
    const char *at = s->line.data;
    size_t size = s->line.size;

    s->line.size = 0;
    if (size < strlen(DATA) || memcmp(at, DATA, strlen(DATA)) != 0)
        return 0;
    at += strlen(DATA);
    size -= strlen(DATA);
    while (size > 0 && *at == ' ') {
        at++;
        size--;
    }
    while (size > 0 && (at[size - 1] == '\r' || at[size - 1] == ' '))
        size--;
    return size > 0 ? s->on_data(at, size, s->arg, err) : 0;
}

int iii_sse_feed(struct sse *s, const char *data, size_t size, struct iii_error *err)
{
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t part = newline ? (size_t)(newline - data) : size;
        if (s->line.size + part > EVENT_MAX)
            return iii_fail(err, III_PROTOCOL, 0, "an event is longer than %zu bytes", EVENT_MAX);
        iii_text_add(&s->line, data, part);
        if (s->line.failed)
            return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
        if (!newline)
            return 0;
        int e = take_line(s, err);
        if (e != 0)
            return e;
        data += part + 1;
        size -= part + 1;
    }
    return 0;
}

int iii_sse_end(struct sse *s, struct iii_error *err)
{
    return take_line(s, err);
}
