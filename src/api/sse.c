#include "api/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

char *sse_event(const json_t *event, const char *id, size_t *ret_len)
{
    CLEANUP(free_p) char *json = json_write(event, NULL); /* compact: line breaks are escaped in it */
    char *text = id ? xasprintf("id: %s\ndata: %s\n\n", id, json) : xasprintf("data: %s\n\n", json);
    *ret_len = strlen(text);
    return text;
}

char *sse_comment(const char *text, size_t *ret_len)
{
    char *line = xasprintf(": %s\n\n", text);
    *ret_len = strlen(line);
    return line;
}
