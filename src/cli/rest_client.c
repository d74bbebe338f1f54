/* A client of the REST API. rest_client_open() finds the server and token: options, then environment, then the user's
 * configuration file, which must not be readable by others when it holds a token. A request runs on a private loop
 * (struct waiting) until its reply is complete or an interrupt ends it; a stream calls on_event for each server-sent
 * event. While a reply takes long, a terminal shows what is done: a second request on the same loop (`watch`) follows
 * the server's events about pulls. rest_client_op() builds the request of an operation from the table: path parameters
 * are escaped into the path, the rest goes to the query or the body. An HTTP error is a reply with `error` set; only a
 * request without a reply is a failure. */
#include "cli/rest_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cli/data_folder.h"
#include "cli/display.h"
#include "cli/server_file.h"
#include "http/client.h"
#include "loop/loop.h"

#define PATIENCE_MS      3000
#define PATIENCE_STEP_MS 1000 /* also what a request that is named waits before it says so */
#define DEFAULT_URL      "http://localhost:" LIMIT_DEFAULT_TEXT(REST_PORT)
enum {
    ANSWER_MAX = 256 << 20, /* a file of the largest size, in base64 */
    EVENT_MAX = 32 << 20,
    CONFIG_MAX = 65536,
    CALL_MAX_MS = LIMIT_MAX(COMMAND_TIMEOUT_S) * 1000 + 60000,
};

/* --- the server --- */

static const char *first_of(const char *a, const char *b, const char *c)
{
    return a && *a ? a : b && *b ? b : c && *c ? c : "";
}

void rest_client_init(struct rest_client *l, const char *server, const char *token, const char *ca_file)
{
    const char *prefix = getenv("III_API_PREFIX");
    size_t len = strlen(server);
    while (len && server[len - 1] == '/')
        len--;
    l->server = xstrndup(server, len);
    l->url = xasprintf("%s/%s", l->server, prefix && *prefix ? prefix : "sandbox");
    l->token = xstrdup(token);
    l->ca_file = xstrdup(first_of(ca_file, getenv("III_CA_CERT"), NULL));
    l->trust = (struct tls_context_trust){ .ca_file = l->ca_file,
                                           .cert_file = getenv("III_CLIENT_CERT"),
                                           .key_file = getenv("III_CLIENT_KEY") };
}

void rest_client_done(struct rest_client *l)
{
    free(l->server);
    free(l->url);
    free(l->token);
    free(l->ca_file);
    *l = (struct rest_client)REST_CLIENT_INIT;
}

static int read_config(json_t **ret, struct err *err)
{
    const char *named = getenv("III_SANDBOX_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    CLEANUP(free_p)
    char *path = named && *named ? xstrdup(named)
                 : xdg && *xdg   ? xasprintf("%s/iii-sandbox/config.json", xdg)
                                 : xasprintf("%s/.config/iii-sandbox/config.json", home ? home : "");
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char text[CONFIG_MAX];
    if (fd < 0 && !(named && *named))
        return 0; /* no configuration file was named */
    ssize_t n = fd < 0 || fstat(fd, &st) < 0 ? -1 : read(fd, text, sizeof(text));
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "%.120s: cannot be read", path);
    struct err why = ERR_INIT;
    if (json_read(text, (size_t)n, ret, &why) < 0)
        return err_set(err, ERR_INVALID, 0, "%.120s: %.100s", path, why.msg);
    if (!json_is_object(*ret))
        return err_set(err, ERR_INVALID, 0, "%.120s: an object like {\"url\": \"" DEFAULT_URL "\"} is needed", path);
    if (json_get(*ret, "token") && st.st_mode & 077) /* other users must not be able to read it */
        return err_set(err, ERR_FORBIDDEN, 0, "%.120s holds a token and others can read it: chmod 600 it", path);
    return 0;
}

/* The server that uses this user's data folder, otherwise the usual port of this host. Caller frees. */
static char *server_here(const struct verbs_args *a)
{
    CLEANUP(free_p) char *dir = data_folder_of(a);
    CLEANUP(server_file_done) struct server_file file = { 0 };
    const char *port = getenv("III_REST_PORT");
    if (server_file_read(dir, &file) && server_file_is_local(&file))
        return xstrdup(file.rest);
    return port && *port && !port[strspn(port, "0123456789")] ? xasprintf("http://localhost:%s", port)
                                                              : xstrdup(DEFAULT_URL);
}

