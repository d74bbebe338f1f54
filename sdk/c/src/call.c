#include "call.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/tables.h"

struct call iii_call(iii_client *client, const char *method, unsigned flags)
{
    struct call c = { .client = client };
    c.request.method = method;
    c.request.safe = flags & CALL_SAFE;
    c.request.is_long = flags & CALL_LONG;
    if (!client)
        iii_fail(&c.error, III_ARGUMENT, 0, "there is no client, or no sandbox");
    return c;
}

/* Only the first failure counts. */
static bool is_bad(const struct call *c)
{
    return c->error.code != 0;
}

/* An id is text from outside: it stays one segment of the path, and must not name another route. */
static void add_segment(struct call *c, const char *name, size_t len, const char *value)
{
    if (!value || value[0] == '\0' || strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
        iii_fail(&c->error, III_ARGUMENT, 0, "%.*s \"%s\" is no id", (int)len, name, value ? value : "(null)");
    else
        iii_text_escaped(&c->path, value);
}

void iii_call_path(struct call *c, const char *template_path, ...)
{
    va_list args;
    va_start(args, template_path);
    for (const char *at = template_path; *at && !is_bad(c);) {
        size_t plain = strcspn(at, "{");
        iii_text_add(&c->path, at, plain);
        at += plain;
        if (*at == '{') {
            size_t len = strcspn(at, "}");
            add_segment(c, at + 1, len - 1, va_arg(args, const char *));
            at += len + 1;
        }
    }
    va_end(args);
}

const char *iii_call_digits(struct call *c, int64_t number)
{
    snprintf(c->digits, sizeof(c->digits), "%" PRId64, number);
    return c->digits;
}

void iii_call_key(struct call *c, const char *key)
{
    c->request.key = key;
}

static void add_query(struct call *c, const char *name, const json_t *value)
{
    char *text =
        json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!text) {
        iii_fail(&c->error, III_NO_MEMORY, 0, "out of memory");
        return;
    }
    iii_text_add(&c->query, c->query.size ? "&" : "?", 1);
    iii_text_escaped(&c->query, name);
    iii_text_add(&c->query, "=", 1);
    iii_text_escaped(&c->query, text);
    free(text);
}

/* Takes the value over. */
static void put(struct call *c, const char *name, enum table_place place, json_t *value)
{
    if (!value && !is_bad(c))
        iii_fail(&c->error, III_ARGUMENT, 0, "%s is NULL or not UTF-8", name);
    if (!is_bad(c) && place == IN_QUERY) {
        add_query(c, name, value);
    } else if (!is_bad(c)) {
        if (!c->body)
            c->body = json_object();
        if (!c->body || json_object_set(c->body, name, value) != 0)
            iii_fail(&c->error, III_NO_MEMORY, 0, "out of memory");
    }
    json_decref(value);
}

static void put_all(struct call *c, enum table_place place, json_t *object)
{
    const char *name;
    json_t *value;

    if (!object && !is_bad(c))
        iii_fail(&c->error, III_ARGUMENT, 0, "an option is not UTF-8, not JSON, or memory is short");
    json_object_foreach(object, name, value) put(c, name, place, json_incref(value));
    json_decref(object);
}

void iii_call_options(struct call *c, const struct table_type *type, const void *options)
{
    put_all(c, IN_BODY, iii_table_encode(type, options, IN_BODY));
    put_all(c, IN_QUERY, iii_table_encode(type, options, IN_QUERY));
}

void iii_call_text(struct call *c, const char *name, enum table_place place, const char *value)
{
    put(c, name, place, value ? json_string(value) : NULL);
}

void iii_call_integer(struct call *c, const char *name, enum table_place place, int64_t value)
{
    put(c, name, place, json_integer(value));
}

void iii_call_number(struct call *c, const char *name, enum table_place place, double value)
{
    put(c, name, place, json_real(value));
}

void iii_call_command(struct call *c, const char *name, enum table_place place, struct iii_command value)
{
    put(c, name, place, value.shell || value.words ? iii_table_command(value) : NULL);
}

void iii_call_texts(struct call *c, const char *name, enum table_place place, const char *const *values, size_t count)
{
    put(c, name, place, values || count == 0 ? iii_table_texts(values, count) : NULL);
}

void iii_call_pairs(struct call *c, const char *name, enum table_place place, const struct iii_pair *values,
                    size_t count)
{
    put(c, name, place, values || count == 0 ? iii_table_pairs(values, count) : NULL);
}

void iii_call_object(struct call *c, const char *name, enum table_place place, const struct table_type *type,
                     const void *value)
{
    put(c, name, place, value ? iii_table_encode(type, value, IN_BODY) : NULL);
}

