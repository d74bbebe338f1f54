#include "sandbox/observe/webhook_send.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/ident.h"
#include "base/limits.h"
#include "http/client.h"
#include "http/url.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/ports.h"

#define PREFIX     "whsec_"
#define ANSWER_MAX 65536 /* bytes of an answer that are read, and dropped, so that the receiver can end it */
#define LINES      8
#define LINE_BYTES 256

struct webhook_send {
    struct http_client *client;
    char *closed_ports;
    webhook_send_fn *fn;
    void *arg;
    int64_t began_us;
    struct webhook_send_outcome outcome;
};

/* --- signatures --- */

void webhook_send_new_key(char ret[WEBHOOK_SEND_KEY_MAX])
{
    unsigned char raw[WEBHOOK_SEND_SECRET_BYTES];
    char text[BASE64_SIZE(WEBHOOK_SEND_SECRET_BYTES) + 1];
    ident_random(raw, sizeof(raw));
    base64_encode(raw, sizeof(raw), text);
    (void)snprintf(ret, WEBHOOK_SEND_KEY_MAX, PREFIX "%s", text);
    explicit_bzero(raw, sizeof(raw));
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

int webhook_send_sign(const char *key, const char *id, int64_t at_s, const char *body, size_t len,
                      char ret[WEBHOOK_SEND_SIGNATURE_MAX])
{
    CLEANUP(buf_done) struct buf secret = BUF_INIT(WEBHOOK_SEND_KEY_MAX), text = BUF_INIT(len + LINE_BYTES);
    size_t prefix = strlen(PREFIX);
    char hex[DIGEST_HEX], encoded[BASE64_SIZE(DIGEST_RAW) + 1];
    unsigned char raw[DIGEST_RAW];
    if (strncmp(key, PREFIX, prefix) != 0 || base64_decode(key + prefix, strlen(key + prefix), &secret) < 0 ||
        buf_addf(&text, "%s.%lld.", id, (long long)at_s) < 0 || buf_add(&text, body, len) < 0)
        return -EINVAL;
    digest_hmac(secret.data, secret.len, text.data, text.len, hex);
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (unsigned char)(nibble(hex[2 * i]) << 4 | nibble(hex[2 * i + 1]));
    base64_encode(raw, sizeof(raw), encoded);
    (void)snprintf(ret, WEBHOOK_SEND_SIGNATURE_MAX, "v1,%s", encoded);
    return 0;
}

/* --- the URL --- */

static struct outgoing rule_of(const struct settings *s, const char *closed_ports, const char *tenant)
{
    return (struct outgoing){ OUTGOING_PUBLIC, .private_hosts = s->webhook_private_hosts, .closed_ports = closed_ports,
                              .tenant = tenant };
}

int webhook_send_check(const struct settings *s, const char *url, char *ret_host, struct err *err)
{
    struct url u;
    const struct outgoing rule = rule_of(s, NULL, NULL);
    for (const char *at = url; *at; at++)
        if (*at <= ' ' || *at == 0x7f)
            return err_set(err, ERR_INVALID, 0, "url: spaces and control characters must be percent-encoded");
    if (url_parse_either(url, "http", &u) < 0)
        return err_set(err, ERR_INVALID, 0, "url: https://HOST[:PORT]/PATH is expected, without a user name");
    if (!u.is_secure && !s->webhook_plain)
        return err_set(err, ERR_INVALID, 0, "url: https:// is needed; III_WEBHOOK_PLAIN allows http://");
    if (outgoing_check_host(&rule, u.host, u.port, err) < 0)
        return err_set(
            err, ERR_FORBIDDEN, 0,
            "url: the address of %.100s is not allowed; the operator can list it in III_WEBHOOK_PRIVATE_HOSTS", u.host);
    memcpy(ret_host, u.host, sizeof(u.host));
    return 0;
}

/* --- the answer --- */

int64_t webhook_send_wait(const char *retry_after, int64_t now_ms)
{
    struct tm when = { 0 };
    int64_t wait_ms = 0;
    if (!retry_after)
        return 0;
    size_t digits = strspn(retry_after, "0123456789");
    if (digits && !retry_after[digits]) {
        wait_ms = digits > 6 ? WEBHOOK_SEND_WAIT_MAX_MS : strtoll(retry_after, NULL, 10) * 1000;
    } else {
        const char *end = strptime(retry_after, "%a, %d %b %Y %H:%M:%S GMT", &when);
        wait_ms = end && !*end ? (int64_t)timegm(&when) * 1000 - now_ms : 0;
    }
    return wait_ms < 0 ? 0 : wait_ms > WEBHOOK_SEND_WAIT_MAX_MS ? WEBHOOK_SEND_WAIT_MAX_MS : wait_ms;
}

static void on_head(void *arg, struct http_client *c, int status)
{
    struct webhook_send *s = arg;
    s->outcome.status = status;
    s->outcome.is_delivered = status >= 200 && status < 300;
    s->outcome.retry_after_ms = webhook_send_wait(http_client_header(c, "retry-after"), clock_wall_ms());
}

/* A status that has arrived counts, whatever becomes of the rest of the answer. */
static void on_done(void *arg, struct http_client *c, const struct err *err)
{
    struct webhook_send *s = arg;
    struct webhook_send_outcome o = s->outcome;
    webhook_send_fn *fn = s->fn;
    void *fn_arg = s->arg;
    (void)c;
    o.duration_ms = (clock_mono_us() - s->began_us) / 1000;
    if (!o.status)
        (void)snprintf(o.error, sizeof(o.error), "%.150s", err ? err->msg : "there was no answer");
    else if (!o.is_delivered)
        (void)snprintf(o.error, sizeof(o.error), "answered with %d%s", o.status,
                       o.status / 100 == 3 ? "; redirects are not followed" : "");
    s->client = NULL; /* it frees itself */
    (void)webhook_send_free(s);
    fn(fn_arg, &o);
}

struct webhook_send *webhook_send_free(struct webhook_send *s)
{
    if (s) {
        s->client = http_client_free(s->client);
        free(s->closed_ports);
        free(s);
    }
    return NULL;
}

int webhook_send_start(const struct webhook_send_plan *plan, webhook_send_fn *fn, void *arg, struct webhook_send **ret,
                       struct err *err)
{
    static const struct http_client_events events = { .on_head = on_head, .on_done = on_done };
    const struct settings *settings = plan->manager->settings;
    int64_t now_ms = clock_wall_ms();
    char host[URL_HOST_MAX], id[LINE_BYTES], at[LINE_BYTES], signature[LINE_BYTES] = "webhook-signature:";
    int r = webhook_send_check(settings, plan->url, host, err); /* settings may have changed */
    for (size_t i = 0; r == 0 && i < json_array_size(plan->secrets); i++) {
        const json_t *secret = json_array_get(plan->secrets, i);
        char one[WEBHOOK_SEND_SIGNATURE_MAX];
        size_t used = strlen(signature);
        if (json_get_int(secret, "until", INT64_MAX) <= now_ms)
            continue;
        if (webhook_send_sign(json_get_str(secret, "key", ""), plan->id, now_ms / 1000, plan->body, plan->len, one) < 0)
            r = err_set(err, ERR_INTERNAL, 0, "the message could not be signed");
        (void)snprintf(signature + used, sizeof(signature) - used, " %s", one);
    }
    if (r < 0)
        return r;
    (void)snprintf(id, sizeof(id), "webhook-id: %s", plan->id);
    (void)snprintf(at, sizeof(at), "webhook-timestamp: %lld", (long long)(now_ms / 1000));
    const char *const lines[LINES] = { "Content-Type: application/json", "User-Agent: iii-sandbox", id, at, signature };
    struct webhook_send *s = xzalloc(sizeof(*s));
    *s = (struct webhook_send){ .fn = fn, .arg = arg, .began_us = clock_mono_us() };
    s->closed_ports = ports_closed(plan->manager->ports);
    const struct http_client_request request = { .method = "POST",
                                                 .url = plan->url,
                                                 .headers = lines,
                                                 .body = plan->body,
                                                 .body_len = plan->len,
                                                 .timeout_ms = settings->webhook_timeout_ms,
                                                 .body_max = ANSWER_MAX,
                                                 .trust = plan->trust,
                                                 .rule = rule_of(settings, s->closed_ports, plan->tenant) };
    r = http_client_start(plan->manager->loop, &request, &events, s, &s->client, err);
    if (r < 0)
        (void)webhook_send_free(s);
    else
        *ret = s;
    return r;
}
