/* The parts of the library without a server, and its transport against servers that misbehave on purpose. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base64.h"
#include "check.h"
#include "sse.h"
#include "tables.h"

#define SANDBOX                                                                                                \
    "{\"id\":\"sbx_1\",\"name\":\"n\",\"image\":\"i\",\"status\":\"running\",\"createdAt\":1,\"expiresAt\":2," \
    "\"config\":{\"image\":\"i\"},\"metadata\":{}}"
#define ANSWERS_MAX 4

/* base64 */

static void bytes_survive_base64(void)
{
    unsigned char data[256], back[258];
    char text[BASE64_SIZE(256)];

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)i;
    for (size_t size = 0; size <= sizeof(data); size++) {
        iii_base64_encode(data, size, text);
        CHECK(iii_base64_decode(text, strlen(text), back) == (long)size && memcmp(data, back, size) == 0);
    }
    const char *const bad[] = { "A", "AB=", "A===", "====", "AB=C", "AAA*", "AA==AAAA", "AAA\n" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        CHECK(iii_base64_decode(bad[i], strlen(bad[i]), back) == -1);
}

/* Events */

static int collect(const char *data, size_t size, void *arg, struct iii_error *err)
{
    struct text *seen = arg;
    (void)err;
    iii_text_add(seen, data, size);
    iii_text_add(seen, "|", 1);
    return size == 4 && memcmp(data, "stop", 4) == 0 ? SINK_LEAVE : 0;
}

static void events_are_found_however_they_are_cut(void)
{
    static const char stream[] = "data: 1\n\n: ping\nid: 7\ndata:2\r\n\ndata: \n\ndatum: x\ndata: 3";
    for (size_t cut = 1; cut < sizeof(stream); cut++) {
        struct text seen = { 0 };
        struct sse s;
        iii_sse_init(&s, collect, &seen);
        for (size_t at = 0; at < strlen(stream); at += cut)
            CHECK(iii_sse_feed(&s, stream + at, strlen(stream) - at < cut ? strlen(stream) - at : cut, NULL) == 0);
        CHECK(iii_sse_end(&s, NULL) == 0);
        CHECK_TEXT(seen.data, "1|2|3|");
        iii_sse_done(&s);
        iii_text_done(&seen);
    }
}

static void a_reader_can_leave_and_a_line_has_an_end(void)
{
    struct iii_error err = { 0 };
    struct text seen = { 0 }, junk = { 0 };
    struct sse s;

    iii_sse_init(&s, collect, &seen);
    CHECK(iii_sse_feed(&s, "data: stop\ndata: never\n", 23, NULL) == SINK_LEAVE);
    CHECK_TEXT(seen.data, "stop|");
    iii_sse_done(&s);
    iii_text_done(&seen);

    char *block = calloc(1, 1 << 20);
    int e = 0;
    iii_sse_init(&s, collect, &junk);
    for (int i = 0; block && i < 70 && e == 0; i++)
        e = iii_sse_feed(&s, block, 1 << 20, &err);
    CHECK(e == III_PROTOCOL);
    free(block);
    iii_sse_done(&s);
    iii_text_done(&junk);
}

/* Tables */

static int decode(const struct table_type *type, const char *text, void **ret, struct iii_error *err)
{
    return iii_table_decode(type, json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL), ret, err);
}

static void answers_become_structs(void)
{
    struct iii_exec_result *r = NULL;
    struct iii_pool_status *p = NULL;
    struct iii_path_list *l = NULL;

    CHECK(
        decode(
            &iii_type_exec_result,
            "{\"exitCode\":3,\"stdout\":\"a\\u0000b\",\"stderr\":\"\",\"duration\":1.0,\"oomKilled\":true,\"new\":[]}",
            (void **)&r, NULL) == 0);
    CHECK(r->exit_code == 3 && r->stdout_len == 3 && memcmp(r->stdout_, "a\0b", 4) == 0);
    CHECK(r->oom_killed && *r->oom_killed && !r->user_ms && r->duration == 1);
    iii_free(r);
    CHECK(decode(&iii_type_pool_status, "{\"total\":2,\"ready\":1,\"by_profile\":{\"x\":1}}", (void **)&p, NULL) == 0);
    CHECK(p->by_profile_count == 1 && p->by_profile[0].value == 1);
    CHECK_TEXT(p->by_profile[0].name, "x");
    iii_free(p);
    CHECK(decode(&iii_type_path_list, "[\"/a\",\"/b\"]", (void **)&l, NULL) == 0);
    CHECK(l->items_count == 2);
    CHECK_TEXT(l->items[1], "/b");
    iii_free(l);
}

