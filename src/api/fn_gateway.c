#include "api/fn_gateway.h"

#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "sandbox/net/egress.h"

#define VALUE_MAX (64u * 1024 * 1024)

static const char *const hosts[] = { "://localhost:", "://127.0.0.1:" };

/* The first of them in text; NULL: none. */
static const char *find_host(const char *text, size_t *ret_len)
{
    const char *first = NULL;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const char *at = strstr(text, hosts[i]);
        if (at && (!first || at < first)) {
            first = at;
            *ret_len = strlen(hosts[i]);
        }
    }
    return first;
}

json_t *fn_gateway_warnings(json_t *env, const char *ports)
{
    json_t *found = NULL, *value;
    const char *name;
    json_object_foreach(env, name, value)
    {
        const char *text = json_string_value(value), *at;
        size_t len;
        for (; (at = find_host(text, &len)); text = at + len) {
            unsigned port = (unsigned)strtoul(at + len, NULL, 10);
            if (address_ports_have(ports, port))
                continue;
            found = found ? found : json_array();
            CLEANUP(free_p) char *why = xasprintf("env %.200s: " EGRESS_GATEWAY_CLOSED, name, port, port);
            (void)json_array_append_new(found, json_text(why, strlen(why)));
        }
    }
    return found;
}

void fn_gateway_rewrite(json_t *env)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(env, next, name, value)
    {
        CLEANUP(buf_done) struct buf out = BUF_INIT(VALUE_MAX);
        const char *text = json_string_value(value), *at;
        size_t len;
        int r = 0;
        for (; r == 0 && (at = find_host(text, &len)); text = at + len) {
            r = buf_add(&out, text, (size_t)(at - text));
            if (r == 0)
                r = buf_add_str(&out, "://" EGRESS_GATEWAY ":");
        }
        if (r == 0 && out.len && buf_add_str(&out, text) == 0)
            (void)json_object_set_new(env, name, json_string(buf_text(&out)));
    }
}
