/* Theory of operation. A transport passes one parsed message with a sink; together they are an exchange. Every request
 * in the message counts as open in its exchange until it is answered or cancelled; the exchange ends with the last one.
 * Requests that need the server (tools, resources) become a struct mcpwork (mcp_work.c), which the session owns; all
 * others are answered at once. Errors of the protocol are replies of the exchange, never of the transport. A session
 * that is freed cancels its work and drops its exchanges. */
#include "mcp/mcp_session.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcp_prompt.h"
#include "mcp/mcp_session_core.h"

#define NAME      "iii-sandbox"
#define META      "io.modelcontextprotocol/"
#define TRACE_MAX 128 /* bytes of a traceparent; version 00 has 55 */

static const char *const versions[] = { MCP_SESSION_STATEFUL, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07" };

static const char *known(const char *version)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (strcmp(versions[i], version) == 0)
            return versions[i];
    return NULL;
}

bool mcp_session_knows(const char *version)
{
    return known(version) != NULL;
}

bool mcp_session_is_at_least(const struct mcp_exchange *x, const char *version)
{
    return strcmp(x->version, version) >= 0; /* dates, year first */
}

const char *mcp_session_stated_version(const json_t *message)
{
    const json_t *meta = json_is_object(message) ? json_get(json_get(message, "params"), "_meta") : NULL;
    return json_get_str(meta, META "protocolVersion", NULL);
}

static const char *meta_fault(const json_t *params)
{
    const json_t *meta = json_get(params, "_meta");
    return !json_is_string(json_object_get(meta, META "protocolVersion")) ? "params._meta: \"" META
                                                                            "protocolVersion\" is required"
           : !json_is_object(json_object_get(meta, META "clientCapabilities"))
               ? "params._meta: \"" META "clientCapabilities\" is required: an object, {} for none"
               : NULL;
}

const char *mcp_session_meta_fault(const json_t *message)
{
    return meta_fault(json_get(message, "params"));
}

struct mcp_session *mcp_session_new(struct loop *l, const struct mcp_backend *back)
{
    struct mcp_session *s = xzalloc(sizeof(*s));
    s->loop = l;
    s->back = back;
    s->log_level = LOG_NONE;
    s->version = "2025-03-26"; /* what the specification assumes of a client that has not said */
    LIST_INIT(&s->works);
    s->ticker = timer_new(l, MCP_WORK_TICK_MS, MCP_WORK_TICK_MS, mcp_work_tick, s);
    timer_set(s->ticker, -1, 0); /* it runs while a client wants progress notifications */
    return s;
}

void mcp_session_choose(struct mcp_session *s, const char *choice)
{
    free(s->choice);
    s->choice = xstrdup(choice);
}

struct mcp_session *mcp_session_free(struct mcp_session *s)
{
    if (s) {
        while (!LIST_EMPTY(&s->works))
            mcp_work_drop(LIST_FIRST(&s->works));
        s->ticker = timer_free(s->ticker);
        free(s->choice);
        free(s);
    }
    return NULL;
}

void mcp_session_on_notes(struct mcp_session *s, const struct mcp_session_sink *sink)
{
    s->notes = *sink;
}

unsigned mcp_session_running(const struct mcp_session *s)
{
    const struct mcp_work *w;
    unsigned n = 0;
    LIST_FOREACH(w, &s->works, entry)
    {
        n += !w->uris;
    }
    return n;
}

const char *mcp_session_version(const struct mcp_session *s)
{
    return s->version;
}

/* --- answers --- */

static json_t *id_or_null(const json_t *id)
{
    return id ? json_deep_copy(id) : json_null();
}

json_t *mcp_session_error(const json_t *id, int code, const char *text)
{
    return json_pack("{s:s, s:o, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", id_or_null(id), "error", "code", code,
                     "message", json_text(text, strlen(text)));
}

void mcp_session_close_one(struct mcp_exchange *x)
{
    assert(x->n_open > 0);
    if (--x->n_open > 0)
        return;
    if (!x->is_gone) {
        if (json_array_size(x->answers) > 0)
            x->sink.send(x->sink.arg, x->answers);
        if (x->sink.end)
            x->sink.end(x->sink.arg);
    }
    json_decref(x->answers);
    free(x);
}

/* Takes message. */
static void deliver(struct mcp_exchange *x, json_t *message)
{
    if (x->answers)
        (void)json_array_append(x->answers, message);
    else if (!x->is_gone)
        x->sink.send(x->sink.arg, message);
    json_decref(message);
    mcp_session_close_one(x);
}

