#include "api/audit.h"

#include <stdlib.h>
#include <string.h>

#include "api/bucket.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/share.h"
#include "store/audit_file.h"

#define MIB 1048576
#define REFUSED_PM                                                                                     \
    600 /* lines of refused requests a minute, and at once: for tenants, and for those without a token \
         */
#define SHARE_PM   (REFUSED_PM / SHARE_PARTS)
#define SHARES_MAX 1024 /* tenants and addresses with a bucket; the oldest makes room */
#define TEXT_MAX   256  /* bytes of any text from outside */
#define RETRY_MS   1000

struct audit {
    struct loop *loop;
    struct audit_file *file;
    struct bucket *refusals[2]; /* of tenants; of those without a token */
    struct map *shares;         /* tenant, or "@" and address -> struct bucket */
    struct timer *flush;        /* at the end of the turn; later again while the disk takes nothing */
    bool is_strict, is_due, is_failing;
    int64_t suppressed; /* refused requests without a line of their own */
    struct audit_counts counts;
};

static void on_flush_due(void *arg)
{
    struct audit *a = arg;
    struct err err = ERR_INIT;
    a->is_due = false;
    if (audit_file_flush(a->file, &err) == 0) {
        if (a->is_failing)
            log_event(LOG_INFO, "audit.write", "msg", "the audit log can be written again", NULL);
        a->is_failing = false;
        return;
    }
    a->counts.failures++;
    if (!a->is_failing)
        log_event(LOG_ERROR, "audit.write", "error", err.msg, "then", "tried again every second", NULL);
    a->is_failing = true;
    a->is_due = true;
    timer_set(a->flush, RETRY_MS, 0);
}

static void free_buckets(struct audit *a)
{
    for (struct map_iter it = map_iter(a->shares); map_next(&it);)
        bucket_free(it.value);
    map_free(a->shares);
    bucket_free(a->refusals[0]);
    bucket_free(a->refusals[1]);
}

int audit_new(struct loop *l, const struct settings *s, const char *dir, struct audit **ret, struct err *err)
{
    bool is_torn = false;
    struct audit_file_options o = { .dir = dir, .max_bytes = s->audit_max_mb * MIB, .keep = s->audit_files };
    *ret = NULL;
    if (!dir || !s->audit)
        return 0;
    struct audit *a = xzalloc(sizeof(*a));
    a->loop = l;
    a->is_strict = s->audit_strict;
    a->shares = map_new();
    int r = bucket_new(REFUSED_PM, REFUSED_PM, &a->refusals[0], err);
    if (r == 0)
        r = bucket_new(REFUSED_PM, REFUSED_PM, &a->refusals[1], err);
    if (r == 0)
        r = audit_file_open(&o, &a->file, &is_torn, err);
    if (r < 0) {
        free_buckets(a);
        free(a);
        return err_wrap(err, r, "audit log (III_AUDIT=false turns it off)");
    }
    if (is_torn)
        log_event(LOG_WARN, "audit.torn", "msg", "the last line was incomplete and was removed", NULL);
    a->flush = timer_new(l, -1, 0, on_flush_due, a);
    *ret = a;
    return 0;
}

struct audit *audit_free(struct audit *a)
{
    if (!a)
        return NULL;
    on_flush_due(a);
    timer_free(a->flush);
    audit_file_close(a->file);
    free_buckets(a);
    free(a);
    return NULL;
}

bool audit_is_strict(const struct audit *a)
{
    return a && a->is_strict;
}

struct audit_counts audit_counts(const struct audit *a)
{
    return a ? a->counts : (struct audit_counts){ 0 };
}

static void set_text(json_t *j, const char *name, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (len)
        (void)json_object_set_new(j, name, json_text(text, len < TEXT_MAX ? len : TEXT_MAX));
}

int audit_add(struct audit *a, const struct audit_line *l, struct err *err)
{
    JSON_OWNED target = l->target;
    if (!a)
        return 0;
    JSON_OWNED j = json_object();
    (void)json_object_set_new(j, "time", json_integer(clock_wall_ms()));
    set_text(j, "requestId", l->request_id);
    set_text(j, "token", l->who ? l->who->id : NULL);
    set_text(j, "name", l->who ? l->who->name : NULL);
    set_text(j, "issuer", l->who ? l->who->issuer : NULL);
    set_text(j, "subject", l->who ? l->who->subject : NULL);
    set_text(j, "tenant", l->who ? l->who->tenant : l->tenant);
    set_text(j, "remote", l->remote);
    set_text(j, "operation", l->operation);
    if (json_object_size(target))
        (void)json_object_set(j, "target", target);
    (void)json_object_set_new(j, "status", json_integer(l->status));
    set_text(j, "code", l->code);
    if (a->suppressed)
        (void)json_object_set_new(j, "refusedBefore", json_integer(a->suppressed));
    a->suppressed = 0;
    a->counts.lines++;
    audit_file_add(a->file, j);
    if (a->is_strict) {
        struct err why = ERR_INIT;
        if (audit_file_flush(a->file, &why) == 0)
            return 0;
        a->counts.failures++;
        on_flush_due(a); /* logs it, and keeps trying */
        return err_set(err, ERR_CAPACITY, why.sys, "the audit log cannot be written (III_AUDIT_STRICT): %.120s",
                       why.msg);
    }
    if (!a->is_due) {
        a->is_due = true;
        timer_set(a->flush, 0, 0);
    }
    return 0;
}

static bool has_line(struct audit *a, const struct audit_line *l)
{
    char key[TEXT_MAX];
    uint64_t now_us = (uint64_t)clock_mono_us();
    bool is_nobody = !l->who && !l->tenant;
    const char *remote = l->remote ? l->remote : "", *port = strrchr(remote, ':');
    size_t len = port ? (size_t)(port - remote) : strlen(remote);
    if (is_nobody)
        (void)snprintf(key, sizeof(key), "@%.*s", (int)(len < TEXT_MAX / 2 ? len : TEXT_MAX / 2), remote);
    else
        (void)snprintf(key, sizeof(key), "%.200s", l->who ? l->who->tenant : l->tenant);
    struct bucket *share = map_get(a->shares, key);
    struct map_iter oldest = map_iter(a->shares);
    if (!share && map_count(a->shares) >= SHARES_MAX && map_next(&oldest))
        (void)bucket_free(map_remove(a->shares, oldest.key));
    if (!share && bucket_new(SHARE_PM, SHARE_PM, &share, NULL) == 0)
        map_set(a->shares, key, share);
    return share && bucket_take(share, now_us) && bucket_take(a->refusals[is_nobody], now_us);
}

void audit_refused(struct audit *a, const struct audit_line *l)
{
    if (a && has_line(a, l)) {
        (void)audit_add(a, l, NULL); /* refused it is in any case */
        return;
    }
    json_decref(l->target);
    if (a)
        a->suppressed++;
}

json_t *audit_target(const struct op *op, const json_t *params)
{
    json_t *ids = json_object();
    for (const struct field *f = op->fields; f->name; f++) {
        const json_t *value = json_get(params, f->name);
        if (!value || (f->ref == REF_NONE && !(f->flags & FIELD_PATH)))
            continue;
        if (json_is_string(value))
            set_text(ids, f->name, json_string_value(value));
        else if (json_is_integer(value))
            (void)json_object_set_new(ids, f->name, json_integer(json_integer_value(value)));
    }
    return ids;
}
