/* The engine without a network: functions of this process, workers that are fed by hand, state. */
#include "engine/engine.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/channel.h"
#include "engine/enqueue.h"
#include "engine/invocation.h"
#include "engine/registry.h"
#include "engine/trigger.h"
#include "engine/update_ops.h"
#include "engine/worker.h"
#include "loopturn.h"
#include "tap.h"

struct rig {
    struct loop *loop;
    struct store *store;
    struct channel_hub *channels;
    struct engine *engine;
    char path[64];
    /* the last answer */
    int n_answers;
    char *result, *code;
    struct engine_call *held;
    int n_gone;
};

static void rig_init(struct rig *r)
{
    struct err err = ERR_INIT;
    *r = (struct rig){ 0 };
    (void)snprintf(r->path, sizeof(r->path), "/tmp/iii-test-engine-%d.db", (int)getpid());
    (void)unlink(r->path);
    CHECK(loop_new(&r->loop, &err) == 0 && store_open(r->path, &r->store, &err) == 0);
    r->channels = channel_hub_new(r->loop, CHANNEL_CLAIM_MS);
    struct engine_options o = {
        .loop = r->loop, .store = r->store, .channels = r->channels, .name = "me", .version = "1"
    };
    CHECK(engine_new(&o, &r->engine, &err) == 0);
}

static void rig_done(struct rig *r)
{
    char extra[80];
    engine_free(r->engine);
    channel_hub_free(r->channels);
    store_close(r->store);
    loop_free(r->loop);
    free(r->result);
    free(r->code);
    (void)unlink(r->path);
    (void)snprintf(extra, sizeof(extra), "%s-wal", r->path);
    (void)unlink(extra);
    (void)snprintf(extra, sizeof(extra), "%s-shm", r->path);
    (void)unlink(extra);
}

static void on_done(void *arg, json_t *result, const struct engine_error *error)
{
    struct rig *r = arg;
    r->n_answers++;
    free(r->result);
    free(r->code);
    r->result = result ? json_write(result, NULL) : NULL;
    r->code = error ? xstrdup(error->code) : NULL;
}

static void echo(void *arg, struct engine_call *c, json_t *payload)
{
    (void)arg;
    engine_ok(c, json_incref(payload));
}

static void on_gone(void *arg)
{
    struct rig *r = arg;
    r->n_gone++;
}

static void hold(void *arg, struct engine_call *c, json_t *payload)
{
    struct rig *r = arg;
    (void)payload;
    r->held = c;
    engine_call_on_gone(c, on_gone, r);
}

static void say(struct worker *w, const char *text)
{
    worker_receive(w, true, text, strlen(text));
}

static void call(struct rig *r, const char *function, const char *payload)
{
    JSON_OWNED p = NULL;
    CHECK(!payload || json_read(payload, strlen(payload), &p, NULL) == 0);
    engine_invoke(r->engine, function, p, NULL, on_done, r);
}

TEST(functions_of_this_process)
{
    struct rig r;
    rig_init(&r);
    engine_add_function(r.engine, "a::echo", NULL, echo, NULL);
    engine_add_function(r.engine, "a::hold", NULL, hold, &r);
    call(&r, "a::echo", "[1]");
    CHECK_STR(r.result, "[1]");
    call(&r, "a::echo", NULL);
    CHECK_STR(r.result, "{}");
    call(&r, "a::none", NULL);
    CHECK_STR(r.code, "function_not_found");
    call(&r, "a::hold", NULL);
    CHECK_INT(r.n_answers, 3);
    CHECK(engine_call_caller(r.held) == NULL);
    engine_fail(r.held, "late", "%s", "why");
    CHECK_STR(r.code, "late");
    CHECK_INT(r.n_answers, 4);
    rig_done(&r);
}

TEST(what_runs_is_answered_when_the_engine_goes)
{
    struct rig r;
    rig_init(&r);
    engine_add_function(r.engine, "a::hold", NULL, hold, &r);
    call(&r, "a::hold", NULL);
    rig_done(&r);
    CHECK_INT(r.n_answers, 1);
}

