/* Parser of one HTTP/1.1 response, from any source: a socket (client.h) or a tunnel into a sandbox. Untrusted: every
 * byte. Heads are limited to 64 KiB and 100 headers. Interim responses (1xx except 101) are skipped. May include:
 * base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct http_reply;

struct http_reply_events {                                        /* none may free the reply: use http_reply_stop() */
    void (*on_head)(void *arg, struct http_reply *r, int status); /* may be NULL */
    void (*on_data)(void *arg, struct http_reply *r, const char *data, size_t len); /* may be NULL */
};

enum http_reply_state {
    HTTP_REPLY_MORE,     /* bytes are missing */
    HTTP_REPLY_COMPLETE, /* head and body are complete */
    HTTP_REPLY_UPGRADED, /* 101: what follows is another protocol */
    HTTP_REPLY_STOPPED,  /* by http_reply_stop() */
};

struct http_reply *http_reply_new(bool is_head_method, const struct http_reply_events *ev, void *arg);
struct http_reply *http_reply_free(struct http_reply *r);
DEFINE_CLEANUP(struct http_reply *, http_reply_free)

/* The state after these bytes, or -EPROTO (http_reply_problem() has the reason). *ret_used: bytes that belong to the
 * response; may be NULL. Call it again only after HTTP_REPLY_MORE. */
int http_reply_feed(struct http_reply *r, const char *data, size_t len, size_t *ret_used);
int http_reply_eof(struct http_reply *r);   /* HTTP_REPLY_COMPLETE for a body without a length, or -EPROTO */
void http_reply_stop(struct http_reply *r); /* from inside an event: no more events */
const char *http_reply_problem(const struct http_reply *r);

/* From on_head on. */
int http_reply_status(const struct http_reply *r);                           /* 0 before */
const char *http_reply_header(const struct http_reply *r, const char *name); /* first one, any case; or NULL */
bool http_reply_header_at(const struct http_reply *r, size_t i, const char **ret_name, const char **ret_value);
