/* Theory of operation. A webhook is a record of the store (struct records) with its secrets in a member that is never
 * shown. A subscriber of the event log gives each event that a webhook wants to the queue (webhook_queue.h), which has
 * it in the store before the call that caused the event is answered.
 *
 * An outcome changes the record when it changes the state: the first failure since a success sets failingSince, a
 * success clears it. A webhook that has failed for III_WEBHOOK_DISABLE_AFTER, or whose receiver answers 410, is
 * disabled: it gets no new messages, those that wait stay, and the event webhook.disabled says so. */
#include "sandbox/observe/webhooks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/ident.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/share.h"
#include "engine/wildcard.h"
#include "http/url.h"
#include "sandbox/lifecycle/records.h"

#define SCOPE     "webhook"
#define GONE      410
#define TESTS_MAX 16 /* at the same time, and a quarter of them of one tenant */
#define TIME_MAX  32

struct webhooks_test {
    LIST_ENTRY(webhooks_test) link;
    struct webhooks *w;
    struct webhook_send *send;
    webhook_send_fn *fn;
    void *arg;
    char *tenant;
};

struct webhooks {
    struct manager *m;
    struct records records;
    struct webhook_queue *queue;
    struct event_log_sub *sub;
    struct share *slots, *testing;
    LIST_HEAD(, webhooks_test) tests;
    char left_id[IDENT_MAX]; /* the sandbox that left last: events about its end come when it is not found any more */
    json_t *left_metadata;
};

static const char *tenant_of_record(const json_t *rec)
{
    return json_get_str(rec, "tenant", "");
}

/* --- which events --- */

static bool wants_topic(const json_t *rec, const char *topic)
{
    const json_t *patterns = json_get(rec, "events");
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (wildcard_match(json_string_value(json_array_get(patterns, i)), topic))
            return true;
    return false;
}

static const json_t *metadata_of(const struct webhooks *w, const char *sandbox_id)
{
    const struct sandbox *s = manager_find(w->m, sandbox_id, NULL);
    if (s)
        return s->metadata;
    return strcmp(sandbox_id, w->left_id) == 0 ? w->left_metadata : NULL;
}

static bool wants_metadata(const struct webhooks *w, const json_t *rec, const char *sandbox_id)
{
    const char *name;
    json_t *value;
    json_t *wanted = json_get(rec, "metadata");
    const json_t *has = json_object_size(wanted) ? metadata_of(w, sandbox_id) : NULL;
    json_object_foreach(wanted, name, value)
    {
        if (strcmp(json_get_str(has, name, ""), json_string_value(value)) != 0 || !json_get(has, name))
            return false;
    }
    return true;
}

static bool wants(const struct webhooks *w, const json_t *rec, const json_t *event)
{
    const char *tenant = tenant_of_record(rec), *sandbox = json_get_str(rec, "sandboxId", NULL);
    const char *about = json_get_str(event, "sandboxId", "");
    if (!json_get_bool(rec, "enabled", true) || (*tenant && !records_is(event, "tenant", tenant)))
        return false;
    return (!sandbox || strcmp(sandbox, about) == 0) && wants_topic(rec, json_get_str(event, "topic", "")) &&
           wants_metadata(w, rec, about);
}

/* The body of a message; caller frees. NULL: no memory. */
static char *message(const char *topic, const char *id, const char *sandbox_id, int64_t at_ms, const json_t *data)
{
    char when[TIME_MAX], text[TIME_MAX + 8];
    time_t at_s = (time_t)(at_ms / 1000);
    struct tm tm;
    (void)gmtime_r(&at_s, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text, sizeof(text), "%s.%03dZ", when, (int)(at_ms % 1000));
    JSON_OWNED body = json_pack("{s:s, s:s, s:s, s:s, s:O}", "type", topic, "id", id, "timestamp", text, "sandboxId",
                                sandbox_id, "data", data);
    return body ? json_write(body, NULL) : NULL;
}

static void on_event(void *arg, json_t *event)
{
    struct webhooks *w = arg;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *body = NULL;
    for (struct map_iter it = map_iter(w->records.by_id); map_next(&it);) {
        if (!wants(w, it.value, event))
            continue;
        if (!body)
            body = message(json_get_str(event, "topic", ""), json_get_str(event, "id", ""),
                           json_get_str(event, "sandboxId", ""), json_get_int(event, "timestamp", 0),
                           json_get(event, "data"));
        if (body && webhook_queue_add(w->queue, it.key, json_get_str(event, "topic", ""), body, &err) < 0)
            log_event(LOG_WARN, "webhook.dropped", "webhook", it.key, "event", json_get_str(event, "id", ""), "error",
                      err.msg, NULL);
    }
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct webhooks *w = arg;
    json_decref(w->left_metadata);
    memcpy(w->left_id, s->id, sizeof(w->left_id));
    w->left_metadata = json_copy(s->metadata);
}

