#include "api/admission.h"

#include <stdio.h>
#include <string.h>

#include "api/api_core.h"
#include "api/call_core.h"
#include "api/console_session.h"
#include "api/hostguard.h"
#include "base/alloc.h"
#include "base/clock.h"

bool admission_is_read(const struct http_req *r)
{
    return strcmp(http_req_method(r), "GET") == 0 || strcmp(http_req_method(r), "HEAD") == 0;
}

/* A browser shows the certificate of its user to every page's requests, so that they need the page's own right. */
static int check_cert(struct api *a, const struct http_req *r, const char *cert, struct caller **ret, struct err *err)
{
    int e = keyring_check_cert(a->keys, cert, ret, err);
    if (e == 0 && !hostguard_is_page_known(a, r)) {
        *ret = caller_unref(*ret);
        e = err_set(err, ERR_FORBIDDEN, 0,
                    "web pages of other sites may not call with a client certificate alone: send a token, or allow the "
                    "page in III_ALLOWED_ORIGINS");
    }
    return e;
}

int admission_check(struct api *a, const struct admission *in, struct caller **ret, struct err *err)
{
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    const char *credential = in->credential || !in->http ? in->credential : http_req_header(in->http, "authorization");
    if (!credential && in->http)
        credential = console_session_credential(a->sessions, in->http);
    int r = 0;
    unsigned wait_s = 1;
    const char *peer = in->http ? http_req_peer(in->http) : in->remote;
    const char *cert = in->http && !credential ? http_req_cert(in->http) : NULL;
    if (!in->identity && cert)
        r = check_cert(a, in->http, cert, &who, err);
    else if (in->identity)
        who = keyring_by_id(a->keys, in->identity);
    else
        r = gate_verify(a->gate, credential, peer ? peer : "", (uint64_t)clock_mono_us(), &wait_s, err);
    if (r == 0 && !who && !in->identity)
        r = gate_auth(a->gate, credential, &who, err);
    if (r == 0 && !who)
        r = err_set(err, ERR_FORBIDDEN, 0, "the token is revoked or expired");
    if (r < 0) {
        admission_record(a, in, NULL, err);
        if (in->http && (err->code == ERR_CAPACITY || err->code == ERR_RATE_LIMITED))
            admission_retry_after(in->http, wait_s);
        return r;
    }
    if (!in->is_uncounted) {
        uint64_t now_us = (uint64_t)clock_mono_us();
        r = gate_rate(a->gate, who, credential, now_us, &wait_s, err);
        if (r == 0)
            r = gate_rate_quota(a->gate, who, now_us, &wait_s, err);
        if (r < 0 && in->http)
            admission_retry_after(in->http, wait_s);
    }
    if (r == 0)
        *ret = STEAL(who);
    return r;
}

void admission_record(struct api *a, const struct admission *in, const struct caller *who, const struct err *err)
{
    if (in->is_read)
        return;
    const struct http_req *r = in->http;
    CLEANUP(free_p) char *what = in->operation ? NULL : xasprintf("%s %.200s", http_req_method(r), http_req_path(r));
    struct audit_line line = { .request_id = r ? http_req_header(r, "x-request-id") : NULL,
                               .who = who,
                               .remote = r ? http_req_peer(r) : in->remote,
                               .operation = in->operation ? in->operation : what,
                               .target = json_incref(in->target),
                               .status = err_status(err->code) };
    audit_refused(a->audit, &line);
}

void admission_refuse(struct http_req *r, const struct err *err)
{
    if (err->code == ERR_UNAUTHORIZED)
        http_req_add_header(r, "WWW-Authenticate", "Bearer");
    call_refuse(r, err);
}

void admission_retry_after(struct http_req *r, unsigned wait_s)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", wait_s ? wait_s : 1);
    http_req_add_header(r, "Retry-After", text);
}

void admission_cors(struct http_req *r, const char *origin)
{
    if (!*origin)
        return;
    http_req_add_header(r, "Access-Control-Allow-Origin", origin);
    if (strcmp(origin, "*") != 0)
        http_req_add_header(r, "Vary", "Origin");
}

void admission_preflight(struct http_req *r, const char *methods)
{
    const char *wanted = http_req_header(r, "access-control-request-headers");
    http_req_add_header(r, "Access-Control-Allow-Methods", methods);
    /* "*" would leave out Authorization, so what the browser asks for is named back to it. */
    http_req_add_header(r, "Access-Control-Allow-Headers", wanted && *wanted ? wanted : "*");
    http_req_add_header(r, "Access-Control-Max-Age", "86400");
    http_req_reply(r, 200, "text/plain", "", 0);
}
