#include "api/params.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent escapes and "+". Never longer than what came in. */
static int decode(const char *text, size_t len, struct buf *out)
{
    buf_clear(out);
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (c == '+') {
            c = ' ';
        } else if (c == '%') {
            int high = len - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = len - i > 2 ? hex_digit(text[i + 2]) : -1;
            if (high < 0 || low < 0)
                return -EINVAL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        int r = buf_add_char(out, c);
        if (r < 0)
            return r;
    }
    return 0;
}

static int add_pair(json_t *params, const char *pair, size_t len, struct err *err)
{
    const char *equals = memchr(pair, '=', len);
    size_t name_len = equals ? (size_t)(equals - pair) : len;
    CLEANUP(buf_done) struct buf name = BUF_INIT(len + 1), value = BUF_INIT(len + 1);
    int r = decode(pair, name_len, &name);
    if (r >= 0 && equals)
        r = decode(equals + 1, len - name_len - 1, &value);
    if (r < 0)
        return err_set(err, ERR_INVALID, 0, "query string: bad percent escape in \"%.*s\"", (int)(len > 60 ? 60 : len),
                       pair);
    bool has_nul = memchr(buf_text(&name), '\0', name.len) != NULL;
    json_t *text = has_nul ? NULL : json_stringn(buf_text(&value), value.len);
    if (!text || json_object_set_new(params, buf_text(&name), text) < 0)
        return err_set(err, ERR_INVALID, 0, "query string: not UTF-8 text in \"%.*s\"", (int)(len > 60 ? 60 : len),
                       pair);
    return 0;
}

int params_add_query(json_t *params, const char *query, struct err *err)
{
    size_t pairs = 0;
    while (*query) {
        size_t len = strcspn(query, "&");
        if (len > 0) {
            if (++pairs > PARAMS_QUERY_MAX)
                return err_set(err, ERR_INVALID, 0, "query string: more than %d pairs", PARAMS_QUERY_MAX);
            int r = add_pair(params, query, len, err);
            if (r < 0)
                return r;
        }
        query += len + (query[len] == '&');
    }
    return 0;
}

static bool is_blank(const char *body, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isspace((unsigned char)body[i]))
            return false;
    return true;
}

static bool is_json(const char *content_type)
{
    return content_type && strcasestr(content_type, "application/json");
}

bool params_is_ignored(const char *content_type, const char *body, size_t len)
{
    return !is_json(content_type) && !is_blank(body, len);
}

bool params_has_json(const char *content_type, const char *body, size_t len)
{
    return is_json(content_type) && !is_blank(body, len);
}

int params_take_body(json_t *params, json_t *parsed, struct err *err)
{
    JSON_OWNED own = parsed;
    if (json_is_object(own) && json_object_update(params, own) < 0)
        return err_set(err, ERR_INTERNAL, ENOMEM, "request body");
    return 0;
}