/* --- state --- */

static void set_lane(struct webhooks *w, const json_t *rec)
{
    char host[URL_HOST_MAX] = "";
    struct url u;
    if (url_parse_either(json_get_str(rec, "url", ""), "http", &u) == 0)
        memcpy(host, u.host, sizeof(host));
    webhook_queue_set(w->queue, json_get_str(rec, "id", ""),
                      &(struct webhook_queue_state){ .host = host,
                                                     .is_paused = !json_get_bool(rec, "enabled", true),
                                                     .is_failing = json_get(rec, "failingSince") });
}

static void disable(struct webhooks *w, json_t *rec, const char *reason)
{
    (void)json_object_set_new(rec, "enabled", json_false());
    (void)json_object_set_new(rec, "disabledReason", json_string(reason));
    log_event(LOG_WARN, "webhook.disabled", "webhook", json_get_str(rec, "id", ""), "reason", reason, NULL);
}

static void on_outcome(void *arg, const char *id, const struct webhook_send_outcome *o)
{
    struct webhooks *w = arg;
    json_t *rec = records_find(&w->records, id, NULL);
    int64_t now = clock_wall_ms(), since = json_get_int(rec, "failingSince", 0);
    bool was_enabled = json_get_bool(rec, "enabled", true);
    if (!rec || (o->is_delivered && !since))
        return;
    if (o->is_delivered)
        (void)json_object_del(rec, "failingSince");
    else if (!since)
        (void)json_object_set_new(rec, "failingSince", json_integer(now));
    if (o->status == GONE && was_enabled)
        disable(w, rec, "the receiver answered 410 Gone");
    else if (!o->is_delivered && since && was_enabled && now - since >= w->m->settings->webhook_disable_s * 1000)
        disable(w, rec, "every attempt failed for too long");
    bool is_changed = o->is_delivered || !since || was_enabled != json_get_bool(rec, "enabled", true);
    if (!is_changed)
        return;
    (void)store_put_lazy(w->m->store, SCOPE, id, rec, NULL); /* the next outcome says it again */
    set_lane(w, rec);
    if (was_enabled && !json_get_bool(rec, "enabled", true))
        event_log_emit_for(w->m->events, tenant_of_record(rec), "webhook.disabled", "",
                           json_pack("{s:s, s:O}", "webhookId", id, "reason", json_get(rec, "disabledReason")));
}

static const json_t *record_of(void *arg, const char *id)
{
    const struct webhooks *w = arg;
    return records_find(&w->records, id, NULL);
}

/* --- life --- */

static bool load_one(void *arg, const char *id, json_t *rec)
{
    struct webhooks *w = arg;
    webhook_queue_open(w->queue, id, tenant_of_record(rec));
    share_add(w->slots, tenant_of_record(rec), 1);
    set_lane(w, rec);
    return true;
}

int webhooks_new(struct manager *m, struct webhooks **ret, struct err *err)
{
    struct webhooks *w = xzalloc(sizeof(*w));
    w->m = m;
    LIST_INIT(&w->tests);
    records_init(&w->records, m->store, SCOPE, "webhook");
    w->slots = share_new((size_t)m->settings->max_webhooks);
    w->testing = share_new(TESTS_MAX);
    w->queue =
        webhook_queue_new(m, &(struct webhook_queue_events){ .record = record_of, .on_outcome = on_outcome, .arg = w });
    int r = records_load(&w->records, load_one, w, err);
    if (r == 0)
        r = webhook_queue_load(w->queue, err);
    if (r < 0) {
        (void)webhooks_free(w);
        return r;
    }
    w->sub = event_log_subscribe(m->events, on_event, w);
    manager_on_leave(m, on_leave, w);
    *ret = w;
    return 0;
}

struct webhooks *webhooks_free(struct webhooks *w)
{
    if (!w)
        return NULL;
    w->sub = event_log_unsubscribe(w->sub);
    for (struct webhooks_test *t; (t = LIST_FIRST(&w->tests));)
        webhooks_test_cancel(t);
    webhook_queue_free(w->queue);
    records_done(&w->records);
    share_free(w->slots);
    share_free(w->testing);
    json_decref(w->left_metadata);
    free(w);
    return NULL;
}

void webhooks_start(struct webhooks *w, const struct tls_context_trust *trust)
{
    webhook_queue_start(w->queue, trust);
}

/* --- records --- */

