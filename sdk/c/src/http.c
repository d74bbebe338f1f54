#include "http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "sse.h"
#include "table.h"

#define DEFAULT_URL        "http://localhost:3111"
#define DEFAULT_TIMEOUT_MS 30000
#define DEFAULT_RETRIES    2
#define CONNECT_TIMEOUT_MS 10000L
#define KEEPALIVE_S        30L
#define FIRST_PAUSE_MS     100
#define LONGEST_PAUSE_MS   5000
#define ANSWER_MAX         ((size_t)512 << 20) /* a server must not fill the memory */
#define IDLE_MAX           8                   /* connections that are kept for later */

struct iii_client {
    char *base_url, *token, *ca_file;
    int timeout_ms, max_retries;
    pthread_mutex_t lock; /* of the idle handles: a callback of one call may make another, and so may other threads */
    CURL *idle[IDLE_MAX];
    int idle_count;
};

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

static char *without_slashes(const char *url)
{
    char *copy = strdup(url);
    for (size_t len = copy ? strlen(copy) : 0; len > 0 && copy[len - 1] == '/'; len--)
        copy[len - 1] = '\0';
    return copy;
}

int iii_client_new(const struct iii_config *config, iii_client **ret, struct iii_error *err)
{
    static const struct iii_config none;
    const struct iii_config *given = config ? config : &none;
    const char *url = given->base_url ? given->base_url : DEFAULT_URL;

    *ret = NULL;
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
        return iii_fail(err, III_ARGUMENT, 0, "base_url \"%s\" does not begin with http:// or https://", url);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return iii_fail(err, III_NO_MEMORY, 0, "libcurl does not start");
    iii_client *c = calloc(1, sizeof(*c));
    if (!c)
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    pthread_mutex_init(&c->lock, NULL);
    c->base_url = without_slashes(url);
    c->token = given->token ? strdup(given->token) : NULL;
    c->ca_file = given->ca_file ? strdup(given->ca_file) : NULL;
    c->timeout_ms = given->timeout_ms ? given->timeout_ms : DEFAULT_TIMEOUT_MS;
    c->max_retries = given->max_retries ? given->max_retries : DEFAULT_RETRIES;
    if (!c->base_url || (given->token && !c->token) || (given->ca_file && !c->ca_file)) {
        iii_client_free(c);
        return iii_fail(err, III_NO_MEMORY, 0, "out of memory");
    }
    *ret = c;
    return 0;
}

void iii_client_free(iii_client *c)
{
    if (!c)
        return;
    while (c->idle_count > 0)
        curl_easy_cleanup(c->idle[--c->idle_count]);
    pthread_mutex_destroy(&c->lock);
    free(c->base_url);
    free(c->token);
    free(c->ca_file);
    free(c);
}

const char *iii_http_base_url(const iii_client *c)
{
    return c->base_url;
}

const char *iii_http_token(const iii_client *c)
{
    return c->token;
}

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
    if (c->ca_file)
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
    struct curl_slist *list = add_header(NULL, bad, "Accept: ", r->on_data ? "text/event-stream" : "application/json");
    list = add_header(list, bad, "Expect:", ""); /* no 100-continue round trip */
    if (r->body || strcmp(r->method, "POST") == 0)
        list = add_header(list, bad, "Content-Type: ", "application/json");
    if (c->token)
        list = add_header(list, bad, "Authorization: Bearer ", c->token);
    if (r->key)
        list = add_header(list, bad, "Idempotency-Key: ", r->key);
    return list;
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
    if (r->body || strcmp(r->method, "POST") == 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(r->body ? strlen(r->body) : 0));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    }
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, in);
    return e;
}

static int transport_failure(CURLcode code, const char *detail, struct iii_error *err)
{
    int kind = code == CURLE_OPERATION_TIMEDOUT ? III_DEADLINE
               : code == CURLE_OUT_OF_MEMORY    ? III_NO_MEMORY
                                                : III_CONNECTION;
    return iii_fail(err, kind, 0, "%s", detail[0] ? detail : curl_easy_strerror(code));
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
    if (code != CURLE_OK) {
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
        if (e == 0 || pause_ms < 0 || left <= 0)
            return e;
        left--;
        wait_ms(pause_ms > growing_ms ? pause_ms : growing_ms);
        growing_ms = growing_ms * 2 < LONGEST_PAUSE_MS ? growing_ms * 2 : LONGEST_PAUSE_MS;
    }
}