static json_t *server_info(void)
{
    return json_pack("{s:s, s:s, s:s}", "name", NAME, "title", "iii sandboxes", "version", III_VERSION);
}

void mcp_session_answer(struct mcp_exchange *x, const json_t *id, json_t *result)
{
    bool is_newest = mcp_session_is_at_least(x, MCP_SESSION_NEWEST);
    if (is_newest) { /* what the revision without sessions requires in every result */
        (void)json_object_set_new(result, "resultType", json_string("complete"));
        json_t *meta = json_object_get(result, "_meta");
        if (meta)
            (void)json_object_set_new(meta, META "serverInfo", server_info());
        else
            (void)json_object_set_new(result, "_meta", json_pack("{s:o}", META "serverInfo", server_info()));
    }
    if (is_newest && x->is_cacheable) { /* lists may change at any time: clients must not cache them */
        (void)json_object_set_new(result, "ttlMs", json_integer(0));
        (void)json_object_set_new(result, "cacheScope", json_string("private"));
    }
    deliver(x, json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id_or_null(id), "result", result));
}

void mcp_session_refuse(struct mcp_exchange *x, const json_t *id, int code, const char *text)
{
    deliver(x, mcp_session_error(id, code, text));
}

/* Takes data. */
static void refuse_with(struct mcp_exchange *x, json_t *message, json_t *data)
{
    if (data)
        (void)json_object_set_new(json_get(message, "error"), "data", data);
    deliver(x, message);
}

void mcp_session_refuse_uri(struct mcp_exchange *x, const json_t *id, const char *uri, const char *text)
{
    bool has_own_code = !mcp_session_is_at_least(x, MCP_SESSION_NEWEST); /* later it is a wrong parameter like others */
    refuse_with(x, mcp_session_error(id, has_own_code ? MCP_SESSION_NO_RESOURCE : MCP_SESSION_PARAMS, text),
                json_pack("{s:s}", "uri", uri));
}

/* --- log messages --- */

static const char *const log_levels[] = { "debug", "info",     "notice", "warning",
                                          "error", "critical", "alert",  "emergency" };

/* LOG_NONE: there is no such level. */
static int log_level_of(const char *name)
{
    for (int i = 0; i < (int)(sizeof(log_levels) / sizeof(log_levels[0])); i++)
        if (strcmp(log_levels[i], name) == 0)
            return i;
    return LOG_NONE;
}

void mcp_session_log(const struct mcp_exchange *x, int level, const char *logger, json_t *data)
{
    JSON_OWNED message = json_pack("{s:s, s:s, s:{s:s, s:s, s:o}}", "jsonrpc", "2.0", "method", "notifications/message",
                                   "params", "level", log_levels[level], "logger", logger, "data", data);
    if (x->log_level != LOG_NONE && level >= x->log_level && !x->is_gone)
        x->sink.send(x->sink.arg, message);
}

static void set_log_level(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    int level = log_level_of(json_get_str(params, "level", ""));
    if (level == LOG_NONE) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS,
                           "level: debug, info, notice, warning, error, critical, alert or emergency is needed");
        return;
    }
    x->session->log_level = level;
    mcp_session_answer(x, id, json_object());
}

/* --- methods that are answered at once --- */

#define INSTRUCTIONS                                                                                                  \
    "Isolated Linux sandboxes for running untrusted code. Start with sandbox_create; its id is the sandboxId of the " \
    "other tools. Files live in /workspace. End with sandbox_kill."

static void initialize(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    const char *wanted = known(json_get_str(params, "protocolVersion", ""));
    x->session->version = x->version = wanted ? wanted : MCP_SESSION_STATEFUL;
    mcp_session_answer(x, id,
                       json_pack("{s:s, s:{s:{s:b}, s:{s:b}, s:{}, s:{}, s:{}}, s:o, s:s}", "protocolVersion",
                                 x->session->version, "capabilities", "tools", "listChanged", 1, "resources",
                                 "subscribe", x->session->notes.send != NULL, "prompts", "completions", "logging",
                                 "serverInfo", server_info(), "instructions", INSTRUCTIONS));
}

static void discover(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    mcp_session_answer(x, id,
                       json_pack("{s:[s], s:{s:{}, s:{s:b, s:b}, s:{}, s:{}, s:{}}, s:s}", "supportedVersions",
                                 MCP_SESSION_NEWEST, "capabilities", "tools", "resources", "subscribe", 1,
                                 "listChanged", 1, "prompts", "completions", "logging", "instructions", INSTRUCTIONS));
}

