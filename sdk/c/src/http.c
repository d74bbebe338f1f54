/* One request by libcurl, tried again while that may help. An answer that is not 2xx is collected as the reason of the
 * failure; one that is goes, as it comes, to the events of a stream, to the sink of a download, or into memory. Handles
 * are kept with their connections and are for one call at a time, so that a callback may make calls of its own. */
#include "http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sse.h"
#include "table.h"

#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_S        30L
#define FIRST_PAUSE_MS     100
#define LONGEST_PAUSE_MS   5000
#define ANSWER_MAX         ((size_t)512 << 20) /* a server must not fill the memory */

/* What comes in during one try. */
struct incoming {
    CURL *curl;
    const struct request *request;
    struct text *answer;
    struct text failure; /* body of an answer that is not 2xx */
    struct sse sse;
    int code; /* SINK_LEAVE, or why the sink stopped */
    struct iii_error *err;
};

static CURL *take_handle(iii_client *c)
{
    pthread_mutex_lock(&c->lock);
    CURL *curl = c->idle_count > 0 ? c->idle[--c->idle_count] : NULL;
    pthread_mutex_unlock(&c->lock);
    return curl ? curl : curl_easy_init();
}

static void give_back(iii_client *c, CURL *curl)
{
    curl_easy_reset(curl); /* its connection stays */
    pthread_mutex_lock(&c->lock);
    bool kept = c->idle_count < IDLE_MAX;
    if (kept)
        c->idle[c->idle_count++] = curl;
    pthread_mutex_unlock(&c->lock);
    if (!kept)
        curl_easy_cleanup(curl);
}

static int common_options(CURL *curl, const iii_client *c, const char *path)
{
    struct text url = { 0 };
    iii_text_add(&url, c->base_url, strlen(c->base_url));
    iii_text_add(&url, path, strlen(path));
    bool bad = url.failed || curl_easy_setopt(curl, CURLOPT_URL, url.data) != CURLE_OK;
    iii_text_done(&url);
    if (c->ca_file[0])
        bad = bad || curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca_file) != CURLE_OK;
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
    curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    return bad ? -1 : 0;
}

CURL *iii_http_socket(iii_client *c, const char *path)
{
    CURL *curl = curl_easy_init();
    if (curl && common_options(curl, c, path) == 0)
        return curl;
    curl_easy_cleanup(curl);
    return NULL;
}

static struct curl_slist *add_header(struct curl_slist *list, bool *bad, const char *name, const char *value)
{
    struct text line = { 0 };
    iii_text_add(&line, name, strlen(name));
    iii_text_add(&line, value, strlen(value));
    struct curl_slist *longer = line.failed ? NULL : curl_slist_append(list, line.data);
    iii_text_done(&line);
    if (!longer)
        *bad = true;
    return longer ? longer : list;
}

static struct curl_slist *headers(const iii_client *c, const struct request *r, bool *bad)
{
    struct curl_slist *list = add_header(NULL, bad, "Accept: ",
                                         r->on_data                   ? "text/event-stream"
                                         : r->bytes && r->bytes->sink ? "*/*"
                                                                      : "application/json");
    list = add_header(list, bad, "Expect:", ""); /* no 100-continue round trip */
    if (r->bytes && r->bytes->source)
        list = add_header(list, bad, "Content-Type: ", "application/octet-stream");
    else if (r->body || strcmp(r->method, "POST") == 0)
        list = add_header(list, bad, "Content-Type: ", "application/json");
    if (c->token[0])
        list = add_header(list, bad, "Authorization: Bearer ", c->token);
    if (r->key)
        list = add_header(list, bad, "Idempotency-Key: ", r->key);
    for (const struct iii_pair *h = r->bytes ? r->bytes->headers : NULL; h && h->name; h++)
        list = add_header(list, bad, h->name, h->value);
    return list;
}

static void moved(struct bytes *b, size_t size)
{
    b->done += (int64_t)size;
    if (b->on_progress)
        b->on_progress(b->done, b->total, b->progress_arg);
}

