/* URLs, percent-decoding and query strings. The first byte picks the scheme. */
#include "../feed.h"

#include "base/cleanup.h"
#include "http/url.h"
#include "http/ws_key.h"

static void walk_query(const char *query)
{
    CLEANUP(buf_done) struct buf key = BUF_INIT(strlen(query));
    CLEANUP(buf_done) struct buf value = BUF_INIT(strlen(query));
    CLEANUP(buf_done) struct buf found = BUF_INIT(strlen(query));
    const char *at = query;
    int r;
    while ((r = url_query_next(&at, &key, &value)) > 0) {
        MUST(strlen(buf_text(&key)) == key.len && strlen(buf_text(&value)) == value.len); /* no NUL gets in */
        int there = url_query_get(query, buf_text(&key), &found);
        MUST(there == 1);
    }
    MUST(r < 0 || *at == '\0');
}

static void parse(const char *text, const char *scheme)
{
    struct url u, again;
    if (url_parse(text, scheme, 80, &u) < 0)
        return;
    MUST(u.port > 0 && u.host[0] && strlen(u.host) < URL_HOST_MAX && !strpbrk(u.host, "/?#@ \r\n") && u.path[0] == '/');
    size_t size = strlen(text) + 64;
    CLEANUP(free_p) char *printed = malloc(size);
    MUST(printed);
    bool is_six = strchr(u.host, ':');
    (void)snprintf(printed, size, "%s://%s%s%s:%u%s", scheme, is_six ? "[" : "", u.host, is_six ? "]" : "", u.port,
                   u.path);
    MUST(url_parse(printed, scheme, 1, &again) == 0 && again.port == u.port && strcmp(again.host, u.host) == 0 &&
         strcmp(again.path, u.path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char accept[WS_KEY_ACCEPT_MAX];
    if (size < 1)
        return 0;
    CLEANUP(free_p) char *text = feed_text(data + 1, size - 1);
    CLEANUP(buf_done) struct buf out = BUF_INIT(strlen(text));
    if (url_decode(text, strlen(text), &out) == 0)
        MUST(!memchr(buf_text(&out), '\0', out.len));
    parse(text, data[0] & 1 ? "ws" : "http");
    walk_query(text);
    if (ws_key_is_valid(text))
        ws_key_accept(text, accept);
    return 0;
}