static void one_answer_or_a_list(void)
{
    static const char file[] =
        "{\"path\":\"/f\",\"size\":1,\"permissions\":\"-\",\"owner\":\"o\",\"group\":\"g\",\"isDirectory\":false,"
        "\"isSymlink\":false,\"modifiedAt\":2}";
    struct iii_file_info_reply *one = NULL, *none = NULL;

    CHECK(decode(&iii_type_file_info_reply, file, (void **)&one, NULL) == 0);
    CHECK(one->items_count == 1 && !one->is_list);
    CHECK_TEXT(one->items[0].path, "/f");
    CHECK(decode(&iii_type_file_info_reply, "[]", (void **)&none, NULL) == 0);
    CHECK(none->items_count == 0 && none->is_list);
    iii_free(one);
    iii_free(none);
}

static void what_is_not_as_described_is_refused(void)
{
    static const char *const bad[] = {
        "[]",
        "null",
        "7",
        "{}",
        "{\"exitCode\":\"3\",\"stdout\":\"\",\"stderr\":\"\",\"duration\":1}",
        "{\"exitCode\":3,\"stdout\":null,\"stderr\":\"\",\"duration\":1}",
        "{\"exitCode\":3,\"stdout\":[],\"stderr\":\"\",\"duration\":1}",
        "{\"exitCode\":3,\"stdout\":\"\",\"stderr\":\"\",\"duration\":1,\"oomKilled\":1}"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct iii_error err = { 0 };
        void *r = NULL;
        CHECK(decode(&iii_type_exec_result, bad[i], &r, &err) == III_PROTOCOL && !r && err.message[0] != '\0');
    }
}

/* A server with prepared answers */

struct fake {
    int fd, count;
    const char *answers[ANSWERS_MAX]; /* NULL: none, the connection stays open for a second */
    char requests[ANSWERS_MAX][4096];
    pthread_t thread;
    char url[64];
};

static bool is_complete(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");
    const char *length = strstr(request, "Content-Length: ");
    return end && strlen(end + 4) >= (length ? strtoul(length + 16, NULL, 10) : 0);
}

static void *serve(void *arg)
{
    struct fake *f = arg;
    for (int i = 0; i < f->count; i++) {
        int fd = accept(f->fd, NULL, NULL);
        size_t have = 0;
        ssize_t n = 1;
        while (n > 0 && !is_complete(f->requests[i])) {
            n = read(fd, f->requests[i] + have, sizeof(f->requests[i]) - 1 - have);
            have += n > 0 ? (size_t)n : 0;
        }
        if (!f->answers[i])
            sleep(1);
        else if (write(fd, f->answers[i], strlen(f->answers[i])) < 0)
            perror("write");
        close(fd);
    }
    shutdown(f->fd, SHUT_RDWR); /* one request more than expected is refused, and does not wait */
    return NULL;
}

static void start(struct fake *f)
{
    struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(where);

    f->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(f->fd, (struct sockaddr *)&where, size) == 0 && listen(f->fd, 8) == 0);
    CHECK(getsockname(f->fd, (struct sockaddr *)&where, &size) == 0);
    snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d//", ntohs(where.sin_port));
    CHECK(pthread_create(&f->thread, NULL, serve, f) == 0);
}

static void stop(struct fake *f)
{
    pthread_join(f->thread, NULL);
    close(f->fd);
}

#define OK_SANDBOX "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" SANDBOX
#define BUSY       "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 19\r\n\r\n{\"error\":\"no room\"}"

static iii_client *client_of(const struct fake *f, int timeout_ms)
{
    iii_client *client = NULL;
    struct iii_config config = { .base_url = f->url, .token = "secret", .timeout_ms = timeout_ms };
    CHECK(iii_client_new(&config, &client, NULL) == 0);
    return client;
}

