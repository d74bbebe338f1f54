/* The raw proxy: any method, sub-path and body at /<prefix>/proxy/:id/:port/… goes as it is to a server inside a
 * sandbox, streamed both ways; WebSocket and other upgrades become bytes both ways. Also the proxy's settings of a
 * sandbox. Untrusted: the client, and the server inside. May include: base/, http/, sandbox/, api/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sandbox/lifecycle/sandbox.h"

struct api;
struct raw_proxy;

struct raw_proxy *raw_proxy_new(struct api *a);                   /* adds its entry point */
struct raw_proxy *raw_proxy_free(struct raw_proxy *p);            /* closes what is running */
void raw_proxy_end_of(struct raw_proxy *p, const char *token_id); /* cuts what this token has open */

struct raw_proxy_config {
    const char *cors; /* allowed origin; "" leaves the server's own headers alone. Borrowed from the sandbox */
    bool needs_auth;
    int64_t timeout_ms;
};
struct raw_proxy_config raw_proxy_config(const struct sandbox *s);
bool raw_proxy_is_hop(const char *name); /* a header of one connection, never passed on */
