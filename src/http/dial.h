/* Connects without blocking: TCP by address or name, also with TLS, and unix sockets. May include: base/, loop/, tls/.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "http/outgoing.h"
#include "loop/loop.h"
#include "tls/tls_context.h"

struct dial;

/* Called once, never from inside dial_*(): a connected, non-blocking descriptor the callee owns and err NULL, or fd < 0
 * and err with the reason. The dial is freed before. */
typedef void dial_fn(void *arg, int fd, const struct err *err);

struct dial_target {
    const char *host; /* name or address */
    uint16_t port;
    struct outgoing rule; /* addresses that it denies are not tried; if none is left, the error is ERR_FORBIDDEN. Its
                             lists outlive the dial */
    SSL_CTX *ctx;         /* NULL: plain. With TLS fn gets a stream of plain bytes, which this loop encrypts and
                             decrypts. The caller's: a reference is kept. The server's certificate must match host */
};

/* Names are resolved on threads that tenants share (rule.tenant), addresses are tried one after the other, all within
 * timeout_ms. */
struct dial *dial_tcp(struct loop *l, const struct dial_target *to, int64_t timeout_ms, dial_fn *fn, void *arg);
struct dial *dial_unix(struct loop *l, const char *path, int64_t timeout_ms, dial_fn *fn, void *arg);
struct dial *dial_free(struct dial *d); /* cancels: fn is not called */
