/* Connects without blocking: TCP by address or name, and unix sockets. May include: base/, loop/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "loop/loop.h"
#include "tls/tls_context.h"

struct dial;

/* Called once, never from inside dial_*(): a connected, non-blocking descriptor the callee owns and err NULL, or fd < 0
 * and err with the reason. The dial is freed before. */
typedef void dial_fn(void *arg, int fd, const struct err *err);

/* Names are resolved on a pool thread, addresses are tried one after the other, all within timeout_ms. */
struct dial *dial_tcp(struct loop *l, const char *host, uint16_t port, int64_t timeout_ms, dial_fn *fn, void *arg);
/* The same with TLS: fn gets a stream of plain bytes, which this loop encrypts and decrypts. ctx is the caller's (a
 * reference is kept). The server's certificate must match host. */
struct dial *dial_tls(struct loop *l, const char *host, uint16_t port, SSL_CTX *ctx, int64_t timeout_ms, dial_fn *fn,
                      void *arg);
struct dial *dial_unix(struct loop *l, const char *path, int64_t timeout_ms, dial_fn *fn, void *arg);
/* Only addresses for which fn is true are tried; if none is left, the error is ERR_FORBIDDEN. Right after dial_tcp() or
 * dial_tls(). */
typedef bool dial_allow_fn(const struct sockaddr *a);
void dial_only(struct dial *d, dial_allow_fn *fn);
struct dial *dial_free(struct dial *d); /* cancels: fn is not called */
