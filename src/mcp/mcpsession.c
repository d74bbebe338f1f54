/* Theory of operation. A transport hands over one parsed message with a sink. Every request in it counts as open in its
 * exchange until it is answered or given up; the exchange ends with the last. What needs the server (tools, resources)
 * is a struct mcpwork (mcpwork.c); all else is answered at once. */
#include "mcp/mcpsession.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "mcp/mcpsession_core.h"

#define NAME    "iii-sandbox"
#define VERSION "0.1.0" /* of the contract's server info */

#define META "io.modelcontextprotocol/"

static const char *const versions[] = { MCPSESSION_STATEFUL, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07" };

static const char *known(const char *version)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (strcmp(versions[i], version) == 0)
            return versions[i];
    return NULL;
}

bool mcpsession_knows(const char *version)
{
    return known(version) != NULL;
}

bool mcpsession_is_at_least(const struct mcpexchange *x, const char *version)
{
    return strcmp(x->version, version) >= 0; /* dates, year first */
}

const char *mcpsession_stated_version(const json_t *message)
{
    const json_t *meta = json_is_object(message) ? json_get(json_get(message, "params"), "_meta") : NULL;
    return json_get_str(meta, META "protocolVersion", NULL);
}

struct mcpsession *mcpsession_new(struct loop *l, const struct mcpback *back)
{
    struct mcpsession *s = xzalloc(sizeof(*s));
    s->loop = l;
    s->back = back;
    s->version = "2025-03-26"; /* what the specification assumes of a client that has not said */
    LIST_INIT(&s->works);
    s->ticker = timer_new(l, MCPWORK_TICK_MS, MCPWORK_TICK_MS, mcpwork_tick, s);
    timer_set(s->ticker, -1, 0); /* it runs while somebody wants to hear of progress */
    return s;
}

void mcpsession_choose(struct mcpsession *s, const char *choice)
{
    free(s->choice);
    s->choice = xstrdup(choice);
}

struct mcpsession *mcpsession_free(struct mcpsession *s)
{
    if (s) {
        while (!LIST_EMPTY(&s->works))
            mcpwork_cancel(s, LIST_FIRST(&s->works)->id);
        s->ticker = timer_free(s->ticker);
        free(s->choice);
        free(s);
    }
    return NULL;
}

unsigned mcpsession_running(const struct mcpsession *s)
{
    return s->n_works;
}

const char *mcpsession_version(const struct mcpsession *s)
{
    return s->version;
}

/* --- answers --- */

static json_t *id_or_null(const json_t *id)
{
    return id ? json_deep_copy(id) : json_null();
}

json_t *mcpsession_error(const json_t *id, int code, const char *text)
{
    return json_pack("{s:s, s:o, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", id_or_null(id), "error", "code", code,
                     "message", json_text(text, strlen(text)));
}

void mcpsession_close_one(struct mcpexchange *x)
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
static void deliver(struct mcpexchange *x, json_t *message)
{
    if (x->answers)
        (void)json_array_append(x->answers, message);
    else if (!x->is_gone)
        x->sink.send(x->sink.arg, message);
    json_decref(message);
    mcpsession_close_one(x);
}

static json_t *server_info(void)
{
    return json_pack("{s:s, s:s, s:s}", "name", NAME, "title", "iii sandboxes", "version", VERSION);
}

/* What the revision without sessions wants in every result. Lists may change at any time: they are not to be kept. */
static void complete(const struct mcpexchange *x, json_t *result)
{
    (void)json_object_set_new(result, "resultType", json_string("complete"));
    (void)json_object_set_new(result, "_meta", json_pack("{s:o}", META "serverInfo", server_info()));
    if (x->is_cacheable) {
        (void)json_object_set_new(result, "ttlMs", json_integer(0));
        (void)json_object_set_new(result, "cacheScope", json_string("private"));
    }
}

