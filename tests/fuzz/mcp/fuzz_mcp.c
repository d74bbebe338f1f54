/* A conversation, one line each: messages of a client (in turns by two senders), "=STATUS JSON" for the server's answer
 * to the oldest operation, "+JSON" for an event of it, "~" for a second that passes, "-" for a sender that leaves. Each
 * sender hears its end once and nothing after it; nothing of a sender that left goes on. */
#include "../feed.h"

#include "../../unit/mcp/fakeback.h"
#include "base/json.h"
#include "mcp/mcp_http.h"
#include "mcp/mcp_session_core.h"

#define LINES_MAX 64

struct sender {
    struct mcp_exchange *exchange; /* while it waits */
    bool is_waiting, has_ended;
};

static void on_send(void *arg, const json_t *message)
{
    struct sender *s = arg;
    CLEANUP(free_p) char *text = json_write(message, NULL);
    JSON_OWNED again = NULL;
    MUST(!s->has_ended);
    MUST(json_read(text, strlen(text), &again, NULL) == 0 && (json_is_object(again) || json_is_array(again)));
}

static void on_end(void *arg)
{
    struct sender *s = arg;
    MUST(!s->has_ended);
    s->has_ended = true;
    s->is_waiting = false;
    s->exchange = NULL;
}

static void take(struct mcp_session *session, struct sender *s, const char *text)
{
    JSON_OWNED message = NULL;
    if (s->is_waiting || json_read(text, strlen(text), &message, NULL) < 0)
        return;
    const struct mcp_session_sink sink = { .send = on_send, .end = on_end, .arg = s };
    *s = (struct sender){ .is_waiting = true };
    s->exchange = mcp_session_take(session, message, &sink);
    MUST((s->exchange == NULL) == s->has_ended);
}

static void leave(struct sender *s)
{
    if (s->exchange)
        mcp_session_leave(s->exchange);
    *s = (struct sender){ .has_ended = true };
}

/* "=404 {…}" */
static void answer(struct fakeback *f, const char *text)
{
    char *end = NULL;
    long status = strtol(text, &end, 10);
    JSON_OWNED body = NULL;
    if (!f->n || status < 0 || status > 599 || json_read(end, strlen(end), &body, NULL) < 0)
        return;
    fakeback_answer(f, (int)status, body);
}

static void event(struct fakeback *f, const char *text)
{
    JSON_OWNED value = NULL;
    if (f->n && spec_ops[f->calls[0]->op].flags & OP_STREAM && json_read(text, strlen(text), &value, NULL) == 0)
        fakeback_event(f, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    CLEANUP(loop_free_p) struct loop *loop = NULL;
    struct fakeback f;
    struct sender senders[2] = { { .has_ended = true }, { .has_ended = true } };
    CLEANUP(free_p) char *text = feed_text(data, size);
    (void)mcp_http_allows(text, "https://a.example, *.b");
    MUST(loop_new(&loop, &err) == 0);
    fakeback_init(&f);
    struct mcp_session *session = mcp_session_new(loop, &f.back);
    char *rest = text, *line;
    for (unsigned i = 0; i < LINES_MAX && (line = feed_line(&rest)); i++) {
        if (*line == '=')
            answer(&f, line + 1);
        else if (*line == '+')
            event(&f, line + 1);
        else if (*line == '~')
            mcp_work_tick(session);
        else if (*line == '-')
            leave(&senders[i % 2]);
        else
            take(session, &senders[i % 2], line);
        MUST(mcp_session_running(session) == f.n);
    }
    (void)mcp_session_free(session);
    MUST(f.n == 0 && !senders[0].is_waiting && !senders[1].is_waiting);
    return 0;
}