static json_t *shown(const struct webhooks *w, const json_t *rec)
{
    json_t *copy = json_copy((json_t *)(uintptr_t)rec);
    struct webhook_queue_counts n = webhook_queue_lane_counts(w->queue, json_get_str(rec, "id", ""));
    (void)json_object_del(copy, "internal");
    (void)json_object_set_new(copy, "pending", json_integer(n.pending));
    (void)json_object_set_new(copy, "dead", json_integer(n.dead));
    (void)json_object_set_new(copy, "dropped", json_integer(n.dropped));
    return copy;
}

/* Sets a new first secret; a former one, if there is one, is kept until then. Returns it for the one reply that has it.
 */
static json_t *new_secret(json_t *rec, int64_t former_until_ms)
{
    char key[WEBHOOK_SEND_KEY_MAX];
    json_t *secrets = json_array(), *former = json_array_get(json_get(json_get(rec, "internal"), "secrets"), 0);
    webhook_send_new_key(key);
    (void)json_array_append_new(secrets, json_pack("{s:s}", "key", key));
    if (former && former_until_ms > clock_wall_ms())
        (void)json_array_append_new(
            secrets, json_pack("{s:O, s:I}", "key", json_get(former, "key"), "until", (json_int_t)former_until_ms));
    (void)json_object_set_new(rec, "internal", json_pack("{s:o}", "secrets", secrets));
    json_t *text = json_string(key);
    explicit_bzero(key, sizeof(key));
    return text;
}

/* Takes what the wish has into the record. */
static int read_wish(const struct webhooks *w, json_t *rec, const json_t *wish, struct err *err)
{
    static const char *const names[] = { "url", "events", "sandboxId", "metadata", "description", "enabled" };
    char host[URL_HOST_MAX];
    const json_t *patterns = json_get(wish, "events");
    for (size_t i = 0; i < json_array_size(patterns); i++)
        if (json_string_length(json_array_get(patterns, i)) == 0)
            return err_set(err, ERR_INVALID, 0, "events: an empty pattern matches nothing; * matches every topic");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (json_get(wish, names[i]))
            (void)json_object_set_new(rec, names[i], json_deep_copy(json_get(wish, names[i])));
    return webhook_send_check(w->m->settings, json_get_str(rec, "url", ""), host, err);
}

json_t *webhooks_create(struct webhooks *w, const struct tenant_by *by, const json_t *wish, struct err *err)
{
    char id[IDENT_MAX];
    ident_new("whk", id);
    JSON_OWNED rec = json_pack("{s:s, s:[s], s:b, s:I}", "id", id, "events", "*", "enabled", 1, "createdAt",
                               (json_int_t)clock_wall_ms());
    tenant_mark(by, rec);
    const char *tenant = tenant_of_record(rec);
    if (read_wish(w, rec, wish, err) < 0 || tenant_check(w->m, by, QUOTA_WEBHOOKS, 1, err) < 0)
        return NULL;
    if (!share_has_room(w->slots, "", 1) || !share_has_room(w->slots, tenant, 1)) {
        (void)err_set(err, ERR_CAPACITY, 0, "limit of %zu webhooks reached: delete one, or raise III_MAX_WEBHOOKS",
                      share_max(w->slots, tenant));
        return NULL;
    }
    JSON_OWNED secret = new_secret(rec, 0);
    if (records_add(&w->records, id, rec, err) < 0)
        return NULL;
    (void)load_one(w, id, rec);
    json_t *reply = shown(w, rec);
    (void)json_object_set(reply, "secret", secret);
    return reply;
}

/* Changes a copy, so that nothing has changed when it cannot be stored. Takes changed. */
static json_t *replace(struct webhooks *w, const char *id, json_t *changed, struct err *err)
{
    JSON_OWNED rec = changed;
    json_t *old = records_find(&w->records, id, NULL);
    (void)json_object_set_new(rec, "updatedAt", json_integer(clock_wall_ms()));
    if (store_put(w->m->store, SCOPE, id, rec, err) < 0)
        return NULL;
    (void)json_object_clear(old);
    (void)json_object_update(old, rec);
    set_lane(w, old);
    return shown(w, old);
}

json_t *webhooks_update(struct webhooks *w, const char *id, const json_t *wish, struct err *err)
{
    const json_t *rec = records_find(&w->records, id, err);
    JSON_OWNED changed = rec ? json_deep_copy(rec) : NULL;
    if (!rec || read_wish(w, changed, wish, err) < 0)
        return NULL;
    if (json_get_bool(wish, "enabled", false)) {
        (void)json_object_del(changed, "disabledReason");
        (void)json_object_del(changed, "failingSince");
    }
    return replace(w, id, STEAL(changed), err);
}

json_t *webhooks_rotate(struct webhooks *w, const char *id, int64_t overlap_s, struct err *err)
{
    const json_t *rec = records_find(&w->records, id, err);
    if (!rec)
        return NULL;
    json_t *changed = json_deep_copy(rec);
    JSON_OWNED secret = new_secret(changed, clock_wall_ms() + overlap_s * 1000);
    json_t *reply = replace(w, id, changed, err);
    if (reply)
        (void)json_object_set(reply, "secret", secret);
    return reply;
}

