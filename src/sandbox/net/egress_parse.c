#include "sandbox/net/egress_parse.h"

#include <errno.h>
#include <string.h>

#define HEADER     12
#define TYPE_A     1
#define CLASS_IN   1
#define FLAG_REPLY 0x80

struct cursor {
    const uint8_t *data;
    size_t len, at;
    bool is_short; /* read past the end */
};

static uint32_t read_uint(struct cursor *c, unsigned bytes)
{
    uint32_t v = 0;
    if (c->len - c->at < bytes) {
        c->is_short = true;
        c->at = c->len;
        return 0;
    }
    while (bytes--)
        v = v << 8 | c->data[c->at++];
    return v;
}

static void skip(struct cursor *c, size_t bytes)
{
    if (c->len - c->at < bytes) {
        c->is_short = true;
        bytes = c->len - c->at;
    }
    c->at += bytes;
}

static char lower(uint8_t c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

/* Name characters only: no rule and no client needs others. */
static int read_question_name(struct cursor *c, char name[EGRESS_POLICY_NAME])
{
    size_t n = 0;
    name[0] = '\0';
    for (;;) {
        uint32_t len = read_uint(c, 1);
        if (c->is_short || len > 63) /* a pointer has no place in the first name */
            return -EBADMSG;
        if (len == 0)
            return 0;
        const uint8_t *label = c->data + c->at;
        skip(c, len);
        if (c->is_short || n + len + 2 > EGRESS_POLICY_NAME)
            return -EBADMSG;
        if (n)
            name[n++] = '.';
        for (size_t i = 0; i < len; i++) {
            char ch = lower(label[i]);
            if (ch <= ' ' || ch == '.' || ch == 0x7f || (unsigned char)ch >= 0x80)
                return -EBADMSG;
            name[n++] = ch;
        }
        name[n] = '\0';
    }
}

int egress_parse_parse(const uint8_t *msg, size_t len, bool is_reply, struct egress_parse_question *ret)
{
    struct cursor c = { .data = msg, .len = len };
    if (len < HEADER || len > EGRESS_PARSE_MAX)
        return -EBADMSG;
    ret->id = (uint16_t)read_uint(&c, 2);
    uint32_t flags = read_uint(&c, 2), questions = read_uint(&c, 2);
    skip(&c, 6);
    if (((flags >> 8 & FLAG_REPLY) != 0) != is_reply || (flags >> 11 & 15) != 0 || questions != 1)
        return -EBADMSG;
    if (read_question_name(&c, ret->name) < 0)
        return -EBADMSG;
    ret->type = (uint16_t)read_uint(&c, 2);
    uint32_t class = read_uint(&c, 2);
    ret->end = c.at;
    return c.is_short || class != CLASS_IN ? -EBADMSG : 0;
}

static void skip_name(struct cursor *c)
{
    for (;;) {
        uint32_t len = read_uint(c, 1);
        if (c->is_short || len == 0)
            return;
        if (len >= 0xc0) { /* a pointer ends it */
            skip(c, 1);
            return;
        }
        skip(c, len);
    }
}

size_t egress_parse_addresses(const uint8_t *msg, size_t len, const struct egress_parse_question *q, uint32_t *ret,
                              size_t max)
{
    struct cursor c = { .data = msg, .len = len, .at = 6 };
    size_t found = 0;
    uint32_t answers = read_uint(&c, 2);
    c.at = q->end;
    for (uint32_t i = 0; i < answers && found < max && !c.is_short; i++) {
        skip_name(&c);
        uint32_t type = read_uint(&c, 2), class = read_uint(&c, 2);
        skip(&c, 4);
        uint32_t size = read_uint(&c, 2);
        if (type == TYPE_A && class == CLASS_IN && size == 4) {
            uint32_t address = read_uint(&c, 4);
            if (!c.is_short)
                ret[found++] = address;
        } else {
            skip(&c, size);
        }
    }
    return found;
}

size_t egress_parse_refuse(uint8_t *msg, const struct egress_parse_question *q, uint8_t code)
{
    msg[2] |= FLAG_REPLY;
    msg[3] = (uint8_t)(0x80 | code); /* recursion available */
    memset(msg + 6, 0, 6);
    return q->end;
}

/* --- the name a client says it wants --- */

static int copy_name(const uint8_t *text, size_t len, char ret[EGRESS_POLICY_NAME])
{
    if (len && text[len - 1] == '.')
        len--;
    if (len == 0 || len >= EGRESS_POLICY_NAME)
        return -EBADMSG;
    for (size_t i = 0; i < len; i++) {
        ret[i] = lower(text[i]);
        if (ret[i] <= ' ' || (unsigned char)ret[i] >= 0x7f)
            return -EBADMSG;
    }
    ret[len] = '\0';
    return 1;
}

/* The extensions of a ClientHello: the server_name one has a list whose first entry of type 0 is the name. */
static int find_server_name(struct cursor *c, char ret[EGRESS_POLICY_NAME])
{
    while (!c->is_short && c->at < c->len) {
        uint32_t type = read_uint(c, 2), size = read_uint(c, 2);
        if (type != 0) {
            skip(c, size);
            continue;
        }
        skip(c, 2);
        uint32_t kind = read_uint(c, 1), len = read_uint(c, 2);
        if (c->is_short || kind != 0 || c->len - c->at < len)
            return -EBADMSG;
        return copy_name(c->data + c->at, len, ret);
    }
    return -EBADMSG;
}

int egress_parse_tls_name(const uint8_t *data, size_t len, char ret[EGRESS_POLICY_NAME])
{
    struct cursor c = { .data = data, .len = len };
    if (len < 1)
        return 0;
    if (data[0] != 22) /* a handshake record */
        return -EBADMSG;
    if (len < 5)
        return 0;
    size_t record = (size_t)data[3] << 8 | data[4];
    if (record > 16384)
        return -EBADMSG;
    if (len < 5 + record)
        return 0;
    c.len = 5 + record; /* a ClientHello split into several records counts as nameless: no client does that */
    skip(&c, 5);
    if (read_uint(&c, 1) != 1) /* ClientHello */
        return -EBADMSG;
    skip(&c, 3 + 2 + 32);
    skip(&c, read_uint(&c, 1)); /* session */
    skip(&c, read_uint(&c, 2)); /* ciphers */
    skip(&c, read_uint(&c, 1)); /* compression */
    skip(&c, 2);                /* length of all extensions: the record's end says the same */
    return c.is_short ? -EBADMSG : find_server_name(&c, ret);
}

/* A request line names its protocol ("HTTP/1.1"); empty lines before it are skipped, as servers do. A protocol of text
 * whose first line does not is something else, and so is everything with other bytes in that line. */
enum egress_parse_kind egress_parse_kind(const uint8_t *data, size_t len)
{
    size_t from = 0, at;
    if (len == 0)
        return EGRESS_PARSE_NONE;
    if (data[0] == 22)
        return EGRESS_PARSE_TLS;
    while (from < len && (data[from] == '\r' || data[from] == '\n'))
        from++;
    for (at = from; at < len && data[at] != '\n'; at++)
        if ((data[at] < ' ' && data[at] != '\r' && data[at] != '\t') || data[at] >= 0x7f)
            return EGRESS_PARSE_OTHER;
    if (memmem(data + from, at - from, "HTTP/", 5))
        return EGRESS_PARSE_HTTP;
    return at < len ? EGRESS_PARSE_OTHER : EGRESS_PARSE_TEXT;
}

int egress_parse_host(const char *value, char ret[EGRESS_POLICY_NAME])
{
    return copy_name((const uint8_t *)value, strcspn(value, ":"), ret) > 0 ? 0 : -EBADMSG;
}
