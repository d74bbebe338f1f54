/* Runs the calls of tests/contract through the library: one JSON request on each line of stdin, one answer on each line
 * of stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

#define TALK_MS 30000

static json_t *operations(void)
{
    json_t *names = json_pack("[s]", "terminal_talk");
    for (const struct dispatch *d = dispatch_table; d->name; d++)
        if (d == dispatch_table || strcmp(d->name, d[-1].name) != 0)
            json_array_append_new(names, json_string(d->name));
    return names;
}

/* Reads until the output holds a text, or the terminal ends. */
static int read_until(iii_tty *tty, const char *wanted, bool *found, struct iii_error *err)
{
    char seen[65536] = "";
    size_t have = 0, got = 0;

    while (have < sizeof(seen) - 1) {
        int e = iii_tty_read(tty, seen + have, sizeof(seen) - 1 - have, TALK_MS, &got, err);
        if (e != 0)
            return e;
        have += got;
        seen[have] = '\0';
        *found = strstr(seen, wanted) != NULL;
        if (*found || got == 0)
            return 0;
    }
    return iii_fail(err, III_PROTOCOL, 0, "the terminal shows more than %zu bytes, but not \"%s\"", sizeof(seen),
                    wanted);
}

static int talk(struct args *a)
{
    III_AUTO_TTY iii_tty *tty = NULL;
    const char *input = args_text(a, "input");
    bool found = false;

    int e = iii_tty_open(a->sandbox, NULL, &tty, a->err);
    if (e == 0)
        e = iii_tty_send(tty, input, strlen(input), a->err);
    if (e == 0)
        e = read_until(tty, args_text(a, "until"), &found, a->err);
    if (e == 0 && found)
        e = iii_terminal_close(a->sandbox, iii_tty_session(tty), NULL, a->err);
    a->answer = e == 0 ? json_pack("{s:b}", "found", found) : NULL;
    return e;
}

/* As a user creates one: with the library's default image. */
static int create(struct args *a)
{
    struct iii_sandbox_create_options options = { 0 };
    iii_sandbox *box = NULL;

    args_options(a, &iii_type_sandbox_create_options, &options);
    options.idempotency_key = args_key(a);
    int e = iii_create(a->client, &options, &box, a->err);
    if (e == 0)
        a->answer = iii_table_encode(&iii_type_sandbox_info, iii_sandbox_details(box), IN_BODY);
    iii_release(box);
    return e;
}

static int run(struct args *a, const char *op, bool wants_stream)
{
    const struct dispatch *found = NULL;
    for (const struct dispatch *d = dispatch_table; d->name; d++)
        if (strcmp(d->name, op) == 0 && (!found || d->streams == wants_stream))
            found = d;
    if (strcmp(op, "terminal_talk") == 0)
        return talk(a);
    if (strcmp(op, "sandbox_create") == 0)
        return create(a);
    if (!found)
        return iii_fail(a->err, III_ARGUMENT, 0, "there is no operation \"%s\"", op);
    if (found->streams)
        a->answer = json_array();
    return found->run(a);
}

static iii_client *connect_as(const json_t *request, struct iii_error *err)
{
    const char *token = json_string_value(json_object_get(request, "token"));
    struct iii_config config = { .base_url = getenv("III_URL"),
                                 .token = token ? token : getenv("III_TOKEN"),
                                 .ca_file = getenv("III_CA_FILE") };
    iii_client *client = NULL;

    iii_client_new(&config, &client, err);
    return client;
}

/* What the server said, as the other SDKs have it apart from its address. */
static const char *said(const struct iii_error *err)
{
    size_t size = strlen(getenv("III_URL"));
    bool has_address = strncmp(err->message, getenv("III_URL"), size) == 0 && err->message[size] == ':';
    return has_address ? err->message + size + 2 : err->message;
}

static json_t *answer(const json_t *request)
{
    struct iii_error err = { 0 };
    const char *op = json_string_value(json_object_get(request, "op"));
    III_AUTO_CLIENT iii_client *client = connect_as(request, &err);
    struct args a = { .client = client, .given = json_object_get(request, "args"), .err = &err };

    if (!client || !op)
        return json_pack("{s:{s:s, s:n, s:s}}", "error", "code", iii_code_name(err.code), "status", "message",
                         err.message);
    if (strcmp(op, "operations") == 0)
        return json_pack("{s:o}", "ok", operations());
    json_t *none = a.given ? NULL : json_object();
    if (none)
        a.given = none;
    if (json_object_get(a.given, "id"))
        iii_handle(client, args_text(&a, "id"), &a.sandbox, &err);
    a.take = (size_t)json_integer_value(json_object_get(request, "take"));
    int e = run(&a, op, json_is_true(json_object_get(request, "stream")));
    json_t *out = e == 0 ? json_pack("{s:O}", "ok", a.answer)
                         : json_pack("{s:{s:s, s:i, s:s}}", "error", "code", iii_code_name(e), "status", err.status,
                                     "message", said(&err));
    args_done(&a);
    json_decref(none);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        json_t *request = json_loads(line, JSON_ALLOW_NUL, NULL);
        json_t *out = answer(request);
        char *text = json_dumps(out, JSON_COMPACT);
        printf("%s\n",
               text ? text
                    : "{\"error\":{\"code\":\"protocol\",\"status\":0,\"message\":\"no answer could be made\"}}");
        fflush(stdout);
        free(text);
        json_decref(out);
        json_decref(request);
    }
    free(line);
    return 0;
}
