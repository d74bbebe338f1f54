#include "engine/request_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "http/url.h"

#define FIELD_MAX 65536

static json_t *query_json(const char *query, bool has_lists)
{
    json_t *o = json_object();
    CLEANUP(buf_done) struct buf key = BUF_INIT(FIELD_MAX), value = BUF_INIT(FIELD_MAX);
    while (url_query_next(&query, &key, &value) == 1) {
        json_t *text = json_text(buf_text(&value), value.len), *list = json_object_get(o, buf_text(&key));
        if (list && has_lists)
            (void)json_array_append_new(list, text);
        else
            (void)json_object_set_new(o, buf_text(&key), has_lists ? json_pack("[o]", text) : text);
        buf_clear(&key);
        buf_clear(&value);
    }
    return o;
}

json_t *request_json_query(const char *query)
{
    return query_json(query, false);
}

json_t *request_json_query_lists(const char *query)
{
    return query_json(query, true);
}

json_t *request_json_headers(const struct http_req *r)
{
    json_t *o = json_object();
    const char *name, *value;
    for (size_t i = 0; http_req_header_at(r, i, &name, &value); i++) {
        CLEANUP(free_p) char *lower = xstrdup(name);
        for (char *at = lower; *at; at++)
            *at = (char)tolower((unsigned char)*at);
        const char *before = json_get_str(o, lower, NULL);
        CLEANUP(free_p) char *joined = before ? xasprintf("%s, %s", before, value) : xstrdup(value);
        (void)json_object_set_new(o, lower, json_text(joined, strlen(joined)));
    }
    return o;
}

char *request_json_peer_address(const struct http_req *r)
{
    const char *peer = http_req_peer(r), *port = strrchr(peer, ':');
    return port ? xstrndup(peer, (size_t)(port - peer)) : xstrdup(peer);
}

void request_json_refuse(struct http_req *r, int status, const char *text)
{
    CLEANUP(free_p) char *body = xasprintf("{\"error\":\"%s\"}", text);
    http_req_reply(r, status, "application/json", body, strlen(body));
}