int rest_client_open(const struct verbs_args *a, struct rest_client *ret, struct err *err)
{
    JSON_OWNED config = NULL;
    int r = read_config(&config, err);
    if (r < 0)
        return r;
    const char *env_token = first_of(getenv("III_SANDBOX_TOKEN"), getenv("III_AUTH_TOKEN"), NULL);
    const char *url = first_of(verbs_value(a, "server"), getenv("III_SANDBOX_URL"), json_get_str(config, "url", NULL));
    CLEANUP(free_p) char *here = *url ? NULL : server_here(a);
    if (*url && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return err_set(
            err, ERR_INVALID, 0,
            "\"%.120s\" is not the address of a server: --server and III_SANDBOX_URL are http://HOST:PORT or "
            "https://HOST:PORT",
            url);
    rest_client_init(ret, first_of(url, here, NULL),
                     first_of(verbs_value(a, "token"), env_token, json_get_str(config, "token", NULL)),
                     first_of(verbs_value(a, "ca-cert"), getenv("III_CA_CERT"), json_get_str(config, "caCert", NULL)));
    ret->program = a->program;
    return 0;
}

/* --- one request --- */

struct waiting {
    const struct rest_client *link;
    struct loop *loop;
    struct http_client *client;
    const struct rest_client_request *req;
    struct buf body;
    struct rest_client_answer *answer;
    bool is_events, is_json, is_bytes;
    struct err err;
    int64_t start_us;
    bool is_drawn;
    struct watch *watch; /* of req->image; owned */
    bool is_watch;       /* its end does not matter */
    char phase[80];
};

/* The request that follows the server's events about pulls. */
struct watch {
    struct waiting waiting;
    struct rest_client_request req;
    struct rest_client_answer answer;
};

void rest_client_answer_done(struct rest_client_answer *a)
{
    json_decref(a->body);
    a->body = NULL;
}

static void request_stop(struct waiting *w)
{
    w->client = http_client_free(w->client);
    if (!w->is_watch)
        loop_stop(w->loop);
}

static void request_signal(struct waiting *w, int signo)
{
    bool is_first = w->answer->signal == 0;
    w->answer->signal = signo;
    if (!w->req->waits_out || !is_first)
        request_stop(w);
}

static void request_interrupt(void *arg)
{
    request_signal(arg, SIGINT);
}

static void request_terminate(void *arg)
{
    request_signal(arg, SIGTERM);
}

static void reply_head(void *arg, struct http_client *c, int status)
{
    struct waiting *w = arg;
    const char *type = http_client_header(c, "content-type");
    w->answer->status = status;
    w->is_events = status < 400 && w->req->on_event && type && strstr(type, "text/event-stream");
    w->is_json = type && strstr(type, "json");
    w->is_bytes = status < 400 && w->req->on_bytes && type &&
                  (strstr(type, "application/octet-stream") || strstr(type, "application/x-tar"));
    const char *warnings = http_client_header(c, "iii-warnings"), *length = http_client_header(c, "content-length");
    w->answer->length = length ? strtoll(length, NULL, 10) : -1;
    JSON_OWNED list = NULL;
    if (warnings && json_read(warnings, strlen(warnings), &list, NULL) == 0)
        display_warnings(list);
}

/* Complete lines of a stream are consumed as they come; a line "data: {…}" is an event. */
static void reply_data(void *arg, struct http_client *c, const char *data, size_t len)
{
    struct waiting *w = arg;
    char *end;
    (void)c;
    if (w->is_bytes) {
        if (w->req->on_bytes(w->req->arg, w->answer, data, len) != 0)
            request_stop(w);
        return;
    }
    if (buf_add(&w->body, data, len) < 0) {
        (void)err_set(&w->err, ERR_TOO_LARGE, 0, "the response is larger than %zu bytes", w->body.max);
        request_stop(w);
        return;
    }
    while (w->is_events && w->client && w->body.len && (end = memchr(w->body.data, '\n', w->body.len))) {
        JSON_OWNED event = NULL;
        size_t line = (size_t)(end - w->body.data);
        bool is_data = line > 6 && memcmp(w->body.data, "data: ", 6) == 0;
        if (is_data && json_read(w->body.data + 6, line - 6, &event, NULL) < 0)
            (void)err_set(&w->err, ERR_UPSTREAM, 0, "an event that is not JSON: is that an iii-sandbox server?");
        buf_consume(&w->body, line + 1);
        if (w->err.code || (event && w->req->on_event(w->req->arg, event) != 0))
            request_stop(w);
    }
}

static void reply_done(void *arg, struct http_client *c, const struct err *err)
{
    struct waiting *w = arg;
    (void)c;
    w->client = NULL;
    if (err)
        w->err = *err;
    if (!w->is_watch)
        loop_stop(w->loop);
}

static void read_body(struct waiting *w)
{
    struct rest_client_answer *a = w->answer;
    if (w->is_events || w->is_bytes)
        return;
    a->is_json = w->is_json;
    if (w->is_json)
        (void)json_read(buf_text(&w->body), w->body.len, &a->body, NULL);
    if (!a->body && a->status < 400)
        a->body = json_text(buf_text(&w->body), w->body.len);
    if (a->status >= 400)
        (void)snprintf(a->error, sizeof(a->error), "%s",
                       json_get_str(a->body, "error", "the server rejected the request without a reason"));
}

/* Lasts as long as there is something to pass on; an interrupt ends it. */
static bool is_transfer(const struct rest_client_request *req)
{
    return req->on_event || req->on_bytes || req->body_fd;
}

static int request_start(struct waiting *w, struct err *err)
{
    static const struct http_client_events events = { .on_head = reply_head,
                                                      .on_data = reply_data,
                                                      .on_done = reply_done };
    const struct rest_client *l = w->link;
    CLEANUP(free_p) char *url = xasprintf("%s%s", l->url, w->req->path);
    CLEANUP(free_p) char *auth = xasprintf("Authorization: Bearer %s", l->token);
    CLEANUP(free_p) char *text = w->req->body ? json_write(w->req->body, NULL) : NULL;
    const char *headers[4] = { w->req->body_fd ? "Content-Type: application/octet-stream"
                                               : "Content-Type: application/json" };
    size_t n = 1;
    if (*l->token)
        headers[n++] = auth;
    if (w->req->wants_events)
        headers[n++] = "Accept: text/event-stream";
    struct http_client_request wanted = { .method = w->req->method,
                                          .url = url,
                                          .headers = headers,
                                          .body = text,
                                          .body_len = text ? strlen(text) : 0,
                                          .body_fd = w->req->body_fd,
                                          .timeout_ms = is_transfer(w->req) ? -1 : CALL_MAX_MS,
                                          .trust = &l->trust,
                                          .rule = outgoing_any };
    w->body = (struct buf)BUF_INIT(w->req->on_event ? EVENT_MAX : ANSWER_MAX);
    return http_client_start(w->loop, &wanted, &events, w, &w->client, err);
}

/* --- what is shown meanwhile --- */

/* An event image.pull of the server. */
static int note_phase(void *arg, const json_t *event)
{
    struct waiting *w = arg;
    const json_t *data = json_get(event, "data");
    const char *state = json_get_str(data, "state", "");
    int64_t done = json_get_int(data, "done", 0), total = json_get_int(data, "total", 0);
    long long layers_done = json_get_int(data, "layersDone", 0), layers = json_get_int(data, "layers", 0);
    char at[16], of[16];
    if (strcmp(json_get_str(data, "image", ""), w->req->image) != 0)
        return 0;
    if (strcmp(state, "done") == 0)
        (void)snprintf(w->phase, sizeof(w->phase), ", starting");
    else if (layers == 0)
        (void)snprintf(w->phase, sizeof(w->phase), ", asking the registry");
    else if (done < total)
        (void)snprintf(w->phase, sizeof(w->phase), ", pulling %s of %s", display_size(done, at),
                       display_size(total, of));
    else
        (void)snprintf(w->phase, sizeof(w->phase), ", unpacking layer %lld of %lld",
                       layers_done < layers ? layers_done + 1 : layers, layers);
    return 0;
}

static void watch_pull(struct waiting *w)
{
    struct err err = ERR_INIT;
    struct watch *watch = w->watch = xzalloc(sizeof(*watch));
    watch->req = (struct rest_client_request){
        .method = "GET", .path = "/stream/events?topic=image.pull", .on_event = note_phase, .arg = w
    };
    watch->waiting = (struct waiting){
        .link = w->link, .loop = w->loop, .req = &watch->req, .answer = &watch->answer, .is_watch = true
    };
    (void)request_start(&watch->waiting, &err); /* without it, the time alone is shown */
}

static void watch_end(struct watch *watch)
{
    if (!watch)
        return;
    (void)http_client_free(watch->waiting.client);
    buf_done(&watch->waiting.body);
    free(watch);
}

/* A line on a terminal while a reply takes long: an image is pulled, a VM booted for the first time. */
static void draw_patience(void *arg)
{
    struct waiting *w = arg;
    if (w->req->image && !w->watch)
        watch_pull(w);
    (void)fprintf(stderr, "\r\033[K%s: %llds%s", w->req->what ? w->req->what : "waiting for the server",
                  (long long)((clock_mono_us() - w->start_us) / 1000000), w->phase);
    w->is_drawn = true;
}

static void wait_for_end(struct waiting *w, bool is_quiet)
{
    struct timer *t =
        is_quiet || !isatty(STDERR_FILENO)
            ? NULL
            : timer_new(w->loop, w->req->what ? PATIENCE_STEP_MS : PATIENCE_MS, PATIENCE_STEP_MS, draw_patience, w);
    w->start_us = clock_mono_us();
    loop_run(w->loop);
    timer_free(t);
    if (w->is_drawn)
        (void)fprintf(stderr, "\r\033[K");
}

int rest_client_run(const struct rest_client *l, const struct rest_client_request *req, struct rest_client_answer *ret,
                    struct err *err)
{
    struct waiting w = { .link = l, .req = req, .answer = ret };
    *ret = (struct rest_client_answer){ 0 };
    (void)signal(SIGPIPE, SIG_IGN);
    int r = loop_new(&w.loop, err);
    if (r == 0)
        r = request_start(&w, err);
    if (r == 0 && (is_transfer(req) || req->waits_out)) { /* so that the caller can still clean up */
        (void)loop_on_signal(w.loop, SIGINT, request_interrupt, &w);
        (void)loop_on_signal(w.loop, SIGTERM, request_terminate, &w);
    }
    if (r == 0) {
        wait_for_end(&w, l->is_json || is_transfer(req));
        if (w.err.code) {
            *err = w.err;
            r = -EIO;
        } else {
            read_body(&w);
        }
    }
    if (r == 0 && !l->is_json && json_get(ret->body, "warnings")) {
        display_warnings(json_get(ret->body, "warnings"));
        (void)json_object_del(ret->body, "warnings");
    }
    w.client = http_client_free(w.client);
    watch_end(w.watch);
    loop_free(w.loop);
    buf_done(&w.body);
    return r;
}

/* --- operations --- */

static int add_escaped(struct buf *out, const char *text)
{
    int r = 0;
    for (; r == 0 && *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-_.~", c);
        r = is_plain ? buf_add_char(out, (char)c) : buf_addf(out, "%%%02X", c);
    }
    return r;
}

/* A value as text for the path or the query; caller frees. */
static char *plain(const json_t *value)
{
    return json_is_string(value) ? xstrdup(json_string_value(value)) : json_write(value, NULL);
}

char *rest_client_path(const struct op *op, const json_t *params)
{
    struct buf out = BUF_INIT(SIZE_MAX / 4);
    for (const char *p = op->path; *p;) {
        size_t n = strcspn(p, ":");
        (void)buf_add(&out, p, n);
        p += n;
        if (*p != ':')
            break;
        n = strcspn(++p, "/");
        CLEANUP(free_p) char *name = xstrndup(p, n);
        CLEANUP(free_p) char *value = json_get(params, name) ? plain(json_get(params, name)) : xstrdup("");
        (void)add_escaped(&out, value);
        p += n;
    }
    return buf_steal(&out, NULL);
}

static bool is_in_path(const struct op *op, const char *name)
{
    for (const struct field *f = op->fields; f->name; f++)
        if (f->flags & FIELD_PATH && strcmp(f->name, name) == 0)
            return true;
    return false;
}

int rest_client_op(const struct rest_client *l, const struct rest_client_call *call, struct rest_client_answer *ret,
                   struct err *err)
{
    const struct op *op = call->op;
    bool is_queried = strcmp(op->method, "GET") == 0 || strcmp(op->method, "DELETE") == 0 || call->body_fd;
    CLEANUP(free_p) char *path = rest_client_path(op, call->params);
    CLEANUP(buf_done) struct buf full = BUF_INIT(1 << 20);
    JSON_OWNED body = json_object();
    const char *name;
    json_t *value;
    int r = buf_add_str(&full, path);
    char mark = '?';
    json_object_foreach((json_t *)(uintptr_t)call->params, name, value)
    {
        if (is_in_path(op, name))
            continue;
        if (!is_queried || (!call->body_fd && (json_is_object(value) || json_is_array(value)))) {
            (void)json_object_set(body, name, value);
            continue;
        }
        CLEANUP(free_p) char *text = plain(value);
        r = r < 0 ? r : buf_addf(&full, "%c%s=", mark, name);
        r = r < 0 ? r : add_escaped(&full, text);
        mark = '&';
    }
    if (r < 0)
        return err_set(err, ERR_TOO_LARGE, 0, "the parameters are too long for an address");
    bool has_body = !call->body_fd && (!is_queried || json_object_size(body) > 0);
    struct rest_client_request req = { .method = op->method,
                                       .path = buf_text(&full),
                                       .body = has_body ? body : NULL,
                                       .body_fd = call->body_fd,
                                       .on_event = call->on_event,
                                       .on_bytes = call->on_bytes,
                                       .arg = call->arg,
                                       .what = call->what,
                                       .image = call->image,
                                       .wants_events = call->wants_events,
                                       .waits_out = call->waits_out };
    r = rest_client_run(l, &req, ret, err);
    bool is_strange = call->on_bytes ? !ret->signal : !ret->is_json && !(op->flags & OP_NOT_JSON);
    if (r == 0 && ret->status < 400 && ret->body && is_strange)
        return err_set(
            err, ERR_INVALID, 0,
            "%s answers with status %d and no JSON: it is not an iii-sandbox server; --server or III_SANDBOX_URL "
            "names another",
            l->server, ret->status);
    return r;
}
