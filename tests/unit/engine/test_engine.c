/* The engine without a network: functions of this process, workers that are fed by hand, state. */
#include "engine/engine.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/channel.h"
#include "engine/kv.h"
#include "engine/registry.h"
#include "engine/trigger.h"
#include "engine/worker.h"
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

static bool applies(const char *before, const char *op, const char *after)
{
    struct err err = ERR_INIT;
    JSON_OWNED value = NULL;
    JSON_OWNED how = NULL;
    if (json_read(before, strlen(before), &value, &err) < 0 || json_read(op, strlen(op), &how, &err) < 0)
        return false;
    JSON_OWNED got = kv_apply(value, how, &err);
    if (!got)
        return !after && *err.msg;
    CLEANUP(free_p) char *text = json_write(got, NULL);
    return after && strcmp(text, after) == 0;
}

TEST(state_operations)
{
    CHECK(applies("null", "{\"type\":\"set\",\"value\":1}", "1"));
    CHECK(applies("1", "{\"type\":\"increment\"}", "2"));
    CHECK(applies("9223372036854775807", "{\"type\":\"increment\"}", "9.2233720368547758e18"));
    CHECK(applies("{\"a\":1.5}", "{\"type\":\"decrement\",\"path\":\"a\",\"by\":1}", "{\"a\":0.5}"));
    CHECK(applies("{\"a\":\"x\"}", "{\"type\":\"increment\",\"path\":\"a\"}", NULL));
    CHECK(applies("{}", "{\"type\":\"append\",\"path\":\"l\",\"value\":7}", "{\"l\":[7]}"));
    CHECK(applies("{\"l\":1}", "{\"type\":\"append\",\"path\":\"l\",\"value\":7}", NULL));
    CHECK(applies("{\"a\":1}", "{\"type\":\"merge\",\"value\":{\"b\":2}}", "{\"a\":1,\"b\":2}"));
    CHECK(applies("[]", "{\"type\":\"merge\",\"value\":{\"b\":2}}", NULL));
    CHECK(applies("{\"a\":1}", "{\"type\":\"remove\",\"path\":\"a\"}", "{}"));
    CHECK(applies("7", "{\"type\":\"set\",\"path\":\"a\",\"value\":1}", NULL));
    CHECK(applies("{}", "{\"type\":\"set\"}", NULL));
}

int main(void)
{
    RUN(functions_of_this_process);
    RUN(what_runs_is_answered_when_the_engine_goes);
    RUN(caller_that_leaves_is_told_to_the_function);
    RUN(registry_prefers_workers_but_not_for_its_own);
    RUN(functions_of_one_worker_are_limited);
    RUN(unanswered_calls_of_one_worker_are_limited);
    RUN(state_operations);
    return tap_done();
}
