#include "fakeback.h"

#include "base/alloc.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_path.h"
#include "mcp/mcp_session_core.h"
#include "tap.h"

struct heard {
    json_t *messages; /* in order */
    int ends;
};

static struct loop *loop;
static struct fakeback fake;
static struct mcp_session *session;
static struct heard heard;

static void on_send(void *arg, const json_t *message)
{
    struct heard *h = arg;
    (void)json_array_append_new(h->messages, json_deep_copy(message));
}

static void on_end(void *arg)
{
    ((struct heard *)arg)->ends++;
}

static void set_up(void)
{
    struct err err = ERR_INIT;
    CHECK_INT(loop_new(&loop, &err), 0);
    fakeback_init(&fake);
    session = mcp_session_new(loop, &fake.back);
    heard = (struct heard){ .messages = json_array() };
}

static void take_down(void)
{
    session = mcp_session_free(session);
    CHECK_INT(fake.n, 0);
    json_decref(heard.messages);
    loop = loop_free(loop);
}

static struct mcp_exchange *say(const char *text)
{
    const struct mcp_session_sink sink = { .send = on_send, .end = on_end, .arg = &heard };
    JSON_OWNED message = NULL;
    CHECK_INT(json_read(text, strlen(text), &message, NULL), 0);
    return mcp_session_take(session, message, &sink);
}

/* The next thing that was heard, as text. Caller frees. */
static char *next(void)
{
    char *text = json_dumps(json_array_get(heard.messages, 0), JSON_COMPACT);
    (void)json_array_remove(heard.messages, 0);
    return text ? text : xstrdup("nothing");
}

static void check_next(const char *expected)
{
    CLEANUP(free_p) char *text = next();
    if (!strstr(text, expected))
        printf("# heard %s\n", text);
    CHECK(strstr(text, expected) != NULL);
}

static void answer(int status, const char *body)
{
    JSON_OWNED value = NULL;
    CHECK_INT(json_read(body, strlen(body), &value, NULL), 0);
    fakeback_answer(&fake, status, value);
}

#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sandbox_list\"}}"

TEST(an_answer_comes_once_and_the_end_after_it)
{
    set_up();
    CHECK(say(LIST) != NULL);
    CHECK_INT(heard.ends, 0);
    CHECK_INT(mcp_session_running(session), 1);
    answer(200, "{\"items\":[]}");
    check_next("\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[]\"}]}");
    CHECK_INT(heard.ends, 1);
    CHECK(say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}") == NULL);
    check_next("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    CHECK_INT(heard.ends, 2);
    take_down();
}

TEST(what_is_cancelled_is_dropped_and_not_answered)
{
    set_up();
    CHECK(say(LIST) != NULL);
    CHECK(say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}}") == NULL);
    CHECK_INT(fake.n_dropped, 0); /* the text is another id than the number */
    CHECK(say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}") == NULL);
    CHECK_INT(fake.n_dropped, 1);
    CHECK_INT(json_array_size(heard.messages), 0);
    CHECK_INT(heard.ends, 3);
    take_down();
}

TEST(who_leaves_hears_nothing_more)
{
    set_up();
    struct mcp_exchange *x = say(LIST);
    mcp_session_leave(x);
    CHECK_INT(fake.n_dropped, 1);
    CHECK_INT(heard.ends, 0);
    CHECK_INT(json_array_size(heard.messages), 0);
    take_down();
}

TEST(ids_are_taken_while_their_request_runs)
{
    set_up();
    (void)say(LIST);
    (void)say(LIST);
    check_next("\"code\":-32600");
    answer(0, "{\"error\":\"nobody there\"}");
    check_next("nobody there\"}],\"isError\":true");
    (void)say(LIST);
    CHECK_INT(fake.n, 1);
    take_down(); /* with one under way */
    CHECK_INT(heard.ends, 3);
}

TEST(the_number_of_requests_is_bounded)
{
    set_up();
    char text[256];
    for (int i = 0; i <= MCP_SESSION_RUNNING_MAX; i++) {
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":\"r%d\",\"method\":\"tools/call\",\"params\":{\"name\":"
                       "\"sandbox_list\"}}",
                       i);
        (void)say(text);
    }
    check_next("\"code\":-32000");
    CHECK_INT(mcp_session_running(session), MCP_SESSION_RUNNING_MAX);
    take_down();
}

TEST(progress_is_told_to_who_asked)
{
    set_up();
    (void)say(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"sandbox_list\",\"_meta\":{"
        "\"progressToken\":\"t\"}}}");
    (void)say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"sandbox_list\"}}");
    mcp_work_tick(session);
    mcp_work_tick(session);
    check_next("\"progressToken\":\"t\",\"progress\":1");
    check_next("\"progressToken\":\"t\",\"progress\":2");
    CHECK_INT(json_array_size(heard.messages), 0);
    take_down();
}

