/* Sessions of the console: a browser shows its token once and then calls by a cookie. A cookie alone opens nothing:
 * browsers also send it to other ports of the host, where sandboxes may listen. Every request needs the proof, too,
 * which the login answers with and which only pages of this origin can keep: in the header Iii-Session, or in ?session=
 * of a WebSocket. Sessions live in memory: they end with the server, with their token, or after CONSOLE_SESSION_S.
 * Untrusted: every header. May include: base/, http/, api/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

#define CONSOLE_SESSION_PROOF "iii-session" /* header */
#define CONSOLE_SESSION_S     (12 * 3600)

struct api;
struct console_session;

struct console_session *console_session_new(struct api *a); /* adds POST, GET and DELETE of /console/session */
struct console_session *console_session_free(struct console_session *set);
/* The credential of the session that a request shows; NULL: none. Good until the next call of this file. */
const char *console_session_credential(struct console_session *set, const struct http_req *r);
bool console_session_is_cookie(const char *name, size_t len); /* never passed on to an application in a sandbox */
