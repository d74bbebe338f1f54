/* http.h: libcurl behind a small face: one request and its answer, or its events. */
#pragma once
#include <curl/curl.h>

#include "iii_sandbox.h"

/* A text that grows. `failed`: memory was short, and something is missing in it. */
struct text {
    char *data;
    size_t size, room;
    bool failed;
};

void iii_text_add(struct text *t, const char *data, size_t size);
void iii_text_escaped(struct text *t, const char *value); /* percent-encoded, so that it stays one part of a URL */
void iii_text_done(struct text *t);

#define SINK_LEAVE (-1)
/* One event's data. 0: go on. SINK_LEAVE: enough. Anything else: a code, with err filled. */
typedef int iii_data_fn(const char *data, size_t size, void *arg, struct iii_error *err);

struct request {
    const char *method;
    const char *path; /* and query */
    const char *body; /* NULL: none */
    const char *key;  /* Idempotency-Key; NULL: none */
    bool safe, is_long;
    iii_data_fn *on_data; /* NULL: an ordinary answer */
    void *arg;
};

/* 2xx, or the code of the failure. `answer` is for what does not stream. */
int iii_http_send(iii_client *client, const struct request *r, struct text *answer, struct iii_error *err);

/* For terminals: a handle with the client's settings and the URL; the caller cleans it up. NULL when memory is short.
 */
CURL *iii_http_socket(iii_client *client, const char *path);
const char *iii_http_base_url(const iii_client *client);
const char *iii_http_token(const iii_client *client);

/* The failure that an answer with this status is; the body may hold the server's sentence. */
int iii_http_failure(int status, const char *body, size_t size, struct iii_error *err);