/* Bytes of the request's body. */
static size_t on_room(char *buf, size_t one, size_t count, void *arg)
{
    struct incoming *in = arg;
    struct bytes *b = in->request->bytes;
    size_t room = one * count;

    if (b->total >= 0 && (uint64_t)(b->total - b->done) < room)
        room = (size_t)(b->total - b->done);
    int64_t size = room > 0 ? b->source(buf, room, b->arg) : 0;
    if (size < 0 || (uint64_t)size > room)
        in->code =
            iii_fail(in->err, III_LOCAL, 0, "the source failed: %s", strerror(size < 0 ? (int)-size : EOVERFLOW));
    else if (size == 0 && b->done < b->total)
        in->code = iii_fail(in->err, III_LOCAL, 0, "the source ended after %" PRId64 " of %" PRId64 " bytes", b->done,
                            b->total);
    if (in->code != 0)
        return CURL_READFUNC_ABORT;
    moved(b, (size_t)size);
    return (size_t)size;
}

static void copy_header(CURL *curl, const char *name, char *into, size_t size)
{
    struct curl_header *found;
    if (curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK)
        snprintf(into, size, "%s", found->value);
}

/* Bytes of the answer's body. */
static size_t into_sink(struct incoming *in, const char *data, size_t size)
{
    struct bytes *b = in->request->bytes;
    curl_off_t length = -1;

    if (b->done == 0) {
        curl_easy_getinfo(in->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        b->total = length;
    }
    int e = b->sink(data, size, b->arg);
    if (e != 0)
        in->code = e > 0 ? SINK_LEAVE : iii_fail(in->err, III_LOCAL, 0, "the sink failed: %s", strerror(-e));
    moved(b, size);
    return e == 0 ? size : 0;
}

static size_t on_bytes(char *data, size_t one, size_t count, void *arg)
{
    struct incoming *in = arg;
    size_t size = one * count;
    long status = 0;

    curl_easy_getinfo(in->curl, CURLINFO_RESPONSE_CODE, &status);
    bool good = status >= 200 && status < 300;
    if (good && in->request->on_data) {
        in->code = iii_sse_feed(&in->sse, data, size, in->err);
        return in->code == 0 ? size : 0;
    }
    if (good && in->request->bytes && in->request->bytes->sink)
        return into_sink(in, data, size);
    struct text *into = good ? in->answer : &in->failure;
    if (into->size + size > ANSWER_MAX) {
        in->code = iii_fail(in->err, III_PROTOCOL, (int)status, "the answer is longer than %zu bytes", ANSWER_MAX);
        return 0;
    }
    iii_text_add(into, data, size);
    return into->failed ? 0 : size;
}

int iii_http_failure(int status, const char *body, size_t size, struct iii_error *err)
{
    json_t *value = json_loadb(body ? body : "", size, 0, NULL);
    const char *said = json_string_value(json_object_get(value, "error"));
    int code = III_OTHER;

    for (const struct error_name *n = iii_error_names; n->name; n++)
        if (n->code == status)
            code = status;
    if (said)
        iii_fail(err, code, status, "%s", said);
    else
        iii_fail(err, code, status, "the server answered %d: %.*s", status, (int)(size < 200 ? size : 200),
                 body ? body : "");
    json_decref(value);
    return code;
}

static int set_options(CURL *curl, const iii_client *c, const struct request *r, struct incoming *in)
{
    int e = common_options(curl, c, r->path);
    bool limited = !r->is_long && !r->on_data && c->timeout_ms > 0;
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, limited ? (long)c->timeout_ms : 0L);
    if (r->bytes && r->bytes->source) {
        curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L); /* an old one may be closed, and the bytes are given once */
        curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)r->bytes->total);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_room);
        curl_easy_setopt(curl, CURLOPT_READDATA, in);
    } else if (r->body || strcmp(r->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(r->body ? strlen(r->body) : 0));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, in);
    return e;
}

