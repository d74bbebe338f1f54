/* Theory of operation. The body is a preamble, then parts, each after a line "--BOUNDARY", then "--BOUNDARY--" and an
 * epilogue. Content is passed on up to where a delimiter "\r\n--BOUNDARY" might begin. Bytes that may be the start of
 * one are not passed on but counted (matched); when they turn out to be content, they are passed on from the
 * delimiter's own text, of which they are a copy. So nothing of a content is held but a number.
 *
 * A receiver that takes less stops the feed. The rest of such a held-back start is remembered (owed); the rest of the
 * input counts as unused. */
#include "http/multipart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "http/url.h"

#define IMPLIED 2u /* bytes of the line end before a boundary: it may begin the body, or follow a head at once */

enum state { PREAMBLE, AFTER_BOUNDARY, HEAD, CONTENT, PART_END, EPILOGUE };

struct multipart {
    struct multipart_events ev;
    enum state state;
    char delimiter[4 + MULTIPART_BOUNDARY_MAX + 1]; /* "\r\n--BOUNDARY" */
    size_t delimiter_len;
    size_t matched;       /* bytes of the delimiter that the last input ended with */
    bool is_implied;      /* the first IMPLIED of them were not in the input */
    size_t owed_at, owed; /* of the delimiter: to be passed on as content */
    char tail[2];         /* behind a boundary */
    size_t tail_len;
    bool is_whole;
    struct buf head;
};

/* --- the content type --- */

bool multipart_is_form(const char *type)
{
    static const char form[] = "multipart/form-data";
    size_t len = sizeof(form) - 1;
    return type && strncasecmp(type, form, len) == 0 && (type[len] == '\0' || strchr("; \t", type[len]));
}

/* The value of a parameter: a token or a quoted string. False: not there, or too long. */
static bool get_parameter(const char *at, const char *name, char *out, size_t size)
{
    size_t name_len = strlen(name);
    while ((at = strchr(at, ';'))) {
        at += 1 + strspn(at + 1, " \t");
        if (strncasecmp(at, name, name_len) != 0 || at[name_len] != '=') {
            /* A quoted string may hold a semicolon. */
            const char *quote = strchr(at, '"'), *next = strchr(at, ';');
            if (quote && next && quote < next && (quote = strchr(quote + 1, '"')))
                at = quote;
            continue;
        }
        at += name_len + 1;
        size_t n = 0;
        bool is_quoted = *at == '"';
        for (at += is_quoted; *at && (is_quoted ? *at != '"' : !strchr("; \t\r\n", *at)); at++) {
            if (is_quoted && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
                at++;
            if (n + 1 >= size)
                return false;
            out[n++] = *at;
        }
        out[n] = '\0';
        return !is_quoted || *at == '"';
    }
    return false;
}

bool multipart_boundary(const char *content_type, char out[MULTIPART_BOUNDARY_MAX + 1])
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'()+_,-./:=? ";
    if (!multipart_is_form(content_type) || !get_parameter(content_type, "boundary", out, MULTIPART_BOUNDARY_MAX + 1))
        return false;
    size_t len = strlen(out);
    return len > 0 && strspn(out, good) == len && out[len - 1] != ' ';
}

/* --- the body --- */

struct multipart *multipart_new(const char *boundary, const struct multipart_events *ev)
{
    struct multipart *m = xzalloc(sizeof(*m));
    m->ev = *ev;
    m->delimiter_len = (size_t)snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%s", boundary);
    m->matched = IMPLIED;
    m->is_implied = true;
    buf_init(&m->head, MULTIPART_HEAD_MAX);
    return m;
}

struct multipart *multipart_free(struct multipart *m)
{
    if (m) {
        buf_done(&m->head);
        free(m);
    }
    return NULL;
}

bool multipart_is_whole(const struct multipart *m)
{
    return m->is_whole;
}

/* A filename by RFC 8187 ("UTF-8''a%20b") decoded. False: another charset, or malformed. */
static bool decode_extended(const char *value, char *out, size_t size)
{
    static const char charset[] = "UTF-8''";
    CLEANUP(buf_done) struct buf plain = BUF_INIT(size - 1);
    if (strncasecmp(value, charset, sizeof(charset) - 1) != 0 ||
        url_decode(value + sizeof(charset) - 1, strlen(value) - sizeof(charset) + 1, &plain) < 0 ||
        strlen(buf_text(&plain)) != plain.len)
        return false;
    memcpy(out, buf_text(&plain), plain.len + 1);
    return true;
}

/* Browsers write %22, %0D and %0A for a quote and line ends in a quoted name, and nothing else (WHATWG). */
static void decode_browser(char *text)
{
    char *to = text;
    for (const char *at = text; *at; to++) {
        char c = strncasecmp(at, "%22", 3) == 0   ? '"'
                 : strncasecmp(at, "%0D", 3) == 0 ? '\r'
                 : strncasecmp(at, "%0A", 3) == 0 ? '\n'
                                                  : '\0';
        *to = c ? c : *at;
        at += c ? 3 : 1;
    }
    *to = '\0';
}