void mcpsession_answer(struct mcpexchange *x, const json_t *id, json_t *result)
{
    if (mcpsession_is_at_least(x, MCPSESSION_NEWEST))
        complete(x, result);
    deliver(x, json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id", id_or_null(id), "result", result));
}

void mcpsession_refuse(struct mcpexchange *x, const json_t *id, int code, const char *text)
{
    bool has_own_code = !mcpsession_is_at_least(x, MCPSESSION_NEWEST); /* later it is a wrong parameter like others */
    deliver(x, mcpsession_error(id, code == MCPSESSION_NO_RESOURCE && !has_own_code ? MCPSESSION_PARAMS : code, text));
}

static void refuse_version(struct mcpexchange *x, const json_t *id, const char *wanted)
{
    JSON_OWNED data = json_pack("{s:[s], s:s%}", "supported", MCPSESSION_NEWEST, "requested", wanted,
                                strnlen(wanted, MCPSESSION_ID_MAX));
    json_t *message = mcpsession_error(id, MCPSESSION_VERSION, "Unsupported protocol version");
    if (data)
        (void)json_object_set(json_get(message, "error"), "data", data);
    deliver(x, message);
}

/* --- methods that are answered at once --- */

#define INSTRUCTIONS                                                                                                  \
    "Isolated Linux sandboxes for running untrusted code. Start with sandbox_create; its id is the sandboxId of the " \
    "other tools. Files live in /workspace. End with sandbox_kill."

static void initialize(struct mcpexchange *x, const json_t *id, const json_t *params)
{
    const char *wanted = known(json_get_str(params, "protocolVersion", ""));
    x->session->version = x->version = wanted ? wanted : MCPSESSION_STATEFUL;
    mcpsession_answer(x, id,
                      json_pack("{s:s, s:{s:{s:b}, s:{}}, s:o, s:s}", "protocolVersion", x->session->version,
                                "capabilities", "tools", "listChanged", 1, "resources", "serverInfo", server_info(),
                                "instructions", INSTRUCTIONS));
}

static void discover(struct mcpexchange *x, const json_t *id, const json_t *params)
{
    mcpsession_answer(x, id,
                      json_pack("{s:[s], s:{s:{}, s:{}}, s:s}", "supportedVersions", MCPSESSION_NEWEST, "capabilities",
                                "tools", "resources", "instructions", INSTRUCTIONS));
}

static void ping(struct mcpexchange *x, const json_t *id, const json_t *params)
{
    mcpsession_answer(x, id, json_object());
}

/* All tools are one page: many clients ask for the first one only. */
static json_t *chosen_tools(const struct mcpexchange *x)
{
    json_t *all = mcptool_list(mcpsession_is_at_least(x, "2025-06-18"));
    if (!x->session->choice)
        return json_incref(all);
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(all); i++)
        if (mcptool_is_chosen(&mcptool_rows[i], x->session->choice))
            (void)json_array_append(list, json_array_get(all, i));
    return list;
}

static void list_tools(struct mcpexchange *x, const json_t *id, const json_t *params)
{
    if (json_get(params, "cursor"))
        mcpsession_refuse(x, id, MCPSESSION_PARAMS, "cursor: tools/list has one page");
    else
        mcpsession_answer(x, id, json_pack("{s:o}", "tools", chosen_tools(x)));
}

static void list_templates(struct mcpexchange *x, const json_t *id, const json_t *params)
{
    mcpsession_answer(x, id, mcpresource_templates());
}

/* --- messages --- */

enum method_flag {
    METHOD_OLD = 1, /* not in the revision without sessions */
    METHOD_NEW = 2, /* only there */
    METHOD_CACHEABLE = 4,
};
static const struct {
    const char *name;
    void (*run)(struct mcpexchange *x, const json_t *id, const json_t *params);
    unsigned flags;
} methods[] = {
    { "initialize", initialize, METHOD_OLD },
    { "ping", ping, METHOD_OLD },
    { "server/discover", discover, METHOD_NEW | METHOD_CACHEABLE },
    { "tools/list", list_tools, METHOD_CACHEABLE },
    { "tools/call", mcpwork_call_tool, 0 },
    { "resources/list", mcpwork_list_resources, METHOD_CACHEABLE },
    { "resources/read", mcpwork_read_resource, METHOD_CACHEABLE },
    { "resources/templates/list", list_templates, METHOD_CACHEABLE },
};

static bool is_id(const json_t *id)
{
    return json_is_integer(id) || json_is_real(id) ||
           (json_is_string(id) && json_string_length(id) <= MCPSESSION_ID_MAX);
}

static bool is_running(const struct mcpsession *s, const json_t *id)
{
    const struct mcpwork *w;
    LIST_FOREACH(w, &s->works, entry)
    {
        if (json_equal(w->id, id))
            return true;
    }
    return false;
}