TEST(caller_that_leaves_is_told_to_the_function)
{
    struct rig r;
    rig_init(&r);
    engine_add_function(r.engine, "a::hold", NULL, hold, &r);
    struct worker *w = worker_new(r.engine, "127.0.0.1:1");
    say(w, "{\"type\":\"invokefunction\",\"invocation_id\":\"7a1e9c30-0b54-4d92-8f6e-2c5d7e8f9a01\",\"function_id\":"
           "\"a::hold\"}");
    CHECK(r.held && strcmp(engine_call_caller(r.held), w->id) == 0 && !engine_call_is_gone(r.held));
    worker_retire(w, 1000, "");
    CHECK_INT(r.n_gone, 1);
    CHECK(engine_call_is_gone(r.held));
    engine_ok(r.held, NULL);
    rig_done(&r);
}

TEST(registry_prefers_workers_but_not_for_its_own)
{
    struct rig r;
    rig_init(&r);
    engine_add_function(r.engine, "a::echo", NULL, echo, NULL);
    struct worker *one = worker_new(r.engine, "1.2.3.4:5"), *two = worker_new(r.engine, "unix");
    CHECK_STR(one->ip, "1.2.3.4");
    say(one, "{\"type\":\"registerfunction\",\"id\":\"a::echo\"}");
    CHECK(registry_find(r.engine, "a::echo")->owner == one);
    say(two, "{\"type\":\"registerfunction\",\"id\":\"a::echo\"}");
    CHECK(registry_find(r.engine, "a::echo")->owner == two);
    CHECK_INT(one->n_functions, 0);
    say(one, "{\"type\":\"unregisterfunction\",\"id\":\"a::echo\"}");
    CHECK(registry_find(r.engine, "a::echo")->owner == two);
    say(one, "{\"type\":\"registerfunction\",\"id\":\"engine::workers::list\"}");
    CHECK(registry_find(r.engine, "engine::workers::list")->owner == NULL);
    call(&r, "a::echo", "1");
    CHECK_INT(r.n_answers, 0);
    worker_retire(two, 1000, "");
    CHECK_STR(r.code, "invocation_stopped");
    call(&r, "a::echo", "1");
    CHECK_STR(r.result, "1");
    rig_done(&r);
}

TEST(functions_of_one_worker_are_limited)
{
    struct rig r;
    rig_init(&r);
    struct worker *w = worker_new(r.engine, "unix");
    for (int i = 0; i < ENGINE_FUNCTIONS_MAX + 1; i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "{\"type\":\"registerfunction\",\"id\":\"n::%d\"}", i);
        say(w, text);
    }
    CHECK_INT(w->n_functions, ENGINE_FUNCTIONS_MAX);
    for (int i = 0; i < ENGINE_BINDINGS_MAX + 1; i++) {
        char text[160];
        (void)snprintf(
            text, sizeof(text),
            "{\"type\":\"registertrigger\",\"id\":\"%d\",\"trigger_type\":\"x\",\"function_id\":\"y\",\"config\":{}}",
            i);
        say(w, text);
    }
    CHECK_INT(w->n_bindings, ENGINE_BINDINGS_MAX);
    CHECK_INT(map_count(trigger_bindings(r.engine)), ENGINE_BINDINGS_MAX);
    for (int i = 0; i < ENGINE_TYPES_MAX + 1; i++) {
        char text[100];
        (void)snprintf(text, sizeof(text), "{\"type\":\"registertriggertype\",\"id\":\"t%d\",\"description\":\"\"}", i);
        say(w, text);
    }
    CHECK_INT(w->n_types, ENGINE_TYPES_MAX);
    worker_retire(w, 1000, "");
    CHECK_INT(map_count(trigger_bindings(r.engine)), 0);
    rig_done(&r);
}

TEST(unanswered_calls_of_one_worker_are_limited)
{
    struct rig r;
    rig_init(&r);
    struct worker *w = worker_new(r.engine, "unix");
    say(w, "{\"type\":\"registerfunction\",\"id\":\"n::slow\"}");
    for (int i = 0; i < ENGINE_CALLS_MAX + 1; i++)
        say(w, "{\"type\":\"invokefunction\",\"invocation_id\":\"7a1e9c30-0b54-4d92-8f6e-2c5d7e8f9a01\",\"function_"
               "id\":\"n::slow\"}");
    CHECK_INT(w->n_started, ENGINE_CALLS_MAX);
    CHECK_INT(w->n_running, ENGINE_CALLS_MAX);
    worker_retire(w, 1000, "");
    CHECK_INT(map_count(r.engine->calls), 0);
    rig_done(&r);
}

