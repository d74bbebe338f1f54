/* One HTTP exchange with a registry, over libcurl. Redirects are followed here and not by libcurl, so that one place
 * decides where credentials go: to the origin (scheme, host, port) of the first address and nowhere else. A redirect
 * never leads from https to http. Each hop has its own connections, and open_socket() judges the address of each before
 * it is made, by the host that the hop's URL names. A proxy of the environment (https_proxy, no_proxy) is the
 * operator's and may be anywhere; it resolves names itself, so that only hosts that are addresses can be judged then.
 * struct registry_http_reply holds status, challenge and a capped body, or a sink gets the body of a good status. A
 * transport error sets is_unreachable or is_passing, and the caller decides on a retry; a body that stalls for STALL_S
 * is aborted. */
#include "image/registry_http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "http/url.h"
#include "image/libcurl.h"

#define REDIRECTS_MAX   5
#define CONNECT_S       15
#define STALL_S         60 /* a transfer slower than STALL_BYTES a second for this long is aborted (the caller resumes it) */
#define STALL_BYTES     512
#define RETRY_AFTER_MAX 86400
#define NOT_REACHED     "%.*s cannot be reached, or is not allowed; `iii image pull` on the server's host says why"
#define NOT_ALLOWED \
    "%.*s is at an address that is not allowed: loopback and private ones are those that III_PRIVATE_REGISTRIES lists"

struct exchange {
    const struct registry_http_request *req;
    struct registry_http_reply *reply;
    CURL *curl;
    struct url at;        /* of this hop */
    const char *proxy;    /* "": none */
    int64_t to_skip;      /* bytes to drop when a server sends the whole body although a range was requested */
    int64_t range_offset; /* value of Content-Range, or -1 */
    bool is_over_max;
    bool has_sink_failed;
    bool is_body_checked;
    bool is_denied; /* by the rule */
};

void registry_http_reply_done(struct registry_http_reply *r)
{
    buf_done(&r->body);
}

bool registry_http_is_loopback(const char *host)
{
    size_t len = strcspn(host, ":");
    if (len == 9 && strncasecmp(host, "localhost", 9) == 0)
        return true;
    return strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

char *registry_http_escape(const char *text)
{
    char *escaped = libcurl_load(NULL) == 0 ? libcurl.easy_escape(NULL, text, 0) : NULL;
    char *copy = xstrdup(escaped ? escaped : "");
    if (escaped)
        libcurl.free(escaped);
    return copy;
}

static void keep_header(const char *line, size_t len, const char *name, char *ret, size_t ret_size)
{
    size_t n = strlen(name);
    if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
        return;
    line += n + 1;
    len -= n + 1;
    while (len && (*line == ' ' || *line == '\t')) {
        line++;
        len--;
    }
    while (len && strchr("\r\n \t", line[len - 1]))
        len--;
    if (len < ret_size) { /* a longer value is unusable: it counts as absent */
        memcpy(ret, line, len);
        ret[len] = '\0';
    }
}

static size_t reply_header(char *line, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * n;
    char range[64] = "";
    if (len > 5 && strncmp(line, "HTTP/", 5) == 0) { /* a new status line: drop the headers of an interim response */
        x->reply->challenge[0] = x->reply->content_type[0] = '\0';
        x->range_offset = -1;
    }
    keep_header(line, len, "WWW-Authenticate", x->reply->challenge, sizeof(x->reply->challenge));
    keep_header(line, len, "Content-Type", x->reply->content_type, sizeof(x->reply->content_type));
    keep_header(line, len, "Content-Range", range, sizeof(range));
    char *end = NULL;
    errno = 0;
    long long from = strncmp(range, "bytes ", 6) == 0 ? strtoll(range + 6, &end, 10) : -1;
    if (end && *end == '-' && errno == 0)
        x->range_offset = from;
    return len;
}

static size_t reply_body(char *data, size_t size, size_t n, void *arg)
{
    struct exchange *x = arg;
    size_t len = size * n, given = len;
    if (!x->is_body_checked) {
        long status = 0;
        (void)libcurl.easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status); /* 0 on failure, not a good status */
        x->reply->status = (int)status;
        x->is_body_checked = true;
        if (status == 206 && x->range_offset != x->req->offset)
            return 0;
        x->to_skip = status == 200 ? x->req->offset : 0;
    }
    bool is_good = x->reply->status == 200 || x->reply->status == 206;
    if (!is_good || !x->req->sink) {
        if (buf_add(&x->reply->body, data, len) == 0)
            return given;
        x->is_over_max = is_good;
        return is_good ? 0 : given; /* the beginning of an error page is enough */
    }
    if (x->to_skip >= (int64_t)len) {
        x->to_skip -= (int64_t)len;
        return given;
    }
    data += x->to_skip;
    len -= (size_t)x->to_skip;
    x->to_skip = 0;
    x->has_sink_failed = x->req->sink(x->req->sink_arg, data, len) < 0;
    return x->has_sink_failed ? 0 : given;
}