static void only_what_was_given_is_sent(void)
{
    struct fake f = { .count = 3, .answers = { OK_SANDBOX, OK_SANDBOX, OK_SANDBOX } };
    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 0);
    const struct iii_sandbox_create_options asked[] = {
        { 0 }, { .template_ = "python-data" }, { .image = "mine", .template_ = "python-data", .memory = III_INT(64) }
    };
    for (int i = 0; i < 3; i++) {
        iii_sandbox *box = NULL;
        CHECK(iii_create(client, i == 0 ? NULL : &asked[i], &box, NULL) == 0);
        CHECK_TEXT(iii_sandbox_id(box), "sbx_1");
        iii_release(box);
    }
    stop(&f);
    CHECK(strncmp(f.requests[0], "POST /sandbox/sandboxes HTTP/1.1\r\n", 34) == 0);
    CHECK(strstr(f.requests[0], "Authorization: Bearer secret\r\n") != NULL);
    CHECK_TEXT(strstr(f.requests[0], "\r\n\r\n"), "\r\n\r\n");
    CHECK_TEXT(strstr(f.requests[1], "\r\n\r\n"), "\r\n\r\n{\"template\":\"python-data\"}");
    CHECK_TEXT(strstr(f.requests[2], "\r\n\r\n"),
               "\r\n\r\n{\"image\":\"mine\",\"memory\":64,\"template\":\"python-data\"}");
}

static void a_read_is_tried_again_and_a_change_is_not(void)
{
    struct fake f = { .count = 4, .answers = { BUSY, "", OK_SANDBOX, BUSY } };
    struct iii_error err = { 0 };
    iii_sandbox *box = NULL;

    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 0);
    CHECK(iii_connect(client, "sbx_1", &box, &err) == 0);
    iii_release(box);
    CHECK(iii_create(client, NULL, &box, &err) == III_NO_CAPACITY && !box);
    CHECK(err.code == 503 && err.status == 503);
    CHECK(strncmp(err.message, f.url, strlen(f.url) - 2) == 0);
    CHECK_TEXT(err.message + strlen(f.url) - 2, ": no room");
    CHECK_TEXT(iii_code_name(err.code), "no_capacity");
    stop(&f);
}

static void a_change_with_a_key_is_tried_again(void)
{
    struct fake f = { .count = 2, .answers = { BUSY, OK_SANDBOX } };
    iii_sandbox *box = NULL;

    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 0);
    CHECK(iii_create(client, &(struct iii_sandbox_create_options){ .idempotency_key = "once-7" }, &box, NULL) == 0);
    iii_release(box);
    stop(&f);
    for (int i = 0; i < 2; i++)
        CHECK(strstr(f.requests[i], "Idempotency-Key: once-7\r\n") != NULL);
}

static void silence_ends_after_the_time(void)
{
    struct fake f = { .count = 1, .answers = { NULL } };
    struct iii_error err = { 0 };
    iii_sandbox *box = NULL;

    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 200);
    CHECK(iii_connect(client, "sbx_1", &box, &err) == III_DEADLINE && !box);
    stop(&f);
}

static int count_events(const struct iii_exec_stream_chunk *event, void *arg)
{
    (void)event;
    ++*(int *)arg;
    return 0;
}

static void a_stream_that_breaks_off_says_so(void)
{
    struct fake
        f = { .count = 1,
              .answers = {
                  "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\ndata: {\"type\":\"stdout\",\"timestamp\":1}\n\n" } };
    struct iii_error err = { 0 };
    iii_sandbox *box = NULL;
    int seen = 0;

    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 0);
    CHECK(iii_handle(client, "a/../b?c", &box, NULL) == 0);
    CHECK(iii_cmd_run_stream(box, III_SHELL("true"), NULL, count_events, &seen, &err) == III_CONNECTION && seen == 1);
    iii_release(box);
    stop(&f);
    CHECK(strncmp(f.requests[0], "POST /sandbox/sandboxes/a%2F..%2Fb%3Fc/exec/stream HTTP", 54) == 0);
}