/* The value after the operations, with the codes of those that failed: "value code@index …". before "": no value. */
static bool applies(const char *before, const char *ops, const char *after)
{
    struct err err = ERR_INIT;
    JSON_OWNED old = NULL;
    JSON_OWNED how = NULL;
    JSON_OWNED value = NULL;
    JSON_OWNED errors = NULL;
    if ((*before && json_read(before, strlen(before), &old, &err) < 0) || json_read(ops, strlen(ops), &how, &err) < 0)
        return false;
    if (update_ops_apply(old, how, &value, &errors, &err) < 0)
        return !after && *err.msg;
    CLEANUP(buf_done) struct buf got = BUF_INIT(4096);
    CLEANUP(free_p) char *text = json_write(value, NULL);
    (void)buf_add_str(&got, text);
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const json_t *one = json_array_get(errors, i);
        (void)buf_addf(&got, " %s@%lld", json_get_str(one, "code", ""), (long long)json_get_int(one, "op_index", -1));
    }
    if (!after || strcmp(buf_text(&got), after) != 0)
        printf("# %s %s: %s\n", before, ops, buf_text(&got));
    return after && strcmp(buf_text(&got), after) == 0;
}

TEST(operations_of_updates)
{
    CHECK(applies("", "[{\"type\":\"set\",\"path\":\"\",\"value\":1}]", "1"));
    CHECK(applies("", "[{\"type\":\"set\",\"path\":\"a.b\"}]", "{\"a.b\":null}"));
    CHECK(applies("7", "[{\"type\":\"set\",\"path\":\"a\",\"value\":1}]", "7 set.target_not_object@0"));
    CHECK(applies("1", "[{\"type\":\"increment\",\"path\":\"\",\"by\":1}]", "2"));
    CHECK(applies("", "[{\"type\":\"decrement\",\"path\":\"\",\"by\":3}]", "-3"));
    CHECK(applies("{}", "[{\"type\":\"decrement\",\"path\":\"n\",\"by\":3}]", "{\"n\":-3}"));
    CHECK(applies("9223372036854775807", "[{\"type\":\"increment\",\"path\":\"\",\"by\":1}]", "9.2233720368547758e18"));
    CHECK(applies("{\"a\":1.5}", "[{\"type\":\"decrement\",\"path\":\"a\",\"by\":1}]", "{\"a\":0.5}"));
    CHECK(applies("{\"a\":\"x\"}", "[{\"type\":\"increment\",\"path\":\"a\",\"by\":1}]",
                  "{\"a\":\"x\"} increment.not_number@0"));
    CHECK(applies("{\"a\":1}", "[{\"type\":\"remove\",\"path\":\"a\"},{\"type\":\"remove\",\"path\":\"b\"}]", "{}"));
    CHECK(applies("{\"a\":1}", "[{\"type\":\"remove\",\"path\":\"\"}]", "null"));
}

