#include "http/httplines.h"

bool httplines_check(struct httplines *l, const char *end)
{
    for (; l->at < end; l->at++) {
        char byte = *l->at;
        if ((byte == '\n') != (l->last == '\r') || (l->last == '\n' && (byte == ' ' || byte == '\t')))
            return false;
        l->last = byte;
    }
    return true;
}

bool httplines_skip(struct httplines *l, const char *body, size_t len)
{
    if (!httplines_check(l, body))
        return false;
    l->at = body + len;
    l->last = '\0';
    return true;
}