static void what_cannot_be_sent_is_refused_before(void)
{
    struct iii_error err = { 0 };
    iii_client *client = NULL;
    iii_sandbox *box = NULL, *none = NULL;

    CHECK(iii_client_new(&(struct iii_config){ .base_url = "ftp://x" }, &client, &err) == III_ARGUMENT && !client);
    CHECK(iii_client_new(NULL, &client, NULL) == 0);
    CHECK(iii_connect(client, "..", &box, &err) == III_ARGUMENT && !box);
    CHECK(iii_handle(client, "sbx_1", &box, NULL) == 0);
    CHECK(iii_exec(box, NULL, NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_exec(box, "\xff", NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_exec(NULL, "true", NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_run_code(box, NULL, NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_run_code(box, "1", &(struct iii_code_options){ .language = "bash", .timeout_s = 1 }, NULL, &err) ==
          III_ARGUMENT);
    CHECK(iii_upload(box, "f", NULL, NULL, NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_download(box, "f", NULL, NULL, NULL, NULL, &err) == III_ARGUMENT);
    CHECK(iii_download_fd(box, "f", 1, &(struct iii_download_options){ .offset = -1 }, NULL, &err) == III_ARGUMENT);
    CHECK(iii_connect_or_create(client, "", NULL, &none, &err) == III_ARGUMENT && !none);
    CHECK(iii_fs_read(box, NULL, NULL, &err) == III_ARGUMENT);
    iii_release(box);
    iii_client_free(client);
    iii_free(NULL);
    iii_release(NULL);
    iii_client_free(NULL);
    iii_tty_free(NULL);
}

/* Settings and secrets */

static void settings_come_from_the_environment(void)
{
    struct fake f = { .count = 3, .answers = { OK_SANDBOX, OK_SANDBOX, OK_SANDBOX } };

    start(&f);
    setenv("III_SANDBOX_URL", f.url, 1);
    setenv("III_AUTH_TOKEN", "second", 1);
    for (int i = 0; i < 3; i++) {
        iii_sandbox *box = NULL, *other = NULL;
        III_AUTO_CLIENT iii_client *client = NULL;
        if (i == 1)
            setenv("III_SANDBOX_TOKEN", "first", 1);
        if (i == 2)
            CHECK(iii_client_new(&(struct iii_config){ .token = "" }, &client, NULL) == 0);
        CHECK(iii_connect(client, "box", &box, NULL) == 0); /* client is NULL: the sandbox has its own */
        CHECK(iii_handle(iii_sandbox_client(box), "other", &other, NULL) == 0);
        iii_release(box);
        iii_release(other); /* the client lives as long as the last of its sandboxes */
    }
    unsetenv("III_SANDBOX_URL");
    unsetenv("III_AUTH_TOKEN");
    unsetenv("III_SANDBOX_TOKEN");
    stop(&f);
    CHECK(strstr(f.requests[0], "Authorization: Bearer second\r\n") != NULL);
    CHECK(strstr(f.requests[1], "Authorization: Bearer first\r\n") != NULL);
    CHECK(strstr(f.requests[2], "Authorization") == NULL);
}

/* Whatever goes wrong, the message names the address that was tried, and not the token. */
static void failures_name_the_address_and_no_token(void)
{
    struct fake f = { .count = 2, .answers = { BUSY, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnot JSON" } };
    const struct iii_config bad[] = { { .base_url = "http://user:secret@localhost:1" },
                                      { .base_url = "secret" },
                                      { .token = "sec\r\nX: ret" } };
    struct iii_error err = { 0 };
    iii_sandbox *box = NULL;
    iii_client *none = NULL;

    start(&f);
    III_AUTO_CLIENT iii_client *client = client_of(&f, 0);
    size_t address = strlen(f.url) - 2;
    for (int i = 0; i < 3; i++) {
        const int wanted[] = { III_NO_CAPACITY, III_PROTOCOL, III_CONNECTION };
        if (i == 2)
            stop(&f); /* from now on nobody listens */
        CHECK(iii_create(client, NULL, &box, &err) == wanted[i] && !box);
        CHECK(strncmp(err.message, f.url, address) == 0);
        CHECK(strstr(err.message, "secret") == NULL);
    }
    CHECK(strstr(err.message, "iii serve") != NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CHECK(iii_client_new(&bad[i], &none, &err) == III_ARGUMENT && !none);
        CHECK(strstr(err.message, "sec") == NULL);
    }
}

int main(void)
{
    bytes_survive_base64();
    events_are_found_however_they_are_cut();
    a_reader_can_leave_and_a_line_has_an_end();
    answers_become_structs();
    one_answer_or_a_list();
    what_is_not_as_described_is_refused();
    only_what_was_given_is_sent();
    a_read_is_tried_again_and_a_change_is_not();
    a_change_with_a_key_is_tried_again();
    silence_ends_after_the_time();
    a_stream_that_breaks_off_says_so();
    what_cannot_be_sent_is_refused_before();
    settings_come_from_the_environment();
    failures_name_the_address_and_no_token();
    return check_result();
}