static int transport_failure(CURLcode code, const char *detail, struct iii_error *err)
{
    const char *said = detail[0] ? detail : curl_easy_strerror(code);

    switch (code) {
    case CURLE_OUT_OF_MEMORY:
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    case CURLE_OPERATION_TIMEDOUT:
        return iii_fail(err, III_DEADLINE, 0, "%s; a larger timeout_ms waits longer", said);
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
        return iii_fail(err, III_CONNECTION, 0,
                        "%s; is a server there? `iii serve` starts one, base_url or III_SANDBOX_URL names another",
                        said);
    case CURLE_PEER_FAILED_VERIFICATION:
        return iii_fail(err, III_CONNECTION, 0, "%s; ca_file or III_CA_CERT names a certificate to trust", said);
    default:
        return iii_fail(err, III_CONNECTION, 0, "%s", said);
    }
}

/* The outcome of one try. *pause_ms: how long to wait before another; negative when there is no use. */
static int judge(CURLcode code, struct incoming *in, const char *detail, long *pause_ms)
{
    long status = 0;
    curl_off_t after_s = 0;

    curl_easy_getinfo(in->curl, CURLINFO_RESPONSE_CODE, &status);
    *pause_ms = -1;
    if (in->code == SINK_LEAVE)
        return 0;
    if (in->code != 0)
        return in->code;
    bool good = status >= 200 && status < 300;
    if (good && in->request->bytes) {
        copy_header(in->curl, "ETag", in->request->bytes->etag, sizeof(in->request->bytes->etag));
        copy_header(in->curl, "X-File-Mode", in->request->bytes->mode, sizeof(in->request->bytes->mode));
    }
    if (code != CURLE_OK && status < 400) { /* a server that refuses an upload need not read it to its end */
        if (code != CURLE_OPERATION_TIMEDOUT && code != CURLE_OUT_OF_MEMORY && code != CURLE_WRITE_ERROR && !good)
            *pause_ms = 0;
        return transport_failure(code, detail, in->err);
    }
    if (good)
        return in->request->on_data && (in->code = iii_sse_end(&in->sse, in->err)) > 0 ? in->code : 0;
    if (status == 429 || status == 502 || status == 503 || status == 504) {
        curl_easy_getinfo(in->curl, CURLINFO_RETRY_AFTER, &after_s);
        *pause_ms = after_s > LONGEST_PAUSE_MS / 1000 ? -1 : (long)after_s * 1000;
    }
    return iii_http_failure((int)status, in->failure.data, in->failure.size, in->err);
}

static int try_once(iii_client *c, const struct request *r, struct text *answer, long *pause_ms, struct iii_error *err)
{
    char detail[CURL_ERROR_SIZE] = "";
    bool bad = false;
    CURL *curl = take_handle(c);

    *pause_ms = -1;
    if (!curl)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    struct incoming in = { .curl = curl, .request = r, .answer = answer, .err = err };
    iii_sse_init(&in.sse, r->on_data, r->arg);
    struct curl_slist *list = headers(c, r, &bad);
    int e = 0;
    if (set_options(curl, c, r, &in) < 0 || bad) {
        e = iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    } else {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
        curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
        e = judge(curl_easy_perform(curl), &in, detail, pause_ms);
    }
    curl_slist_free_all(list);
    iii_text_done(&in.failure);
    iii_sse_done(&in.sse);
    give_back(c, curl);
    return e;
}

static void wait_ms(long ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&left, &left) != 0)
        continue;
}

int iii_http_send(iii_client *c, const struct request *r, struct text *answer, struct iii_error *err)
{
    long growing_ms = FIRST_PAUSE_MS;
    int left = r->safe || r->key ? c->max_retries : 0;

    for (;;) {
        long pause_ms = -1;
        if (answer)
            answer->size = 0;
        int e = try_once(c, r, answer, &pause_ms, err);
        if (e != 0 && e != III_LOCAL && (pause_ms < 0 || left <= 0))
            iii_client_name_address(c, err);
        if (e == 0 || pause_ms < 0 || left <= 0)
            return e;
        left--;
        wait_ms(pause_ms > growing_ms ? pause_ms : growing_ms);
        growing_ms = growing_ms * 2 < LONGEST_PAUSE_MS ? growing_ms * 2 : LONGEST_PAUSE_MS;
    }
}
