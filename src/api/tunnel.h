/* TCP tunnels into sandboxes over HTTP upgrades: what `ssh -L` uses. Untrusted: both ends. May include: base/, http/,
 * sandbox/. */
#pragma once
#include "api/api_core.h"

struct tunnel_set;

struct tunnel_set *tunnel_set_new(void);
struct tunnel_set *tunnel_set_free(struct tunnel_set *set);       /* ends all */
void tunnel_end_of(struct tunnel_set *set, const char *token_id); /* a token is revoked or expired */