static void take_request(struct mcpexchange *x, const json_t *id, const char *method, const json_t *params)
{
    char text[128];
    if (params && !json_is_object(params)) {
        mcpsession_refuse(x, id, MCPSESSION_PARAMS, "params: an object is needed");
        return;
    }
    if (is_running(x->session, id)) {
        mcpsession_refuse(x, id, MCPSESSION_INVALID, "id: a request with this id is still under way");
        return;
    }
    if (!known(x->version) && strcmp(x->version, MCPSESSION_NEWEST) != 0) {
        refuse_version(x, id, x->version);
        return;
    }
    unsigned other = mcpsession_is_at_least(x, MCPSESSION_NEWEST) ? METHOD_OLD : METHOD_NEW;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(methods[i].name, method) == 0 && !(methods[i].flags & other)) {
            x->is_cacheable = methods[i].flags & METHOD_CACHEABLE;
            methods[i].run(x, id, params);
            return;
        }
    (void)snprintf(text, sizeof(text), "%.60s: this server has no such method", method);
    mcpsession_refuse(x, id, MCPSESSION_NO_METHOD, text);
}

static void take_notification(struct mcpsession *s, const char *method, const json_t *params)
{
    if (strcmp(method, "notifications/cancelled") == 0 && json_get(params, "requestId"))
        mcpwork_cancel(s, json_get(params, "requestId"));
}

/* One of a batch, or the only one; its place in the exchange is counted already. */
static void take_one(struct mcpexchange *x, const json_t *m)
{
    const char *method = json_get_str(m, "method", NULL);
    const json_t *id = json_object_get(m, "id");
    if (!json_is_object(m) || strcmp(json_get_str(m, "jsonrpc", ""), "2.0") != 0) {
        mcpsession_refuse(x, NULL, MCPSESSION_INVALID, "a JSON-RPC 2.0 message is needed: {\"jsonrpc\": \"2.0\", …}");
    } else if (method && id && is_id(id)) {
        take_request(x, id, method, json_get(m, "params"));
    } else if (method && id) {
        mcpsession_refuse(x, NULL, MCPSESSION_INVALID, "id: a number or a text of at most 256 bytes is needed");
    } else if (method) {
        take_notification(x->session, method, json_get(m, "params"));
        mcpsession_close_one(x);
    } else if (json_object_get(m, "result") || json_object_get(m, "error")) {
        mcpsession_close_one(x); /* an answer, though we have asked nothing */
    } else {
        mcpsession_refuse(x, NULL, MCPSESSION_INVALID, "method: it is missing");
    }
}

static const char *check_batch(const struct mcpexchange *x, const json_t *message)
{
    if (!json_is_array(message))
        return NULL;
    if (mcpsession_is_at_least(x, "2025-06-18"))
        return "batches are not part of this protocol version";
    if (json_array_size(message) == 0 || json_array_size(message) > MCPSESSION_BATCH_MAX)
        return "a batch has 1 to 64 messages";
    return NULL;
}

/* A version that nobody knows is looked at only as long as the message is there. */
static const char *version_for(const struct mcpsession *s, const json_t *message)
{
    const char *stated = mcpsession_stated_version(message);
    if (!stated)
        return s->version;
    return strcmp(stated, MCPSESSION_NEWEST) == 0 ? MCPSESSION_NEWEST : known(stated) ? known(stated) : stated;
}

struct mcpexchange *mcpsession_take(struct mcpsession *s, const json_t *message, const struct mcpsession_sink *sink)
{
    struct mcpexchange *x = xzalloc(sizeof(*x));
    *x = (struct mcpexchange){ .session = s, .sink = *sink, .version = version_for(s, message) };
    x->n_open = 1; /* for ourselves: it must not end early */
    const char *complaint = check_batch(x, message);
    size_t count = json_is_array(message) && !complaint ? json_array_size(message) : 1;
    if (complaint) {
        mcpsession_refuse(x, NULL, MCPSESSION_INVALID, complaint);
        return NULL;
    }
    x->answers = json_is_array(message) ? json_array() : NULL;
    x->n_open += (unsigned)count;
    for (size_t i = 0; i < count; i++)
        take_one(x, json_is_array(message) ? json_array_get(message, i) : message);
    struct mcpexchange *rest = x->n_open > 1 ? x : NULL;
    mcpsession_close_one(x);
    return rest;
}

void mcpsession_leave(struct mcpexchange *x)
{
    x->is_gone = true;
    x->n_open++; /* it lives until the last of its requests is taken down */
    mcpwork_leave(x);
    mcpsession_close_one(x);
}

bool mcpsession_is_request(const json_t *message, const char *method)
{
    for (size_t i = 0; i < json_array_size(message); i++)
        if (mcpsession_is_request(json_array_get(message, i), method))
            return true;
    const char *name = json_is_object(message) ? json_get_str(message, "method", NULL) : NULL;
    return name && json_object_get(message, "id") && (!method || strcmp(name, method) == 0);
}