TEST(operations_append_and_merge)
{
    CHECK(applies("{}", "[{\"type\":\"append\",\"path\":\"l\",\"value\":7}]", "{\"l\":[7]}"));
    CHECK(applies("{\"l\":[7]}", "[{\"type\":\"append\",\"path\":\"l\",\"value\":[8]}]", "{\"l\":[7,[8]]}"));
    CHECK(applies("{}", "[{\"type\":\"append\",\"path\":[\"l\"],\"value\":\"x\"}]", "{\"l\":\"x\"}"));
    CHECK(applies("{\"l\":\"x\"}", "[{\"type\":\"append\",\"path\":\"l\",\"value\":\"y\"}]", "{\"l\":\"xy\"}"));
    CHECK(applies("\"x\"", "[{\"type\":\"append\",\"value\":\"y\"}]", "\"xy\""));
    CHECK(applies("", "[{\"type\":\"append\",\"value\":\"y\"}]", "\"y\""));
    CHECK(applies("{}", "[{\"type\":\"append\",\"path\":[\"a\",\"b\"],\"value\":\"x\"}]", "{\"a\":{\"b\":[\"x\"]}}"));
    CHECK(applies("{\"l\":1,\"s\":\"x\"}",
                  "[{\"type\":\"append\",\"path\":\"l\",\"value\":7},{\"type\":\"append\",\"path\":\"s\",\"value\":7},"
                  "{\"type\":\"append\",\"path\":[\"l\",\"m\"],\"value\":7}]",
                  "{\"l\":1,\"s\":\"x\"} append.type_mismatch@0 append.type_mismatch@1 append.target_not_object@2"));
    CHECK(applies("{\"a\":1}", "[{\"type\":\"merge\",\"value\":{\"b\":2}}]", "{\"a\":1,\"b\":2}"));
    CHECK(applies("{\"a\":1}", "[{\"type\":\"merge\",\"path\":[\"a\",\"c\"],\"value\":{\"b\":2}}]",
                  "{\"a\":{\"c\":{\"b\":2}}}"));
    CHECK(applies("{\"a\":{\"x\":1}}", "[{\"type\":\"merge\",\"path\":\"a\",\"value\":{\"b\":2}}]",
                  "{\"a\":{\"x\":1,\"b\":2}}"));
    CHECK(applies("[]", "[{\"type\":\"merge\",\"path\":[],\"value\":{\"b\":2}}]", "[]")); /* skipped, no error */
    CHECK(applies("{}", "[{\"type\":\"merge\",\"value\":3}]", "{} merge.value.not_an_object@0"));
    CHECK(applies("{}", "[{\"type\":\"merge\",\"value\":{\"a\":[{\"__proto__\":1}]}}]",
                  "{} merge.value.proto_polluted@0"));
    /* What one operation puts in, a later one changes. */
    CHECK(applies(
        "", "[{\"type\":\"set\",\"path\":\"a\",\"value\":{}},{\"type\":\"merge\",\"path\":\"a\",\"value\":{\"b\":1}}]",
        "{\"a\":{\"b\":1}}"));
}

TEST(operations_have_limits)
{
    CHECK(applies("{}", "[{\"type\":\"merge\",\"path\":[\"\"],\"value\":{}}]", "{} merge.path.empty_segment@0"));
    CHECK(applies("{}", "[{\"type\":\"set\",\"path\":\"constructor\"}]", "{} set.path.proto_polluted@0"));
    CHECK(applies("{}", "[{\"type\":\"fly\",\"path\":\"\"}]", NULL));
    CHECK(applies("{}", "[{\"type\":\"set\"}]", NULL));
    CHECK(applies("{}", "[{\"type\":\"set\",\"path\":[\"a\"]}]", NULL));
    CHECK(applies("{}", "[{\"type\":\"increment\",\"path\":\"n\"}]", NULL));
    CHECK(applies("{}", "[{\"type\":\"increment\",\"path\":\"n\",\"by\":1.5}]", NULL));
    CHECK(applies("{}", "[{\"type\":\"append\",\"path\":\"n\"}]", NULL));
    CHECK(applies("{}", "[]", NULL));
    JSON_OWNED path = json_array();
    JSON_OWNED deep = json_object();
    JSON_OWNED wide = json_object();
    char name[300] = "";
    for (int i = 0; i < 33; i++)
        (void)json_array_append_new(path, json_string("p"));
    for (int i = 0; i < 16; i++)
        deep = json_pack("{s:o}", "d", STEAL(deep));
    for (int i = 0; i < 1025; i++) {
        (void)snprintf(name, sizeof(name), "k%d", i);
        (void)json_object_set_new(wide, name, json_true());
    }
    (void)memset(name, 'n', 257);
    JSON_OWNED ops = json_pack("[{s:s, s:O, s:i}, {s:s, s:O}, {s:s, s:O}, {s:s, s:s, s:i}]", "type", "append", "path",
                               path, "value", 1, "type", "merge", "value", deep, "type", "merge", "value", wide, "type",
                               "increment", "path", name, "by", 1);
    CLEANUP(free_p) char *text = json_write(ops, NULL);
    CHECK(applies("{}", text,
                  "{} append.path.too_deep@0 merge.value.too_deep@1 merge.value.too_many_keys@2 "
                  "increment.path.segment_too_long@3"));
}

/* Calls stream::set as that tenant; true when it was stored. */
static bool set_item(struct rig *r, const char *tenant, const char *item, json_t *data)
{
    JSON_OWNED payload =
        json_pack("{s:s, s:s, s:s, s:O}", "stream_name", "s", "group_id", "g", "item_id", item, "data", data);
    const struct invocation i = {
        .function_id = "stream::set", .payload = payload, .tenant = tenant, .done = on_done, .arg = r
    };
    invocation_start(r->engine, &i);
    return !r->code;
}

