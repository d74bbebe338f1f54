/* The raw proxy: any method, sub-path and body at /<prefix>/proxy/:id/:port/… goes as it is to a server inside a
 * sandbox, streamed both ways; WebSocket and other upgrades become bytes both ways. Also the proxy's settings of a
 * sandbox. Untrusted: the client, and the server inside. May include: base/, http/, sandbox/, api/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/sandbox.h"

struct api;
struct rawproxy;

struct rawproxy *rawproxy_new(struct api *a);                   /* adds its door */
struct rawproxy *rawproxy_free(struct rawproxy *p);             /* cuts what is running */
void rawproxy_end_of(struct rawproxy *p, const char *token_id); /* cuts what this token has open */

struct rawproxy_config {
    const char *cors; /* allowed origin; "" leaves the server's own headers alone. Borrowed from the sandbox */
    bool needs_auth;
    int64_t timeout_ms;
};
struct rawproxy_config rawproxy_config(const struct sandbox *s);
bool rawproxy_is_hop(const char *name); /* a header of one connection, never passed on */