static int check_cancelled(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    const struct exchange *x = arg;
    return x->req->is_cancelled && atomic_load(x->req->is_cancelled);
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct exchange *x = arg;
    (void)purpose;
    if (!*x->proxy && outgoing_check(&x->req->rule, x->at.host, &a->addr, NULL) < 0) {
        x->is_denied = true;
        return CURL_SOCKET_BAD;
    }
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* The proxy that the environment names for this hop; "": none. */
static const char *find_proxy(const struct url *u)
{
    /* Without HTTP_PROXY, as everywhere: in a CGI program that is a header of the client's. */
    const char *const names[] = { u->is_secure ? "https_proxy" : "http_proxy",
                                  u->is_secure ? "HTTPS_PROXY" : "http_proxy", "all_proxy", "ALL_PROXY" };
    const char *proxy = NULL, *skip = getenv("no_proxy");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !proxy; i++)
        proxy = getenv(names[i]);
    if (!skip)
        skip = getenv("NO_PROXY");
    if (!proxy || registry_http_is_loopback(u->host) || (skip && strcmp(skip, "*") == 0))
        return "";
    for (const char *at = skip; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", .");
        CLEANUP(free_p) char *name = xstrndup(at, strcspn(at, ", "));
        CLEANUP(free_p) char *both = xasprintf("%s:*,*.%s:*", name, name);
        if (*name && address_hosts_have(both, u->host, u->port))
            return "";
    }
    return proxy;
}

static void set_options(struct exchange *x, const char *url, struct curl_slist *headers)
{
    CURL *c = x->curl;
    (void)libcurl.easy_setopt(c, CURLOPT_URL, url); /* the options below exist in every libcurl we build with */
    (void)libcurl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)libcurl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    (void)libcurl.easy_setopt(c, CURLOPT_HTTPHEADER, headers);
    (void)libcurl.easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    (void)libcurl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    (void)libcurl.easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES);
    (void)libcurl.easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
    (void)libcurl.easy_setopt(c, CURLOPT_BUFFERSIZE, 256L * 1024);
    (void)libcurl.easy_setopt(c, CURLOPT_USERAGENT, "iii-sandbox");
    (void)libcurl.easy_setopt(c, CURLOPT_HEADERFUNCTION, reply_header);
    (void)libcurl.easy_setopt(c, CURLOPT_HEADERDATA, x);
    (void)libcurl.easy_setopt(c, CURLOPT_WRITEFUNCTION, reply_body);
    (void)libcurl.easy_setopt(c, CURLOPT_WRITEDATA, x);
    (void)libcurl.easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    (void)libcurl.easy_setopt(c, CURLOPT_XFERINFOFUNCTION, check_cancelled);
    (void)libcurl.easy_setopt(c, CURLOPT_XFERINFODATA, x);
    (void)libcurl.easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)0);
    (void)libcurl.easy_setopt(c, CURLOPT_PROXY, x->proxy);
    (void)libcurl.easy_setopt(c, CURLOPT_NOPROXY, *x->proxy ? "" : "*");
    (void)libcurl.easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)libcurl.easy_setopt(c, CURLOPT_OPENSOCKETDATA, x);
    (void)libcurl.easy_setopt(c, CURLOPT_FORBID_REUSE, 1L); /* the next hop's host is another one to judge */
    if (x->req->form)
        (void)libcurl.easy_setopt(c, CURLOPT_POSTFIELDS, x->req->form);
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    CLEANUP(free_p) char *line = xasprintf("%s: %s", name, value);
    struct curl_slist *longer = libcurl.slist_append(list, line);
    explicit_bzero(line, strlen(line));
    return longer ? longer : list;
}

static struct curl_slist *make_headers(const struct registry_http_request *req, bool is_first_origin)
{
    struct curl_slist *list = NULL;
    if (req->accept)
        list = add_header(list, "Accept", req->accept);
    if (req->authorization && is_first_origin)
        list = add_header(list, "Authorization", req->authorization);
    if (req->offset > 0) {
        char range[48];
        (void)snprintf(range, sizeof(range), "bytes=%lld-", (long long)req->offset);
        list = add_header(list, "Range", range);
    }
    return list;
}

