/* The audit log of the server: a line for each call that changes something, and for each that was refused for
 * insufficient rights. Lines are written in batches, one write for each turn of the loop; in strict mode a call is in
 * the log before it is carried out and before it is answered, and refused when it cannot be. Never holds a secret:
 * parameters are named only where they are ids. May include: base/, loop/, spec/, store/, api/keyring.h. */
#pragma once
#include "api/keyring.h"
#include "base/json.h"
#include "base/settings.h"
#include "loop/loop.h"
#include "spec/spec.h"

struct audit;

/* dir NULL or III_AUDIT off: *ret is NULL, which every function here takes. */
int audit_new(struct loop *l, const struct settings *s, const char *dir, struct audit **ret, struct err *err);
struct audit *audit_free(struct audit *a); /* writes what waits */

struct audit_line {
    const char *request_id;   /* or NULL */
    const struct caller *who; /* NULL: nobody who showed a token */
    const char *tenant;       /* without who: whom it is about; or NULL */
    const char *remote;       /* or NULL */
    const char *operation;
    json_t *target;   /* ids, taken; or NULL */
    int status;       /* 0: begun (strict mode) */
    const char *code; /* of a failure that has no HTTP status; or NULL */
};
/* Queues a line; in strict mode it is written at once, and a failure is returned. */
int audit_add(struct audit *a, const struct audit_line *l, struct err *err);
/* The same for refused requests, of which anyone can send many: a burst is summarized as a count. Each tenant has a
 * share of the lines, and so has each address without a token; neither takes from the other. */
void audit_refused(struct audit *a, const struct audit_line *l);
bool audit_is_strict(const struct audit *a);
/* The ids among the parameters of a call; caller owns. */
json_t *audit_target(const struct op *op, const json_t *params);
struct audit_counts {
    int64_t lines, failures;
};
struct audit_counts audit_counts(const struct audit *a);
