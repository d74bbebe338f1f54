/* Commands on a WebSocket: one connection starts a command, feeds it and gets its output, both streams apart, with or
 * without a terminal. Untrusted: the client, and what the command prints. May include: base/, http/, spec/, sandbox/.
 * Invariants: (1) a command ends with its connection; (2) the client is told how it ended, once, before the close. */
#pragma once
#include "api/api_core.h"

#define ATTACH_MAX     1024 /* commands of a server at the same time, a quarter of them of one tenant; more get 503 */
#define ATTACH_BOX_MAX 64   /* of one sandbox; more are answered 429 */

struct attach_set;

struct attach_set *attach_set_new(struct api *a);
struct attach_set *attach_set_free(struct attach_set *set);       /* ends all */
void attach_stop(struct attach_set *set);                         /* the server stops: clients are told */
void attach_end_of(struct attach_set *set, const char *token_id); /* a token is revoked or expired */
