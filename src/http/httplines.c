#include "http/httplines.h"

#include <string.h>

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

bool httplines_request(struct httplines_request *q, const char *data, size_t len)
{
    static const char version[] = "HTTP/d.d";
    for (; len && !q->is_done; data++, len--) {
        unsigned char byte = (unsigned char)*data;
        bool is_end = byte == '\r' || byte == '\n';
        if (is_end && !q->is_begun)
            continue;
        q->is_begun = true;
        if (is_end) {
            q->is_done = true;
            return q->spaces < 2 || q->version_len == sizeof version - 1; /* without a version: the parser's HTTP/0.9 */
        }
        if (byte == ' ') {
            if (++q->spaces > 2)
                return false;
        } else if (byte < ' ' || byte == 0x7f) {
            return false;
        } else if (q->spaces == 2) {
            unsigned char want = q->version_len < sizeof version - 1 ? (unsigned char)version[q->version_len] : '\0';
            if (want == 'd' ? byte < '0' || byte > '9' : byte != want)
                return false;
            q->version_len++;
        }
    }
    return true;
}

bool httplines_is_field(const char *name, const char *value)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    bool is_clean = *name != '\0';
    for (; *name && is_clean; name++)
        is_clean = (*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') ||
                   strchr(others, *name);
    for (const unsigned char *b = (const unsigned char *)value; is_clean && *b; b++)
        is_clean = (*b >= 0x20 || *b == '\t') && *b != 0x7f;
    return is_clean;
}
