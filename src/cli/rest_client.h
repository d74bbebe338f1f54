/* A client of a server's REST API: one blocking request at a time; replies as JSON, as text or event by event.
 * Untrusted: what the server sends (capped). May include: base/, http/, loop/, tls/, spec/, cli/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "cli/verbs.h"
#include "spec/spec.h"
#include "tls/tls_context.h"

struct rest_client {
    char *server, *url, *token; /* "http://localhost:3111"; the same with "/sandbox"; "" for none */
    char *ca_file;
    struct tls_context_trust trust;
    bool is_json;                        /* --json: errors are printed as JSON too */
    const struct verbs_program *program; /* for messages */
};
#define REST_CLIENT_INIT \
    {                    \
        0                \
    }
/* --server, --token and --ca-cert, otherwise III_SANDBOX_URL, III_SANDBOX_TOKEN (or III_AUTH_TOKEN) and III_CA_CERT,
 * otherwise the file that III_SANDBOX_CONFIG names (~/.config/iii-sandbox/config.json), otherwise the server that uses
 * the data folder (III_DATA_DIR), otherwise the loopback's port III_REST_PORT or 3111. ERR_INVALID: wrong usage. */
int rest_client_open(const struct verbs_args *a, struct rest_client *ret, struct err *err);
/* The same for a known address and token. ca_file NULL: III_CA_CERT. */
void rest_client_init(struct rest_client *l, const char *server, const char *token, const char *ca_file);
void rest_client_done(struct rest_client *l);

/* One event of a stream. Borrowed. A return value other than 0 ends the stream. */
typedef int rest_client_event_fn(void *arg, const json_t *event);

struct rest_client_answer;
/* Some bytes of a reply below 400. A return value other than 0 ends the request. */
typedef int rest_client_bytes_fn(void *arg, const struct rest_client_answer *answer, const char *data, size_t len);

struct rest_client_request {
    const char *method, *path; /* path after the prefix, with its query */
    const json_t *body;        /* or NULL */
    const int *body_fd;        /* instead: a pipe whose bytes are the body; taken. NULL: none */
    rest_client_event_fn *on_event;
    rest_client_bytes_fn *on_bytes; /* takes the body of the reply instead of the answer; NULL: none */
    void *arg;
    const char *what;  /* shown on a terminal when the reply takes long, "creating a sandbox"; NULL: that we wait */
    const char *image; /* or NULL: an image that the server may have to pull for it; its progress is then shown, too */
    bool wants_events; /* when the server supports both */
    bool waits_out;    /* an interrupt is noted in the answer, a second one ends the request */
};
struct rest_client_answer {
    int status;       /* 0: no reply */
    bool is_json;     /* body was one */
    int64_t length;   /* of the body, as announced; < 0: unknown */
    int signal;       /* SIGINT or SIGTERM ended a stream, or came while a reply was waited for; otherwise 0 */
    json_t *body;     /* JSON, or a string when it was not; NULL after events. Owned */
    char error[1000]; /* of a status from 400 on: the server's message */
};
void rest_client_answer_done(struct rest_client_answer *a);
/* 0, also for a status from 400 on; negative: err says why there is no reply. */
int rest_client_run(const struct rest_client *l, const struct rest_client_request *req, struct rest_client_answer *ret,
                    struct err *err);
struct rest_client_call {
    const struct op *op;
    const json_t *params;
    const int *body_fd;             /* of an operation whose body is bytes; taken */
    rest_client_event_fn *on_event; /* or NULL */
    rest_client_bytes_fn *on_bytes; /* or NULL */
    void *arg;
    const char *what, *image;
    bool wants_events, waits_out;
};
/* The request of an operation: its path filled in, the other parameters in the query or the body. */
int rest_client_op(const struct rest_client *l, const struct rest_client_call *call, struct rest_client_answer *ret,
                   struct err *err);
/* The path of an operation with its parameters filled in; caller frees. */
char *rest_client_path(const struct op *op, const json_t *params);
