/* Interactive terminals: a shell on a pseudo terminal inside a sandbox, watched and typed into over WebSockets: two
 * one-way channels made with the session, or any number of duplex viewers who come and go. Untrusted: viewers, and what
 * the shell prints. May include: base/, loop/, http/, engine/, sandbox/. Invariants: (1) a session ends once: with its
 * shell, by terminal_close(), or with its sandbox; (2) the last TERMINAL_REPLAY bytes of output are kept for whoever
 * attaches; (3) without viewers the shell never waits for one. */
#pragma once
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "http/server.h"
#include "sandbox/lifecycle/sandbox.h"

#define TERMINAL_REPLAY  65536
#define TERMINAL_VIEWERS 8 /* duplex WebSockets of one session */

struct terminal_set; /* all sessions of a server */
struct terminal;

struct terminal_set *terminal_set_new(struct manager *m);
struct terminal_set *terminal_set_free(struct terminal_set *set); /* ends all; before the links go */

struct terminal_plan {
    uint16_t cols, rows;
    const char *shell;    /* one of the allow-list, else ERR_FORBIDDEN */
    const char *token_id; /* whose token opens it; "" or NULL: none */
};
/* session: TerminalSession, borrowed; NULL with err. */
typedef void terminal_fn(void *arg, const json_t *session, const struct err *err);
/* fn comes once, never from inside this call; -errno with err: it does not come. ERR_RATE_LIMITED past
 * settings.max_terminals. */
int terminal_open(struct terminal_set *set, struct sandbox *s, const struct terminal_plan *plan, terminal_fn *fn,
                  void *arg, struct err *err);
/* ERR_NOT_FOUND. Borrowed until the next turn. */
struct terminal *terminal_find(struct terminal_set *set, const struct sandbox *s, const char *session_id,
                               struct err *err);
void terminal_resize(struct terminal *t, uint16_t cols, uint16_t rows);
void terminal_close(struct terminal *t); /* ends the shell */
/* Makes the request a duplex WebSocket: the last output first, then bytes both ways. Answers r in any case, with
 * the status that is returned: 101, 429 (too many are attached), 400 (not a WebSocket handshake). */
int terminal_attach(struct terminal *t, struct http_req *r, const char *token_id);
/* A token is revoked or expired: the terminals it opened end (their channels need no token), and its viewers are
 * disconnected. */
void terminal_end_of(struct terminal_set *set, const char *token_id);
