#include <errno.h>

#include "api/gate.h"
#include "api/sse.h"
#include "base/alloc.h"
#include "tap.h"

#define SECOND 1000000u

static struct settings with_token(const char *token, bool is_limited)
{
    struct settings s;
    settings_init(&s);
    free(s.auth_token);
    s.auth_token = xstrdup(token);
    s.rate_limit = is_limited;
    return s;
}

static struct keyring *keys_for(const struct settings *s)
{
    struct keyring *k = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(keyring_new(NULL, NULL, s->auth_token, &k, &err), 0);
    return k;
}

TEST(tokens_are_compared_with_and_without_bearer)
{
    CLEANUP(settings_done) struct settings s = with_token("secret", false);
    CLEANUP(keyring_free_p) struct keyring *k = keys_for(&s);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&s, k);
    struct err err = ERR_INIT;

    CHECK_INT(gate_auth(g, "Bearer secret", NULL, &err), 0);
    CHECK_INT(gate_auth(g, "secret", NULL, &err), 0);
    CHECK_INT(gate_auth(g, NULL, NULL, &err), -EACCES);
    CHECK_INT(err_status(err.code), 401);
    static const char *const wrong[] = {
        "", "Bearer ", "bearer secret", "Bearer  secret", "secre", "secrets", "Secret"
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_INT(gate_auth(g, wrong[i], NULL, &err), -EPERM);
        CHECK_INT(err_status(err.code), 403);
        CHECK_STR(err.msg, "Invalid token");
    }
}

TEST(an_empty_secret_means_no_authentication)
{
    CLEANUP(settings_done) struct settings s = with_token("", false);
    CLEANUP(keyring_free_p) struct keyring *k = keys_for(&s);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&s, k);
    CHECK_INT(gate_auth(g, NULL, NULL, NULL), 0);
    CHECK_INT(gate_auth(g, "Bearer x", NULL, NULL), 0);
}

TEST(each_token_has_its_own_burst)
{
    CLEANUP(settings_done) struct settings s = with_token("", true);
    s.rate_token_rpm = 60;
    s.rate_token_burst = 3;
    CLEANUP(keyring_free_p) struct keyring *k = keys_for(&s);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&s, k);
    struct err err = ERR_INIT;
    unsigned wait_s = 0;

    for (int i = 0; i < 3; i++)
        CHECK_INT(gate_rate(g, NULL, i % 2 ? "a" : "Bearer a", 5 * SECOND, &wait_s, &err), 0);
    CHECK_INT(gate_rate(g, NULL, "a", 5 * SECOND, &wait_s, &err), -EAGAIN);
    CHECK_INT(err_status(err.code), 429);
    CHECK_STR(err.msg, "Rate limit exceeded");
    CHECK_INT(wait_s, 1);
    CHECK_INT(gate_rate(g, NULL, "b", 5 * SECOND, &wait_s, &err), 0);
    CHECK_INT(gate_rate(g, NULL, "a", 6 * SECOND, &wait_s, &err), 0);
    for (int i = 0; i < 10; i++)
        CHECK_INT(gate_rate(g, NULL, NULL, 6 * SECOND, &wait_s, &err), 0); /* no header, no limit */
}

TEST(sandboxes_have_limits_for_commands_and_files)
{
    static const struct op exec = { .flags = OP_RATE_EXEC }, fs = { .flags = OP_RATE_FS }, other = { 0 };
    CLEANUP(settings_done) struct settings s = with_token("", true);
    s.rate_exec_pm = 2;
    s.rate_fs_pm = 1;
    CLEANUP(keyring_free_p) struct keyring *k = keys_for(&s);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&s, k);
    unsigned wait_s = 0;

    CHECK_INT(gate_rate_sandbox(g, &exec, "x", SECOND, &wait_s, NULL), 0);
    CHECK_INT(gate_rate_sandbox(g, &exec, "x", SECOND, &wait_s, NULL), 0);
    CHECK_INT(gate_rate_sandbox(g, &exec, "x", SECOND, &wait_s, NULL), -EAGAIN);
    CHECK_INT(wait_s, 30);
    CHECK_INT(gate_rate_sandbox(g, &exec, "y", SECOND, &wait_s, NULL), 0);
    CHECK_INT(gate_rate_sandbox(g, &fs, "x", SECOND, &wait_s, NULL), 0);
    CHECK_INT(gate_rate_sandbox(g, &fs, "x", SECOND, &wait_s, NULL), -EAGAIN);
    for (int i = 0; i < 10; i++)
        CHECK_INT(gate_rate_sandbox(g, &other, "x", SECOND, &wait_s, NULL), 0);

    s.rate_limit = false;
    CHECK_INT(gate_rate_sandbox(g, &fs, "x", SECOND, &wait_s, NULL), 0);
}

TEST(idle_buckets_go_and_their_number_is_bounded)
{
    CLEANUP(settings_done) struct settings s = with_token("", true);
    s.rate_token_rpm = 1;
    s.rate_token_burst = 1;
    CLEANUP(keyring_free_p) struct keyring *k = keys_for(&s);
    CLEANUP(gate_free_p) struct gate *g = gate_new(&s, k);
    unsigned wait_s;
    char token[32];

    CHECK_INT(gate_rate(g, NULL, "first", SECOND, &wait_s, NULL), 0);
    CHECK_INT(gate_rate(g, NULL, "first", SECOND, &wait_s, NULL), -EAGAIN);
    for (int i = 0; i < GATE_BUCKETS_MAX; i++) {
        (void)snprintf(token, sizeof(token), "t%d", i);
        CHECK_INT(gate_rate(g, NULL, token, SECOND, &wait_s, NULL), 0);
    }
    CHECK_INT(gate_rate(g, NULL, "first", SECOND, &wait_s, NULL),
              0); /* its bucket was the oldest, so it is a new one */
    gate_sweep(g, SECOND + GATE_IDLE_US - 1);
    CHECK_INT(gate_rate(g, NULL, "first", SECOND, &wait_s, NULL), -EAGAIN);
    gate_sweep(g, SECOND + GATE_IDLE_US);
    CHECK_INT(gate_rate(g, NULL, "first", SECOND, &wait_s, NULL), 0);
}

TEST(events_are_single_lines)
{
    size_t len;
    JSON_OWNED event = json_pack("{s:s}", "data", "a\nb");
    CLEANUP(free_p) char *plain = sse_event(event, NULL, &len);
    CHECK_STR(plain, "data: {\"data\":\"a\\nb\"}\n\n");
    CHECK_INT(len, strlen(plain));
    CLEANUP(free_p) char *named = sse_event(event, "7", &len);
    CHECK_STR(named, "id: 7\ndata: {\"data\":\"a\\nb\"}\n\n");
    CLEANUP(free_p) char *ping = sse_comment("ping", &len);
    CHECK_STR(ping, ": ping\n\n");
}

int main(void)
{
    RUN(tokens_are_compared_with_and_without_bearer);
    RUN(an_empty_secret_means_no_authentication);
    RUN(each_token_has_its_own_burst);
    RUN(sandboxes_have_limits_for_commands_and_files);
    RUN(idle_buckets_go_and_their_number_is_bounded);
    RUN(events_are_single_lines);
    return tap_done();
}