/* The headers of a part are complete. */
static int begin_part(struct multipart *m)
{
    static const char wanted[] = "content-disposition:";
    char name[512] = "", filename[4096] = "", extended[4096];
    bool has_name = false, has_file = false;
    for (char *line = m->head.data, *next; *line; line = next) {
        size_t len = strcspn(line, "\r\n");
        next = line + len + strspn(line + len, "\r\n");
        line[len] = '\0';
        if (strncasecmp(line, wanted, sizeof(wanted) - 1) != 0)
            continue;
        const char *value = line + sizeof(wanted) - 1;
        has_name = get_parameter(value, "name", name, sizeof(name));
        has_file = get_parameter(value, "filename", filename, sizeof(filename));
        decode_browser(filename);
        if (get_parameter(value, "filename*", extended, sizeof(extended)))
            has_file |= decode_extended(extended, filename, sizeof(filename));
    }
    buf_clear(&m->head);
    if (!has_name)
        return -EBADMSG;
    m->state = CONTENT;
    m->matched = IMPLIED; /* of an empty content: the boundary may follow the head at once */
    m->is_implied = true;
    return m->ev.on_part(m->ev.arg, name, has_file ? filename : NULL);
}

/* Passes held-back bytes on. False: not all were taken. */
static bool pay(struct multipart *m)
{
    while (m->owed > 0) {
        size_t n = m->state == PREAMBLE ? m->owed : m->ev.on_data(m->ev.arg, m->delimiter + m->owed_at, m->owed);
        m->owed_at += n;
        m->owed -= n;
        if (n == 0)
            return false;
    }
    return true;
}

/* No delimiter after all: its bytes are content, but for a line end that is only implied. A new one begins with the
 * next byte at the earliest, because only its first byte is a CR. */
static bool give_back(struct multipart *m)
{
    m->owed_at = m->is_implied ? IMPLIED : 0;
    m->owed = m->matched - m->owed_at;
    m->matched = 0;
    m->is_implied = false;
    return pay(m);
}

/* Content, or the preamble: up to a delimiter. Returns the used bytes; *ret_stop: the receiver did not take all. */
static size_t scan(struct multipart *m, const char *data, size_t len, bool *ret_stop)
{
    bool is_content = m->state == CONTENT;
    for (size_t at = 0;;) {
        if (m->matched == 0) { /* the part before what may be a delimiter goes as it is */
            const char *cr = memchr(data + at, '\r', len - at);
            size_t plain = cr ? (size_t)(cr - data) - at : len - at;
            size_t n = is_content && plain ? m->ev.on_data(m->ev.arg, data + at, plain) : plain;
            at += n;
            *ret_stop = n < plain;
        }
        if (at == len || *ret_stop)
            return at;
        if (data[at] != m->delimiter[m->matched]) {
            *ret_stop = !give_back(m);
            if (*ret_stop)
                return at;
            continue;
        }
        at++;
        if (++m->matched < m->delimiter_len)
            continue;
        m->matched = 0;
        m->is_implied = false;
        m->tail_len = 0;
        m->state = is_content ? PART_END : AFTER_BOUNDARY;
        return at;
    }
}

/* One byte behind a boundary: "--" ends the body, a line end begins a part. Blanks may come before it. */
static int take_tail(struct multipart *m, char c)
{
    if (m->tail_len == 0 && (c == ' ' || c == '\t'))
        return 0;
    m->tail[m->tail_len++] = c;
    if (m->tail_len < 2)
        return 0;
    m->is_whole = memcmp(m->tail, "--", 2) == 0;
    m->state = m->is_whole ? EPILOGUE : HEAD;
    return m->is_whole || memcmp(m->tail, "\r\n", 2) == 0 ? 0 : -EBADMSG;
}

static int take_head(struct multipart *m, char c)
{
    if (c == '\0' || buf_add_char(&m->head, c) < 0)
        return -EBADMSG;
    bool is_end = (m->head.len == 2 && memcmp(m->head.data, "\r\n", 2) == 0) ||
                  (m->head.len >= 4 && memcmp(m->head.data + m->head.len - 4, "\r\n\r\n", 4) == 0);
    return is_end ? begin_part(m) : 0;
}

int multipart_feed(struct multipart *m, const char *data, size_t len, size_t *ret_used)
{
    bool is_stopped = !pay(m);
    int r = 0;
    *ret_used = 0;
    while (r == 0 && !is_stopped && (*ret_used < len || m->state == PART_END)) {
        switch (m->state) {
        case PREAMBLE:
        case CONTENT:
            *ret_used += scan(m, data + *ret_used, len - *ret_used, &is_stopped);
            break;
        case PART_END:
            r = m->ev.on_part_end(m->ev.arg);
            if (r == 0)
                m->state = AFTER_BOUNDARY;
            break;
        case AFTER_BOUNDARY:
            r = take_tail(m, data[(*ret_used)++]);
            break;
        case HEAD:
            r = take_head(m, data[(*ret_used)++]);
            break;
        case EPILOGUE:
            *ret_used = len;
            break;
        }
    }
    return r == -EAGAIN ? 0 : r;
}
