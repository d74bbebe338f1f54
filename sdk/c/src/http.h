/* http.h: libcurl behind a small face: one request and its answer, its events, or its bytes. */
#pragma once
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "iii_sandbox.h"

#define IDLE_MAX 8 /* connections that are kept for later */

struct iii_client {
    atomic_int users;                 /* the caller, and sandboxes */
    char *base_url, *token, *ca_file; /* "": none */
    int timeout_ms, max_retries;
    pthread_mutex_t lock; /* of the idle handles: a callback of one call may make another, and so may other threads */
    CURL *idle[IDLE_MAX];
    int idle_count;
};

iii_client *iii_client_share(iii_client *client); /* for one more iii_client_free() */
/* Puts the address before the message. */
void iii_client_name_address(const iii_client *client, struct iii_error *err);

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

/* A body that is not in memory: that of the request has a source, that of the answer a sink. */
struct bytes {
    iii_source_fn *source;
    iii_sink_fn *sink;
    void *arg;
    int64_t done, total; /* total: -1 when unknown */
    iii_progress_fn *on_progress;
    void *progress_arg;
    const struct iii_pair *headers; /* names with ": "; the last has none */
    char etag[128], mode[16];       /* of the answer; "": none */
};

struct request {
    const char *method;
    const char *path; /* and query */
    const char *body; /* NULL: none */
    const char *key;  /* Idempotency-Key; NULL: none */
    bool safe, is_long;
    iii_data_fn *on_data; /* NULL: an ordinary answer */
    void *arg;
    struct bytes *bytes; /* NULL: an ordinary answer */
};

/* 2xx, or the code of the failure, whose message names the address. `answer` is for what does not stream. */
int iii_http_send(iii_client *client, const struct request *r, struct text *answer, struct iii_error *err);

/* For terminals: a handle with the client's settings and the URL; the caller cleans it up. NULL when memory is short.
 */
CURL *iii_http_socket(iii_client *client, const char *path);

/* The failure that an answer with this status is; the body may hold the server's sentence. */
int iii_http_failure(int status, const char *body, size_t size, struct iii_error *err);
