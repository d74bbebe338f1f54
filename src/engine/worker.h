/* One worker: a WebSocket on "/" that registers functions, calls others and is called. Private to engine/. */
#pragma once
#include "engine/engine_core.h"
#include "http/ws.h"

struct held;
STAILQ_HEAD(held_list, held);

struct worker {
    unsigned magic;
    struct engine *engine;
    struct ws *ws;
    char id[UUID_MAX], token[UUID_MAX];
    /* What engine::workers::register said; NULL when it did not. */
    char *name, *description, *version, *runtime, *os, *ip;
    char *host; /* its Host header, by which it reaches this server; NULL: it was not connected over HTTP */
    json_t *pid, *isolation;
    int64_t connected_ms;
    char identity[ENGINE_ID_MAX]; /* identity from auth; has_identity: auth was asked */
    bool has_identity;
    char tenant[SHARE_TENANT_MAX]; /* whose share of the engine's tables it uses */
    struct session *session;       /* NULL: no rules */
    struct held_list held;         /* messages that wait for a registration hook */
    size_t n_held, held_bytes;
    bool is_draining;
    bool is_waiting; /* for a hook */
    bool is_limited; /* may call functions that check their caller, and nothing else */
    size_t n_functions, n_bindings, n_types;
    size_t n_started, n_running; /* calls it waits for, calls it carries out */
    struct call_list started, running;
};

struct worker_pass {
    enum engine_verdict verdict;
    char identity[ENGINE_ID_MAX], tenant[SHARE_TENANT_MAX];
    bool is_anonymous;       /* a function has judged it: it has no identity of the server */
    struct session *session; /* taken by worker_accept() */
};
/* Upgrades and completes the handshake; a response was sent either way. The tenant's share was taken for it. */
void worker_accept(struct engine *e, struct http_req *r, struct worker_pass *pass);
/* Without a connection: what it is sent is dropped. For worker_accept() and tests. */
struct worker *worker_new(struct engine *e, const char *peer);
void worker_receive(struct worker *w, bool is_text, const char *data, size_t len); /* one message */
/* It was denied something beyond its rights. */
void worker_refused(const struct worker *w, const char *what);
/* Sends one message. msg is taken. */
void worker_send(struct worker *w, json_t *msg);
/* More is queued for it than a worker may leave unread and still get calls. */
bool worker_is_full(const struct worker *w);
/* Closes the connection now and removes everything it owned. */
void worker_retire(struct worker *w, int code, const char *reason);
void worker_set_str(char **slot, const json_t *about, const char *key); /* cleaned text, or unchanged */