void iii_call_objects(struct call *c, const char *name, enum table_place place, const struct table_type *type,
                      const void *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count && list; i++) {
        json_t *one = values ? iii_table_encode(type, (const char *)values + i * type->size, IN_BODY) : NULL;
        if (!one || json_array_append_new(list, one) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    put(c, name, place, list);
}

/* The last steps before sending. On failure the body is not made. */
static int finish(struct call *c, char **body)
{
    if (!is_bad(c) && c->body && !(*body = json_dumps(c->body, JSON_COMPACT)))
        iii_fail(&c->error, III_NO_MEMORY, 0, "out of memory");
    if (c->query.size)
        iii_text_add(&c->path, c->query.data, c->query.size);
    if (!is_bad(c) && (c->path.failed || c->query.failed))
        iii_fail(&c->error, III_NO_MEMORY, 0, "out of memory");
    c->request.path = c->path.data;
    c->request.body = *body;
    return c->error.code;
}

static int end(struct call *c, char *body, int e, struct iii_error *err)
{
    if (err)
        *err = c->error;
    free(body);
    iii_text_done(&c->path);
    iii_text_done(&c->query);
    json_decref(c->body);
    return e;
}

int iii_call_run(struct call *c, const struct table_type *type, void **ret, struct iii_error *err)
{
    char *body = NULL;
    struct text answer = { 0 };
    json_error_t why;

    if (ret)
        *ret = NULL;
    int e = finish(c, &body);
    if (e == 0)
        e = iii_http_send(c->client, &c->request, &answer, &c->error);
    if (e == 0) {
        json_t *value = json_loadb(answer.data ? answer.data : "", answer.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
        void *result = NULL;
        e = value ? iii_table_decode(type, value, &result, &c->error)
                  : iii_fail(&c->error, III_PROTOCOL, 0, "the answer is not JSON: %s", why.text);
        if (e != 0)
            iii_client_name_address(c->client, &c->error);
        if (ret)
            *ret = result;
        else
            iii_free(result);
    }
    iii_text_done(&answer);
    return end(c, body, e, err);
}

int iii_call_failed(const char *what, const struct iii_exec_result *result, struct iii_error *err)
{
    const char *said = *result->stderr_ ? result->stderr_ : result->stdout_;
    size_t size = strlen(said);
    while (size > 0 && said[size - 1] == '\n')
        size--;
    return iii_fail(err, III_COMMAND, 200, "%s failed: exit code %" PRId64 ": %.*s", what, result->exit_code, (int)size,
                    said);
}

int iii_call_command_run(struct call *c, const char *what, struct iii_exec_result **ret, struct iii_error *err)
{
    struct iii_exec_result *result = NULL;
    int e = iii_call_run(c, &iii_type_exec_result, (void **)&result, err);
    if (e == 0 && result->exit_code != 0) {
        e = iii_call_failed(what, result, err);
        iii_free(result);
        result = NULL;
    }
    if (ret)
        *ret = result;
    else
        iii_free(result);
    return e;
}

int iii_call_no_answer(struct call *c, struct iii_error *err)
{
    char *body = NULL;
    int e = finish(c, &body);
    if (e == 0)
        e = iii_http_send(c->client, &c->request, NULL, &c->error);
    return end(c, body, e, err);
}

struct events {
    iii_json_fn *on_json;
    void *arg;
};

static int on_data(const char *data, size_t size, void *arg, struct iii_error *err)
{
    const struct events *s = arg;
    json_error_t why;
    json_t *value = json_loadb(data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);

    if (!value)
        return iii_fail(err, III_PROTOCOL, 0, "an event is not JSON: %s", why.text);
    int e = s->on_json(value, s->arg, err);
    json_decref(value);
    return e;
}

int iii_call_events(struct call *c, iii_json_fn *on_json, void *arg, struct iii_error *err)
{
    struct events events = { on_json, arg };
    c->request.on_data = on_data;
    c->request.arg = &events;
    return iii_call_no_answer(c, err);
}

struct typed {
    const struct table_type *type;
    iii_event_fn *on_event;
    void *arg;
};

static int on_typed(json_t *value, void *arg, struct iii_error *err)
{
    const struct typed *t = arg;
    void *event = NULL;

    int e = iii_table_decode(t->type, json_incref(value), &event, err);
    if (e != 0)
        return e;
    bool leave = t->on_event(event, t->arg) != 0;
    iii_free(event);
    return leave ? SINK_LEAVE : 0;
}

int iii_call_stream(struct call *c, const struct table_type *type, iii_event_fn *on_event, void *arg,
                    struct iii_error *err)
{
    struct typed typed = { type, on_event, arg };
    if (!on_event && !is_bad(c))
        iii_fail(&c->error, III_ARGUMENT, 0, "on_event is NULL");
    return iii_call_events(c, on_typed, &typed, err);
}