static void ping(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    mcp_session_answer(x, id, json_object());
}

/* All tools are one page: many clients ask for the first one only. */
static void list_tools(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    if (json_get(params, "cursor")) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, "cursor: tools/list has one page");
        return;
    }
    const char *choice = x->session->choice;
    json_t *all = mcp_tool_list(mcp_tool_is_lean(choice)                   ? MCP_TOOL_LEAN
                                : mcp_session_is_at_least(x, "2025-06-18") ? MCP_TOOL_FULL
                                                                           : MCP_TOOL_PLAIN);
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(all); i++)
        if (mcp_tool_is_chosen(&mcp_tool_rows[i], choice))
            (void)json_array_append(list, json_array_get(all, i));
    mcp_session_answer(x, id, json_pack("{s:o}", "tools", list));
}

static void list_templates(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    mcp_session_answer(x, id, mcp_resource_templates());
}

static void list_prompts(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    mcp_session_answer(x, id, mcp_prompt_list());
}

static void get_prompt(struct mcp_exchange *x, const json_t *id, const json_t *params)
{
    struct err err = ERR_INIT;
    json_t *prompt = NULL;
    if (mcp_prompt_get(json_get_str(params, "name", ""), json_get(params, "arguments"), &prompt, &err) < 0)
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, err.msg);
    else
        mcp_session_answer(x, id, prompt);
}

/* --- messages --- */

enum method_flag {
    METHOD_OLD = 1, /* not in the revision without sessions */
    METHOD_NEW = 2, /* only there */
    METHOD_CACHEABLE = 4,
};
static const struct {
    const char *name;
    void (*run)(struct mcp_exchange *x, const json_t *id, const json_t *params);
    unsigned flags;
} methods[] = {
    { "initialize", initialize, METHOD_OLD },
    { "ping", ping, METHOD_OLD },
    { "server/discover", discover, METHOD_NEW | METHOD_CACHEABLE },
    { "tools/list", list_tools, METHOD_CACHEABLE },
    { "tools/call", mcp_work_call_tool, 0 },
    { "resources/list", mcp_work_list_resources, METHOD_CACHEABLE },
    { "resources/read", mcp_work_read_resource, METHOD_CACHEABLE },
    { "resources/templates/list", list_templates, METHOD_CACHEABLE },
    { "resources/subscribe", mcp_subscribe_add, METHOD_OLD },
    { "resources/unsubscribe", mcp_subscribe_remove, METHOD_OLD },
    { "subscriptions/listen", mcp_subscribe_listen, METHOD_NEW },
    { "prompts/list", list_prompts, METHOD_CACHEABLE },
    { "prompts/get", get_prompt, 0 },
    { "completion/complete", mcp_complete_run, 0 },
    { "logging/setLevel", set_log_level, METHOD_OLD },
};

static bool is_running(const struct mcp_session *s, const json_t *id)
{
    const struct mcp_work *w;
    LIST_FOREACH(w, &s->works, entry)
    {
        if (json_equal(w->id, id))
            return true;
    }
    return false;
}

static void take_request(struct mcp_exchange *x, const json_t *id, const char *method, const json_t *params)
{
    char text[128];
    if (params && !json_is_object(params)) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, "params: an object is needed");
        return;
    }
    if (is_running(x->session, id)) {
        mcp_session_refuse(x, id, MCP_SESSION_INVALID, "id: a request with this id is still under way");
        return;
    }
    if (!known(x->version) && strcmp(x->version, MCP_SESSION_NEWEST) != 0) {
        refuse_with(x, mcp_session_error(id, MCP_SESSION_VERSION, "Unsupported protocol version"),
                    json_pack("{s:[s], s:s%}", "supported", MCP_SESSION_NEWEST, "requested", x->version,
                              strnlen(x->version, MCP_SESSION_ID_MAX)));
        return;
    }
    const char *fault = mcp_session_is_at_least(x, MCP_SESSION_NEWEST) ? meta_fault(params) : NULL;
    if (fault) {
        mcp_session_refuse(x, id, MCP_SESSION_PARAMS, fault);
        return;
    }
    bool is_newest = mcp_session_is_at_least(x, MCP_SESSION_NEWEST);
    x->log_level =
        is_newest ? log_level_of(json_get_str(json_get(params, "_meta"), META "logLevel", "")) : x->session->log_level;
    unsigned other = is_newest ? METHOD_OLD : METHOD_NEW;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(methods[i].name, method) == 0 && !(methods[i].flags & other)) {
            x->is_cacheable = methods[i].flags & METHOD_CACHEABLE;
            methods[i].run(x, id, params);
            return;
        }
    (void)snprintf(text, sizeof(text), "%.60s: this server has no such method", method);
    mcp_session_refuse(x, id, MCP_SESSION_NO_METHOD, text);
}

