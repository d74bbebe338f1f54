#include "cli/restcall.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "http/client.h"
#include "loop/loop.h"
#include "tls/tlsctx.h"

#define ANSWER_MAX (16 << 20)

struct waiting {
    struct loop *loop;
    struct buf body;
    int status;
    struct err err;
};

static const char *server_of(const struct verbs_args *a)
{
    const char *given = verbs_value(a, "server");
    return given && *given ? given : getenv("III_SERVER");
}

bool restcall_is_wanted(const struct verbs_args *a)
{
    const char *server = server_of(a);
    return server && *server;
}

static void on_head(void *arg, struct http_client *c, int status)
{
    struct waiting *w = arg;
    (void)c;
    w->status = status;
}

static void on_data(void *arg, struct http_client *c, const char *data, size_t len)
{
    struct waiting *w = arg;
    (void)c;
    if (buf_add(&w->body, data, len) < 0)
        (void)err_set(&w->err, ERR_TOO_LARGE, 0, "the answer is larger than %d bytes", ANSWER_MAX);
}

static void on_done(void *arg, struct http_client *c, const struct err *err)
{
    struct waiting *w = arg;
    (void)c;
    if (err)
        w->err = *err;
    loop_stop(w->loop);
}

static int read_answer(const struct waiting *w, json_t **ret, struct err *err)
{
    JSON_OWNED body = NULL;
    if (json_read(buf_text(&w->body), w->body.len, &body, NULL) < 0)
        return err_set(err, ERR_UPSTREAM, 0, "status %d, and an answer that is no JSON: is that an iii-sandbox server?",
                       w->status);
    if (w->status >= 400)
        return err_set(err, w->status == 404 ? ERR_NOT_FOUND : ERR_UPSTREAM, 0, "%.200s (status %d)",
                       json_get_str(body, "error", "refused"), w->status);
    *ret = STEAL(body);
    return 0;
}

static char *url_of(const struct verbs_args *a, const char *path)
{
    const char *server = server_of(a), *prefix = getenv("III_API_PREFIX");
    size_t len = strlen(server);
    while (len && server[len - 1] == '/')
        len--;
    return xasprintf("%.*s/%s%s", (int)len, server, prefix && *prefix ? prefix : "sandbox", path);
}

int restcall_run(const struct verbs_args *a, const struct restcall *call, json_t **ret, struct err *err)
{
    static const struct http_client_events events = { .on_head = on_head, .on_data = on_data, .on_done = on_done };
    const char *given = verbs_value(a, "token"), *secret = given && *given ? given : getenv("III_AUTH_TOKEN");
    CLEANUP(free_p) char *url = url_of(a, call->path);
    CLEANUP(free_p) char *auth = xasprintf("Authorization: Bearer %s", secret ? secret : "");
    CLEANUP(free_p) char *text = call->body ? json_write(call->body, NULL) : NULL;
    const char *headers[] = { "Content-Type: application/json", secret && *secret ? auth : NULL, NULL };
    struct tlsctx_trust trust = { .ca_file = getenv("III_CA_CERT") };
    struct waiting w = { .body = BUF_INIT(ANSWER_MAX) };
    struct http_client *client = NULL;
    (void)signal(SIGPIPE, SIG_IGN);
    struct http_client_request req = { .method = call->method,
                                       .url = url,
                                       .headers = headers,
                                       .body = text,
                                       .body_len = text ? strlen(text) : 0,
                                       .body_max = ANSWER_MAX,
                                       .trust = &trust };
    int r = loop_new(&w.loop, err);
    if (r == 0)
        r = http_client_start(w.loop, &req, &events, &w, &client, err);
    if (r == 0) {
        loop_run(w.loop);
        r = w.err.code ? err_set(err, w.err.code, w.err.sys, "%.60s: %.150s", url, w.err.msg)
                       : read_answer(&w, ret, err);
    }
    loop_free(w.loop);
    buf_done(&w.body);
    return r;
}