TEST(a_batch_is_answered_as_one)
{
    set_up();
    CHECK(say("[{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}," LIST
              ",{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]") != NULL);
    CHECK_INT(json_array_size(heard.messages), 0);
    answer(200, "{\"items\":[]}");
    check_next("[{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":1,");
    CHECK_INT(heard.ends, 1);
    take_down();
}

TEST(a_request_may_say_its_own_version)
{
    static const char discover[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"%s\",\"io.modelcontextprotocol/clientCapabilities\":%s}}}";
    CLEANUP(free_p)
    char *newest = xasprintf(discover, MCP_SESSION_NEWEST, "{}"), *unknown = xasprintf(discover, "2099-01-01", "{}"),
         *stateful = xasprintf(discover, MCP_SESSION_STATEFUL, "{}"),
         *without = xasprintf(discover, MCP_SESSION_NEWEST, "null");
    set_up();
    (void)say(newest);
    check_next("\"resultType\":\"complete\"");
    (void)say(without);
    check_next("\"id\":1,\"error\":{\"code\":-32602,");
    (void)say(unknown);
    check_next("\"code\":-32022");
    (void)say(stateful);
    check_next("\"code\":-32601");
    (void)say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}");
    check_next("\"code\":-32601");
    take_down();
}

#define SUBSCRIBE "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"resources/%s\",\"params\":{\"uri\":\"sandbox://%s\"}}"

static void subscribe(int id, const char *verb, const char *address)
{
    CLEANUP(free_p) char *text = xasprintf(SUBSCRIBE, id, verb, address);
    (void)say(text);
}

TEST(a_subscription_is_one_stream_that_no_request_waits_for)
{
    JSON_OWNED event = json_pack("{s:s, s:s}", "topic", "sandbox.paused", "sandboxId", "sbx_a");
    JSON_OWNED other = json_pack("{s:s, s:s}", "topic", "sandbox.killed", "sandboxId", "sbx_ab");
    set_up();
    subscribe(1, "subscribe", "sbx_a");
    check_next("\"code\":-32000"); /* nobody takes its notifications */
    mcp_session_on_notes(session, &(struct mcp_session_sink){ .send = on_send, .arg = &heard });
    subscribe(2, "subscribe", "sbx_a");
    check_next("\"id\":2,\"result\":{}");
    subscribe(3, "subscribe", "sbx_a/logs");
    check_next("\"id\":3,\"result\":{}");
    CHECK_INT(fake.n, 1);
    CHECK_INT(mcp_session_running(session), 0);
    fakeback_event(&fake, other);
    fakeback_event(&fake, event);
    check_next("\"notifications/resources/updated\",\"params\":{\"uri\":\"sandbox://sbx_a\"}");
    check_next("\"notifications/resources/updated\",\"params\":{\"uri\":\"sandbox://sbx_a/logs\"}");
    subscribe(4, "unsubscribe", "sbx_a");
    subscribe(5, "unsubscribe", "sbx_none");
    check_next("\"id\":4,\"result\":{}");
    check_next("\"id\":5,\"result\":{}");
    CHECK_INT(fake.n, 1);
    subscribe(6, "unsubscribe", "sbx_a/logs");
    check_next("\"id\":6,\"result\":{}");
    CHECK_INT(fake.n, 0);
    subscribe(7, "subscribe", "sbx_a");
    check_next("\"id\":7,\"result\":{}");
    answer(200, "null"); /* the server ends the stream: a later subscription begins another */
    subscribe(8, "subscribe", "sbx_a");
    check_next("\"id\":8,\"result\":{}");
    CHECK_INT(fake.n, 1);
    take_down();
}

TEST(operations_become_requests)
{
    JSON_OWNED params = json_pack("{s:s, s:i, s:b, s:{s:s}}", "id", "a/b c", "tail", 5, "follow", 0, "x", "k", "v");
    const struct op *logs = &spec_ops[OP_ID_stream_logs], *run = &spec_ops[OP_ID_cmd_run];
    CLEANUP(free_p) char *path = mcp_path_of(run, params, "sandbox"), *query = mcp_path_with_query(logs, params, "p");
    CHECK_STR(path, "/sandbox/sandboxes/a%2Fb%20c/exec");
    CHECK_STR(query, "/p/sandboxes/a%2Fb%20c/stream/logs?tail=5&follow=false");
    JSON_OWNED body = mcp_path_body(run, params);
    CHECK_INT(json_object_size(body), 3);
    JSON_OWNED rest = mcp_path_body(logs, params); /* what cannot stand in a query */
    CHECK_INT(json_object_size(rest), 1);
    JSON_OWNED none = mcp_path_body(&spec_ops[OP_ID_sandbox_get], json_object_get(params, "none"));
    CHECK(none == NULL);
}

TEST(pages_of_foreign_origins_are_refused)
{
    static const char *const good[] = { "http://localhost", "https://LOCALHOST:1", "http://127.0.0.1:99999",
                                        "http://[::1]:80", "https://a.example" };
    static const char *const bad[] = { "",
                                       "null",
                                       "http://localhost.evil",
                                       "http://localhost:1@evil",
                                       "localhost",
                                       "ftp://localhost",
                                       "https://a.example.evil",
                                       "https://a.exampl",
                                       "*",
                                       "http://127.0.0.1:80x" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK(mcp_http_allows(good[i], "https://b.example ,https://a.example"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!mcp_http_allows(bad[i], "https://b.example, https://a.example"));
    CHECK(mcp_http_allows(NULL, "") && mcp_http_allows("https://any.example", "https://b.example,*"));
}

int main(void)
{
    RUN(an_answer_comes_once_and_the_end_after_it);
    RUN(what_is_cancelled_is_dropped_and_not_answered);
    RUN(who_leaves_hears_nothing_more);
    RUN(ids_are_taken_while_their_request_runs);
    RUN(the_number_of_requests_is_bounded);
    RUN(progress_is_told_to_who_asked);
    RUN(a_batch_is_answered_as_one);
    RUN(a_request_may_say_its_own_version);
    RUN(a_subscription_is_one_stream_that_no_request_waits_for);
    RUN(operations_become_requests);
    RUN(pages_of_foreign_origins_are_refused);
    return tap_done();
}