TEST(a_tenant_cannot_fill_the_memory_of_streams)
{
    struct rig r;
    CLEANUP(free_p) char *text = xzalloc((15 << 20) + 1);
    (void)memset(text, 'x', 15 << 20);
    JSON_OWNED large = json_string(text);
    JSON_OWNED small = json_integer(1);
    rig_init(&r);
    CHECK(set_item(&r, "a", "1", large) && set_item(&r, "a", "2", large) && set_item(&r, "a", "3", large));
    CHECK(set_item(&r, "a", "4", large) && !set_item(&r, "a", "5", large)); /* 64 MiB are a quarter */
    CHECK_STR(r.code, "STREAM_SET_ERROR");
    CHECK(set_item(&r, "b", "5", large));  /* others have theirs */
    CHECK(set_item(&r, NULL, "4", small)); /* the operator's from now on: there is room for a */
    CHECK(set_item(&r, "a", "6", large) && !set_item(&r, "a", "7", large));
    rig_done(&r);
}

static void always_fails(void *arg, struct engine_call *c, json_t *payload)
{
    (void)arg, (void)payload;
    engine_fail(c, "no", "on purpose");
}

static bool has_dead(struct rig *r, const char *id)
{
    JSON_OWNED doc = NULL;
    return store_get(r->store, "engine_dead", id, &doc, NULL) == 0;
}

TEST(a_tenants_dead_letters_push_out_its_own)
{
    struct rig r;
    struct err err = ERR_INIT;
    char id[UUID_MAX];
    JSON_OWNED of_a = json_pack("{s:s, s:s}", "queue", "q", "tenant", "a");
    JSON_OWNED of_b = json_pack("{s:s, s:s}", "queue", "q", "tenant", "b");
    rig_init(&r);
    CHECK_INT(store_begin(r.store, &err), 0);
    CHECK_INT(store_put(r.store, "engine_dead", "b", of_b, &err), 0); /* the oldest of all */
    for (int i = 0; i < ENQUEUE_DEAD_MAX / SHARE_PARTS; i++) {
        (void)snprintf(id, sizeof(id), "a%d", i);
        (void)store_put(r.store, "engine_dead", id, of_a, &err);
    }
    CHECK_INT(store_commit(r.store, &err), 0);
    engine_free(r.engine); /* a restart counts them */
    struct engine_options o = {
        .loop = r.loop, .store = r.store, .channels = r.channels, .name = "me", .version = "1"
    };
    CHECK_INT(engine_new(&o, &r.engine, &err), 0);
    engine_add_function(r.engine, "t::fails", NULL, always_fails, NULL);
    JSON_OWNED config = json_pack("{s:s, s:{s:i}}", "topic", "t", "queue_config", "max_retries", 0);
    const struct trigger_wish wish = {
        .id = "w", .type = "durable:subscriber", .function_id = "t::fails", .config = config
    };
    CHECK_INT(trigger_bind(r.engine, &wish, &err), 0);
    JSON_OWNED payload = json_pack("{s:s, s:i}", "topic", "t", "data", 1);
    const struct invocation i = {
        .function_id = "iii::durable::publish", .payload = payload, .tenant = "a", .done = on_done, .arg = &r
    };
    invocation_start(r.engine, &i);
    loopturn_deferred(r.loop);
    CHECK_INT(store_count(r.store, "engine_dead"), ENQUEUE_DEAD_MAX / SHARE_PARTS + 1);
    CHECK(has_dead(&r, "b") && !has_dead(&r, "a0") && has_dead(&r, "a1"));
    rig_done(&r);
}

int main(void)
{
    RUN(functions_of_this_process);
    RUN(what_runs_is_answered_when_the_engine_goes);
    RUN(caller_that_leaves_is_told_to_the_function);
    RUN(registry_prefers_workers_but_not_for_its_own);
    RUN(functions_of_one_worker_are_limited);
    RUN(unanswered_calls_of_one_worker_are_limited);
    RUN(operations_of_updates);
    RUN(operations_append_and_merge);
    RUN(operations_have_limits);
    RUN(a_tenant_cannot_fill_the_memory_of_streams);
    RUN(a_tenants_dead_letters_push_out_its_own);
    return tap_done();
}
