#include "http/http_rules.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "http/httplines.h"

static bool fail(struct http_rules_problem *ret, const char *text)
{
    *ret = (struct http_rules_problem){ 400, text };
    return false;
}

const char *http_rules_value(const struct http_rules_head *h, const char *name)
{
    for (unsigned i = 0; i < h->count; i++)
        if (strcasecmp(h->text + h->fields[i].name, name) == 0)
            return h->text + h->fields[i].value;
    return NULL;
}

/* CGI and its successors read "_" as "-": behind a proxy such a name would be a second length. */
static bool is_framing_alias(const char *name)
{
    static const char *const framing[] = { "content-length", "transfer-encoding" };
    for (size_t i = 0; i < sizeof framing / sizeof *framing && strchr(name, '_'); i++) {
        size_t at = 0;
        while (name[at] &&
               (tolower((unsigned char)name[at]) == framing[i][at] || (name[at] == '_' && framing[i][at] == '-')))
            at++;
        if (!name[at] && !framing[i][at])
            return true;
    }
    return false;
}

/* Below 2^63, which has 19 digits. */
static bool is_length(const char *value)
{
    size_t len = strlen(value), zeros = strspn(value, "0");
    return len && strspn(value, "0123456789") == len &&
           (len - zeros < 19 || (len - zeros == 19 && strcmp(value + zeros, "9223372036854775807") <= 0));
}

bool http_rules_fields(const struct http_rules_head *h, struct http_rules_problem *ret)
{
    unsigned hosts = 0, lengths = 0, encodings = 0;
    for (unsigned i = 0; i < h->count; i++) {
        const char *name = h->text + h->fields[i].name, *value = h->text + h->fields[i].value;
        if (!httplines_is_field(name, value))
            return fail(ret, "a header name or value holds a byte that is not allowed");
        if (is_framing_alias(name))
            return fail(ret, "Content-Length and Transfer-Encoding are not written with \"_\"");
        if (strcasecmp(name, "host") == 0) {
            hosts++;
            if (strpbrk(value, " \t/\\@?#,"))
                return fail(ret, "Host is not a valid host name and port");
        } else if (strcasecmp(name, "content-length") == 0) {
            lengths++;
            if (!is_length(value))
                return fail(ret, "Content-Length must be one decimal number below 2^63");
        } else if (strcasecmp(name, "transfer-encoding") == 0) {
            encodings++;
            if (strcasecmp(value, "chunked") != 0)
                return fail(ret, "Transfer-Encoding must be exactly \"chunked\"");
        }
    }
    if (hosts > 1 || (hosts == 0 && !h->is_http10))
        return fail(ret, "exactly one Host header is required");
    if (lengths > 1 || encodings > 1 || (lengths && encodings))
        return fail(ret, "one Content-Length or one Transfer-Encoding, not both and none twice");
    return !(encodings && h->is_http10) || fail(ret, "HTTP/1.0 has no Transfer-Encoding");
}

bool http_rules_target(const struct http_rules_head *h, size_t *ret_path, struct http_rules_problem *ret)
{
    const char *url = h->text, *path = url;
    for (const char *s = url; *s; s++) {
        unsigned char b = (unsigned char)*s;
        if (b <= 0x20 || b >= 0x7f || b == '#')
            return fail(ret, "request target holds a byte that must be percent-encoded");
    }
    if (strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0) {
        path = strchr(url, ':') + 3;
        size_t len = strcspn(path, "/?");
        const char *host = http_rules_value(h, "host");
        if (host && (strlen(host) != len || strncasecmp(host, path, len) != 0))
            return fail(ret, "the request target and Host name two different hosts");
        path += len;
    }
    *ret_path = (size_t)(path - url);
    return true;
}