/* Sets what the failure means for a retry, and says why. */
static int explain_failure(const struct exchange *x, CURLcode code, const char *url, struct err *err)
{
    switch ((int)code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
        x->reply->is_unreachable = x->reply->is_passing = true;
        break;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        x->reply->is_passing = true;
        break;
    default:
        break;
    }
    int host_len = (int)strcspn(url + 8, "/?#") + 8; /* keep the query of signed addresses out of messages */
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_CAPACITY, ECANCELED, "the pull was cancelled");
    if (x->req->is_terse && (x->reply->is_passing || x->is_denied))
        return err_set(err, ERR_UPSTREAM, 0, NOT_REACHED, host_len, url);
    if (x->is_denied)
        return err_set(err, ERR_UPSTREAM, 0, NOT_ALLOWED, host_len, url);
    if (x->is_over_max)
        return err_set(err, ERR_UPSTREAM, 0, "%.*s sent more than %zu bytes where that is the limit", host_len, url,
                       x->reply->body.max);
    if (x->has_sink_failed)
        return -EPIPE; /* the sink has the cause */
    if (code == CURLE_WRITE_ERROR)
        return err_set(err, ERR_UPSTREAM, 0, "%.*s answered with another range than was asked for", host_len, url);
    return err_set(err, ERR_UPSTREAM, 0, "%.*s: %s", host_len, url, libcurl.easy_strerror(code));
}

static int one_hop(struct exchange *x, const char *url, bool is_first_origin, char **ret_next, struct err *err)
{
    struct registry_http_reply *reply = x->reply;
    if (url_parse_either(url, "http", &x->at) < 0)
        return err_set(err, ERR_UPSTREAM, 0, "\"%.60s\" is not an http or https address", url);
    x->proxy = find_proxy(&x->at);
    x->is_denied = *x->proxy && outgoing_check_host(&x->req->rule, x->at.host, x->at.port, NULL) < 0;
    if (x->is_denied)
        return explain_failure(x, CURLE_COULDNT_CONNECT, url, err);
    struct curl_slist *headers = make_headers(x->req, is_first_origin);
    char *next = NULL;
    long status = 0;
    curl_off_t wait = 0;
    buf_clear(&reply->body);
    reply->status = 0;
    x->range_offset = -1;
    x->to_skip = 0;
    x->is_body_checked = false;
    set_options(x, url, headers);
    CURLcode code = libcurl.easy_perform(x->curl);
    libcurl.slist_free_all(headers);
    if (code != CURLE_OK)
        return explain_failure(x, code, url, err);
    (void)libcurl.easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status); /* each leaves its zero on failure */
    (void)libcurl.easy_getinfo(x->curl, CURLINFO_REDIRECT_URL, &next);
    (void)libcurl.easy_getinfo(x->curl, CURLINFO_RETRY_AFTER, &wait);
    reply->status = (int)status;
    reply->retry_after_s = wait < 0 ? 0 : wait > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : wait;
    reply->is_passing = status == 429 || status == 408 || status >= 500;
    *ret_next = status >= 300 && status < 400 && next ? xstrdup(next) : NULL;
    return 0;
}

int registry_http_do(const struct registry_http_request *req, size_t body_max, struct registry_http_reply *reply,
                     struct err *err)
{
    struct exchange x = { .req = req, .reply = reply };
    *reply = (struct registry_http_reply){ .body = BUF_INIT(body_max) };
    int r = libcurl_load(err);
    if (r < 0)
        return r;
    x.curl = libcurl.easy_init();
    if (!x.curl)
        return err_set(err, ERR_INTERNAL, ENOMEM, "libcurl");
    CLEANUP(free_p) char *url = xstrdup(req->url);
    bool is_first_origin = true;
    for (int hop = 0;; hop++) {
        CLEANUP(free_p) char *next = NULL;
        r = one_hop(&x, url, is_first_origin, &next, err);
        if (r < 0 || !next)
            break;
        bool is_safe = strncmp(next, "https://", 8) == 0, is_plain = strncmp(next, "http://", 7) == 0;
        if (req->form)
            r = err_set(err, ERR_UPSTREAM, 0, "the registry redirects a login: refused");
        else if (strlen(next) < 9 || (!is_safe && !is_plain))
            r = err_set(err, ERR_UPSTREAM, 0, "the registry redirects to something that is not http or https");
        else if (is_plain && strncmp(url, "https://", 8) == 0)
            r = err_set(err, ERR_UPSTREAM, 0, "the registry redirects from https to plain http: refused");
        else if (hop == REDIRECTS_MAX)
            r = err_set(err, ERR_UPSTREAM, 0, "the registry redirects over %d times", REDIRECTS_MAX);
        if (r < 0)
            break;
        size_t n = 8 + strcspn(req->url + 8, "/?#"), m = 8 + strcspn(next + 8, "/?#"); /* scheme, host and port */
        is_first_origin = is_first_origin && n == m && strncasecmp(req->url, next, n) == 0;
        free(url);
        url = STEAL(next);
    }
    libcurl.easy_cleanup(x.curl);
    return r;
}
