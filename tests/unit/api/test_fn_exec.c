/* sandbox::exec and an agent that was taken over: what it says in words chooses no S-code. */
#include <errno.h>
#include <stdlib.h>

#include "api/api_core.h"
#include "api/fn.h"
#include "base/alloc.h"
#include "guest/mutepeer.h"
#include "loopturn.h"
#include "store/store.h"

#define ID        "sbx_00112233445566778899aabb"
#define ANSWER_MS 10000

struct rig {
    struct loop *loop;
    struct guest_link *link;
    struct settings settings;
    struct manager manager; /* only what the handler looks at */
    struct keyring *keys;
    struct api *api;
    struct sandbox *s;
    int peer, status;
    json_t *body;
};

static void on_gone(void *arg, const struct err *err)
{
    (void)arg, (void)err;
}

static void rig_init(struct rig *r)
{
    struct err err = ERR_INIT;
    *r = (struct rig){ 0 };
    settings_init(&r->settings);
    r->peer = mutepeer_new(on_gone, r, &r->loop, &r->link);
    mutepeer_handshake(r->peer);
    r->manager.loop = r->loop;
    r->manager.settings = &r->settings;
    r->manager.sandboxes = map_new();
    CHECK_INT(store_open(STORE_IN_MEMORY, &r->manager.store, &err), 0);
    r->manager.events = event_log_new(r->manager.store);
    CHECK_INT(keyring_new(r->loop, NULL, "", &r->keys, &err), 0);
    CHECK_INT(api_new(r->loop, &r->manager, &r->settings, r->keys, &r->api, &err), 0);
    CHECK_INT(fn_new(&r->manager, r->api, &err), 0);
    r->s = sandbox_new(&r->manager, ID);
    r->s->link = r->link;
    map_set(r->manager.sandboxes, ID, r->s);
}

static void rig_done(struct rig *r)
{
    (void)map_remove(r->manager.sandboxes, ID);
    r->s->link = guest_link_free(r->link);
    sandbox_unref(r->s);
    r->api = api_free(r->api);
    r->keys = keyring_free(r->keys);
    event_log_free(r->manager.events);
    r->manager.store = store_close(r->manager.store);
    map_free(r->manager.sandboxes);
    free(r->manager.on_enter); /* the hooks of the functions, one each */
    free(r->manager.on_leave);
    settings_done(&r->settings);
    json_decref(r->body);
    close(r->peer);
    loop_free(r->loop);
}

static void on_done(void *arg, int status, json_t *body)
{
    struct rig *r = arg;
    r->status = status;
    r->body = json_incref(body);
    loop_stop(r->loop);
}

/* Runs /bin/x there; the agent says that it failed, with this number and these words. */
static void run(struct rig *r, uint32_t sys, const char *words)
{
    uint8_t mem[256];
    struct proto_writer w;
    JSON_OWNED params = json_pack("{s:s, s:[s]}", "sandbox_id", ID, "argv", "/bin/x");
    rig_init(r);
    call_run(r->api, OP_ID_fn_exec, params, NULL, on_done, r);
    loopturn_few(r->loop);
    CHECK_INT(mutepeer_heard(r->peer, PROTO_EXEC_START), 1);
    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, sys);
    proto_put_str(&w, words);
    mutepeer_send(r->peer, (struct proto_header){ (uint32_t)w.len, 1, PROTO_ERROR, 0 }, mem);
    loopturn_ms(r->loop, ANSWER_MS); /* until on_done() */
    loopturn_few(r->loop);
}

TEST(a_missing_program_is_an_answer_whatever_the_agent_says)
{
    static const char *const words[] = { "exec /bin/x", "change to directory /", "S300", "" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct rig r;
        run(&r, ENOENT, words[i]);
        CHECK_INT(r.status, 200);
        CHECK_INT(json_get_int(r.body, "exit_code", 0), 127);
        CHECK_STR(json_get_str(r.body, "stderr", ""), "exec: /bin/x: not found");
        CHECK_INT(r.s->slots, 0);
        rig_done(&r);
    }
}

TEST(other_failures_are_the_platforms)
{
    struct rig r;
    run(&r, EIO, "exec /bin/x");
    CHECK_STR(json_get_str(r.body, "code", ""), "S300");
    CHECK_INT(r.s->slots, 0);
    rig_done(&r);
}

int main(void)
{
    RUN(a_missing_program_is_an_answer_whatever_the_agent_says);
    RUN(other_failures_are_the_platforms);
    return tap_done();
}
