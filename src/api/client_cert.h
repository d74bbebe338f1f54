/* Who calls with a client certificate and no token: names of certificates, mapped to tenants and roles by
 * III_TLS_CLIENT_MAP. The TLS listener has verified the certificate. Untrusted: its names, which the authority chose.
 * May include: base/, spec/, tls/tls_peer.h, api/identity.h. */
#pragma once
#include "api/identity.h"
#include "base/cleanup.h"
#include "base/settings.h"

struct client_cert_map;

bool client_cert_is_wanted(const struct settings *s);
/* *ret is NULL when there is no map. ERR_INVALID names the entry. */
int client_cert_map_new(const struct settings *s, struct client_cert_map **ret, struct err *err);
struct client_cert_map *client_cert_map_free(struct client_cert_map *m);
DEFINE_CLEANUP(struct client_cert_map *, client_cert_map_free)
/* cert: tls_peer_describe(). An exact name counts before one with *, a longer one before a shorter, then the order of
 * the map. ERR_FORBIDDEN: expired, or not in the map. */
int client_cert_check(const struct client_cert_map *m, const char *cert, int64_t now_ms, struct identity *ret,
                      struct err *err);