/* One of a batch, or the only one; its place in the exchange is counted already. */
static void take_one(struct mcp_exchange *x, const json_t *m)
{
    const char *method = json_get_str(m, "method", NULL);
    const json_t *id = json_object_get(m, "id"), *params = json_get(m, "params");
    bool is_good_id = json_is_number(id) || (json_is_string(id) && json_string_length(id) <= MCP_SESSION_ID_MAX);
    if (!json_is_object(m) || strcmp(json_get_str(m, "jsonrpc", ""), "2.0") != 0) {
        mcp_session_refuse(x, NULL, MCP_SESSION_INVALID, "a JSON-RPC 2.0 message is needed: {\"jsonrpc\": \"2.0\", …}");
    } else if (method && is_good_id) {
        const char *trace = json_get_str(json_get(params, "_meta"), "traceparent", x->sink.traceparent);
        bool is_trace = trace && strspn(trace, "0123456789abcdef-") == strnlen(trace, TRACE_MAX);
        x->traceparent = is_trace ? trace : NULL; /* it becomes a header of a request, perhaps */
        take_request(x, id, method, params);
    } else if (method && id) {
        mcp_session_refuse(x, NULL, MCP_SESSION_INVALID, "id: a number or a text of at most 256 bytes is needed");
    } else if (method) {
        if (strcmp(method, "notifications/cancelled") == 0 && json_get(params, "requestId"))
            mcp_work_cancel(x->session, json_get(params, "requestId"));
        mcp_session_close_one(x);
    } else if (json_object_get(m, "result") || json_object_get(m, "error")) {
        mcp_session_close_one(x); /* a response, although this server sends no requests */
    } else {
        mcp_session_refuse(x, NULL, MCP_SESSION_INVALID, "method: it is missing");
    }
}

struct mcp_exchange *mcp_session_take(struct mcp_session *s, const json_t *message, const struct mcp_session_sink *sink)
{
    const char *stated = mcp_session_stated_version(message);
    assert(s->version); /* a session begins with one */
    const char *version = !stated                                   ? s->version
                          : strcmp(stated, MCP_SESSION_NEWEST) == 0 ? MCP_SESSION_NEWEST
                                                                    : known(stated);
    bool is_batch = json_is_array(message);
    size_t count = is_batch ? json_array_size(message) : 1;
    struct mcp_exchange *x = xzalloc(sizeof(*x));
    *x = (struct mcp_exchange){ .session = s,
                                .sink = *sink,
                                .version = version ? version : stated, /* an unknown one is borrowed from the message */
                                .n_open = 1 /* held by this function: the exchange must not end early */ };
    if (is_batch && mcp_session_is_at_least(x, "2025-06-18")) {
        mcp_session_refuse(x, NULL, MCP_SESSION_INVALID, "batches are not part of this protocol version");
        return NULL;
    }
    if (count == 0 || count > MCP_SESSION_BATCH_MAX) {
        mcp_session_refuse(x, NULL, MCP_SESSION_INVALID, "a batch has 1 to 64 messages");
        return NULL;
    }
    x->answers = is_batch ? json_array() : NULL;
    x->n_open += (unsigned)count;
    for (size_t i = 0; i < count; i++)
        take_one(x, is_batch ? json_array_get(message, i) : message);
    struct mcp_exchange *rest = x->n_open > 1 ? x : NULL;
    mcp_session_close_one(x);
    return rest;
}

void mcp_session_leave(struct mcp_exchange *x)
{
    x->is_gone = true;
    x->n_open++; /* it exists until the last of its requests is removed */
    mcp_work_leave(x);
    mcp_session_close_one(x);
}

bool mcp_session_is_request(const json_t *message, const char *method)
{
    for (size_t i = 0; i < json_array_size(message); i++)
        if (mcp_session_is_request(json_array_get(message, i), method))
            return true;
    const char *name = json_is_object(message) ? json_get_str(message, "method", NULL) : NULL;
    return name && json_object_get(message, "id") && (!method || strcmp(name, method) == 0);
}
