/* Header values that mean something beyond HTTP: Authorization, traceparent, Idempotency-Key, Last-Event-ID, Host,
 * Prefer. The first byte picks one. */
#include "../feed.h"

#include "api/gate.h"
#include "api/idempotency.h"
#include "api/prefer.h"
#include "api/preview.h"
#include "api/span.h"
#include "base/alloc.h"
#include "sandbox/observe/event_log.h"

static void try_traceparent(const char *text)
{
    struct span parent, child, again;
    char printed[SPAN_TEXT_MAX];
    if (!span_parse(text, &parent))
        return;
    MUST(strlen(parent.trace_id) == 32 && strlen(parent.id) == 16);
    span_begin(&parent, &child);
    MUST(strcmp(child.trace_id, parent.trace_id) == 0 && strcmp(child.parent_id, parent.id) == 0);
    span_text(&child, printed);
    MUST(span_parse(printed, &again) && strcmp(again.id, child.id) == 0 && again.is_sampled == child.is_sampled);
}

static void try_authorization(const char *text)
{
    static struct settings settings;
    static char secret[] = "the-secret";
    struct err err = ERR_INIT;
    settings_init(&settings);
    char *was = settings.auth_token;
    settings.auth_token = secret;
    CLEANUP(keyring_free_p) struct keyring *keys = NULL;
    MUST(keyring_new(NULL, NULL, secret, &keys, &err) == 0);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&settings, keys);
    const char *token = gate_token(text);
    MUST((gate_auth(g, text, NULL, &err) == 0) == (token && strcmp(token, secret) == 0));
    unsigned wait_s = 0;
    for (int i = 0; i < 3; i++)
        (void)gate_rate(g, NULL, text, 1000000, &wait_s, &err);
    settings.auth_token = was;
    settings_done(&settings);
}

static void on_answer(void *arg, int status, json_t *body)
{
    (void)body;
    MUST(status == 200);
    ++*(int *)arg;
}

static void try_key(const char *text)
{
    CLEANUP(store_close_p) struct store *store = NULL;
    struct err err = ERR_INIT;
    MUST(store_open(STORE_IN_MEMORY, &store, &err) == 0);
    struct idempotency *i = idempotency_new(store, 10);
    struct idempotency_claim *claim = NULL, *second = NULL;
    int answers = 0;
    JSON_OWNED params = json_pack("{s:i}", "a", 1);
    JSON_OWNED body = json_pack("{s:i}", "ok", 1);
    struct idempotency_request rq = { text, "f", "", params, 1000, on_answer, &answers };
    if (idempotency_begin(i, &rq, &claim, &err) == 0) {
        MUST(claim && strlen(text) <= IDEMPOTENCY_KEY_MAX && text[0]);
        idempotency_settle(claim, 200, body, 1000);
        MUST(idempotency_begin(i, &rq, &second, &err) == 0 && !second && answers == 1); /* answered from the store */
    } else {
        MUST(err.code == ERR_INVALID);
    }
    (void)idempotency_free(i);
}

static void try_last_event(const char *text)
{
    CLEANUP(store_close_p) struct store *store = NULL;
    struct err err = ERR_INIT;
    MUST(store_open(STORE_IN_MEMORY, &store, &err) == 0);
    struct event_log *e = event_log_new(store);
    for (int i = 0; i < 3; i++)
        (void)event_log_emit(e, "t", "sbx", NULL);
    const struct event_log_query all = { 0 };
    int64_t place = event_log_after(e, text), seen = 0;
    for (json_t *event; (event = event_log_next(e, &all, &place)); seen++)
        json_decref(event);
    MUST(seen == 3 && place == event_log_end(e)); /* an id it does not know is no reason to leave events out */
    (void)event_log_free(e);
}

static void try_host(const char *text)
{
    struct preview_target t;
    if (preview_parse(text, "https://s.example:8443", &t))
        MUST(t.port > 0 && strlen(t.id) == 4 + IDENT_HEX && strncmp(t.id, "sbx_", 4) == 0);
}

static void try_prefer(const char *text)
{
    CLEANUP(free_p) char *later = xasprintf("%s, handling=lenient", text);
    enum prefer is = prefer_parse(text);
    MUST(is == PREFER_NOTHING || prefer_parse(later) == is); /* the first counts */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const readers[])(const char *) = { try_traceparent, try_traceparent, try_authorization, try_key,
                                                     try_last_event,  try_host,        try_prefer };
    if (size < 1)
        return 0;
    CLEANUP(free_p) char *text = feed_text(data + 1, size - 1);
    readers[data[0] % 7](text);
    return 0;
}