json_t *webhooks_get(struct webhooks *w, const char *id, struct err *err)
{
    const json_t *rec = records_find(&w->records, id, err);
    return rec ? shown(w, rec) : NULL;
}

json_t *webhooks_list(struct webhooks *w, const struct tenant_by *by, const char *sandbox_id)
{
    json_t *list = json_array();
    for (struct map_iter it = map_iter(w->records.by_id); map_next(&it);) {
        const char *of = json_get_str(it.value, "sandboxId", NULL);
        if (tenant_sees_of(by, tenant_of_record(it.value), of) && (!sandbox_id || (of && strcmp(of, sandbox_id) == 0)))
            (void)json_array_append_new(list, shown(w, it.value));
    }
    return list;
}

int webhooks_delete(struct webhooks *w, const char *id, struct err *err)
{
    const json_t *rec = records_find(&w->records, id, err);
    CLEANUP(free_p) char *tenant = rec ? xstrdup(tenant_of_record(rec)) : NULL;
    int r = records_delete(&w->records, id, err);
    if (r == 0) {
        share_give(w->slots, tenant, 1);
        webhook_queue_close(w->queue, id);
    }
    return r;
}

const char *webhooks_owner(const struct webhooks *w, const char *id, const char **ret_sandbox)
{
    *ret_sandbox = json_get_str(records_find(&w->records, id, NULL), "sandboxId", NULL);
    return records_owner(&w->records, id);
}

size_t webhooks_count(const struct webhooks *w, const char *tenant)
{
    return records_count(&w->records, "tenant", tenant);
}

/* --- messages --- */

json_t *webhooks_deliveries(struct webhooks *w, const char *id, const struct webhook_queue_query *what, struct err *err)
{
    return records_find(&w->records, id, err) ? webhook_queue_page(w->queue, id, what, err) : NULL;
}

int webhooks_retry(struct webhooks *w, const char *id, const char *delivery_id, struct err *err)
{
    return records_find(&w->records, id, err) ? webhook_queue_retry(w->queue, id, delivery_id, err) : -1;
}

int64_t webhooks_purge(struct webhooks *w, const char *id, const struct webhook_queue_query *what, struct err *err)
{
    return records_find(&w->records, id, err) ? webhook_queue_purge(w->queue, id, what) : -1;
}

struct webhook_queue_counts webhooks_counts(const struct webhooks *w)
{
    return webhook_queue_counts(w->queue);
}

/* --- tests --- */

void webhooks_test_cancel(struct webhooks_test *t)
{
    LIST_REMOVE(t, link);
    share_give(t->w->testing, t->tenant, 1);
    (void)webhook_send_free(t->send);
    free(t->tenant);
    free(t);
}

static void on_tested(void *arg, const struct webhook_send_outcome *o)
{
    struct webhooks_test *t = arg;
    webhook_send_fn *fn = t->fn;
    void *fn_arg = t->arg;
    t->send = NULL; /* it frees itself */
    webhooks_test_cancel(t);
    fn(fn_arg, o);
}

int webhooks_test(struct webhooks *w, const char *id, webhook_send_fn *fn, void *arg, struct webhooks_test **ret,
                  struct err *err)
{
    char message_id[IDENT_MAX];
    const json_t *rec = records_find(&w->records, id, err);
    const char *tenant = tenant_of_record(rec);
    if (!rec)
        return -1;
    if (!share_has_room(w->testing, "", 1) || !share_take(w->testing, tenant, 1))
        return err_set(err, ERR_CAPACITY, 0, "too many tests of webhooks run: try again");
    struct webhooks_test *t = xzalloc(sizeof(*t));
    *t = (struct webhooks_test){ .w = w, .fn = fn, .arg = arg, .tenant = xstrdup(tenant) };
    LIST_INSERT_HEAD(&w->tests, t, link);
    ident_new("msg", message_id);
    JSON_OWNED data = json_pack("{s:s}", "webhookId", id);
    CLEANUP(free_p) char *body = message("webhook.test", message_id, "", clock_wall_ms(), data);
    const struct webhook_send_plan plan = { .manager = w->m,
                                            .trust = webhook_queue_trust(w->queue),
                                            .tenant = t->tenant,
                                            .url = json_get_str(rec, "url", ""),
                                            .secrets = json_get(json_get(rec, "internal"), "secrets"),
                                            .id = message_id,
                                            .body = body,
                                            .len = strlen(body) };
    int r = webhook_send_start(&plan, on_tested, t, &t->send, err);
    if (r < 0)
        webhooks_test_cancel(t);
    else
        *ret = t;
    return r;
}
