/* The first steps of every request, whichever entry point it comes from: who calls (token), and how often (rate of the
 * token, quota requestsPerMinute). Requests without sufficient rights are recorded in the audit log. Next are the steps
 * of struct call: role, rate of the sandbox, validation, tenant, idempotency, audit, span, handler. May include: base/,
 * http/, api/. */
#pragma once
#include <stdbool.h>

#include "base/err.h"
#include "base/json.h"

struct api;
struct caller;
struct http_req;

struct admission {
    struct http_req *http;  /* what is asked; or NULL, then remote and operation say it */
    const char *credential; /* "Bearer x" or "x"; NULL: that of http, or none */
    const char *identity;   /* of a connection that showed a credential when it began; NULL: the credential counts */
    const char *remote, *operation; /* for the audit log; operation NULL: method and path */
    json_t *target;                 /* the ids it names, for the same; borrowed, or NULL */
    bool is_read;                   /* leaves no line when it is refused */
    bool is_uncounted;              /* not a request yet: no rates */
};
/* 0: *ret is a reference. ERR_UNAUTHORIZED, ERR_FORBIDDEN, or ERR_RATE_LIMITED (then http has its Retry-After). */
int admission_check(struct api *a, const struct admission *in, struct caller **ret, struct err *err);
/* Logs a refused request; a burst is summarized as a count. */
void admission_record(struct api *a, const struct admission *in, const struct caller *who, const struct err *err);

/* --- HTTP --- */
bool admission_is_read(const struct http_req *r); /* GET or HEAD */
/* Answers with the error and the header that goes with 401. */
void admission_refuse(struct http_req *r, const struct err *err);
void admission_retry_after(struct http_req *r, unsigned wait_s);
void admission_cors(struct http_req *r, const char *origin); /* "": none */
void admission_preflight(struct http_req *r, const char *methods);
