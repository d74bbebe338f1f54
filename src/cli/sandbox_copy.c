/* `upload` and `download` through a channel, in constant memory. struct copy is one transfer in either direction: the
 * local file, our end of the channel, the call in progress and the progress bar. An upload reads a piece, sends it and
 * stops while the socket's queue is over its mark; a download writes each frame as it arrives. The transfer has no
 * total time limit, but fails when no byte moves for a while. After a local error an upload cuts the socket instead of
 * closing it, so that the server does not mistake a partial upload for a complete one. A download that fails leaves the
 * bytes received so far and exits with 1; a size other than announced is a warning. */
#include "cli/sandbox_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/display.h"
#include "cli/engine_client.h"
#include "cli/engine_connect.h"
#include "os/write_all.h"

enum { PIECE = 65536, MARK = 1024 * 1024, SILENCE_MS = 60000, CALL_WAIT_MS = 60000 };

/* One copy, in either direction. */
struct copy {
    struct wire *w;
    struct ws *ws;       /* our end of the channel; NULL: closed */
    struct watch *watch; /* for a source that is not a regular file */
    int fd;
    const char *local, *remote, *id;
    int64_t done, size; /* size < 0: unknown */
    bool is_over, is_failed, is_json;
    char why[300];
    struct display_bar bar;
    char piece[PIECE];
};

static void close_copy(struct copy *c)
{
    display_bar_end(&c->bar);
    c->watch = watch_free(c->watch);
    if (c->ws)
        ws_drop(STEAL(c->ws));
    if (c->fd > STDERR_FILENO)
        (void)close(c->fd);
    c->fd = NO_FD;
    c->w = wire_close(c->w);
}

static int fail_local(const struct copy *c, const char *what)
{
    CLEANUP(free_p) char *text = xasprintf("%s %s: %s", what, c->local, strerror(errno));
    return engine_connect_fail_text(text);
}

/* Waits for *until as long as bytes move. */
static int wait_moving(struct copy *c, const bool *until, struct err *err)
{
    int64_t before;
    int r;
    do {
        before = c->done;
        r = wire_wait(c->w, until, SILENCE_MS, err);
    } while (r == -ETIMEDOUT && c->done != before);
    return r;
}

/* --- upload --- */

/* Sends n bytes of c->piece. False: enough for now, or the end. */
static bool send_piece(struct copy *c, ssize_t n)
{
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        c->is_failed = n < 0;
        (void)snprintf(c->why, sizeof(c->why), "%s", n < 0 ? strerror(errno) : "");
        c->watch = watch_free(c->watch);
        c->is_over = true;
        if (n == 0)
            ws_close(c->ws, 1000, "stream_complete");
        else
            ws_drop(STEAL(c->ws)); /* cut, not closed: the server must not take a partial upload for a complete one */
        if (n < 0)
            wire_wake(c->w);
        return false;
    }
    c->done += n;
    display_bar_move(&c->bar, c->done);
    return ws_send(c->ws, false, c->piece, (size_t)n) <= MARK;
}

static void pump_file(struct copy *c)
{
    while (c->ws && !c->is_over && send_piece(c, read(c->fd, c->piece, sizeof(c->piece))))
        continue;
}

static void source_event(void *arg, int events)
{
    struct copy *c = arg;
    (void)events;
    if (!c->ws || c->is_over)
        return;
    if (!send_piece(c, read(c->fd, c->piece, sizeof(c->piece))) && c->watch && !c->is_over)
        watch_set(c->watch, 0); /* on_drain continues */
}

static void upload_drain(void *arg, struct ws *ws)
{
    struct copy *c = arg;
    (void)ws;
    if (c->watch)
        watch_set(c->watch, LOOP_READ);
    else
        pump_file(c);
}

static void on_writer_message(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    (void)arg, (void)ws, (void)is_text, (void)data, (void)len; /* nothing arrives in this direction */
}

static void on_writer_end(void *arg, struct ws *ws, int code, const char *reason)
{
    struct copy *c = arg;
    (void)ws, (void)code, (void)reason;
    c->ws = NULL;
    c->watch = watch_free(c->watch);
    c->is_over = true; /* when it was too early, the call's reply says why */
    wire_wake(c->w);
}

static const struct ws_events writer_events = { .on_message = on_writer_message,
                                                .on_close = on_writer_end,
                                                .on_drain = upload_drain };

/* The first piece decides: an empty source gets no channel, because its writer would never be seen. */
static int start_flow(struct copy *c, json_t *payload, ssize_t first, struct err *err)
{
    JSON_OWNED nothing = json_object();
    CLEANUP(wire_answer_done) struct wire_answer channel = { 0 };
    struct stat st;
    int r = wire_call(c->w, "engine::channels::create", nothing, CALL_WAIT_MS, &channel, err);
    if (r < 0)
        return r;
    if (channel.error)
        return err_set(err, ERR_UPSTREAM, 0, "engine::channels::create: %.200s",
                       json_get_str(channel.error, "message", ""));
    r = wire_channel(c->w, json_get(channel.result, "writer"), &writer_events, c, &c->ws, err);
    if (r < 0)
        return r;
    (void)json_object_set(payload, "content", json_get(channel.result, "reader"));
    if (fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode))
        (void)watch_new(wire_loop(c->w), c->fd, LOOP_READ, source_event, c, &c->watch);
    if (send_piece(c, first) && !c->watch)
        pump_file(c);
    return 0;
}

static int upload_send(const struct verbs_args *a, struct copy *c)
{
    struct err err = ERR_INIT;
    const char *mode = verbs_value(a, "mode");
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    JSON_OWNED payload = json_pack("{s:o, s:o}", "sandbox_id", json_text(c->id, strlen(c->id)), "path",
                                   json_text(c->remote, strlen(c->remote)));
    ssize_t first;
    if (mode)
        (void)json_object_set_new(payload, "mode", json_text(mode, strlen(mode)));
    if (verbs_value(a, "parents"))
        (void)json_object_set_new(payload, "parents", json_true());
    do
        first = read(c->fd, c->piece, sizeof(c->piece));
    while (first < 0 && errno == EINTR);
    if (first < 0)
        return fail_local(c, "read");
    if (first == 0)
        (void)json_object_set_new(payload, "content_b64", json_string(""));
    int r = first ? start_flow(c, payload, first, &err) : 0;
    if (r < 0)
        return engine_connect_fail_text(err.msg);
    wire_ask(c->w, "sandbox::fs::write", payload, NULL, &answer);
    r = wait_moving(c, &answer.is_there, &err);
    display_bar_end(&c->bar);
    wire_forget(c->w, &answer);
    if (c->is_failed || r < 0)
        return engine_connect_fail_text(c->is_failed ? c->why : err.msg);
    if (answer.error)
        return engine_connect_fail(answer.error);
    int64_t written = json_get_int(answer.result, "bytes_written", -1);
    if (c->is_json)
        display_json(answer.result, stdout);
    else
        printf("uploaded %lld bytes to %s:%s\n", (long long)c->done, c->id, c->remote);
    if (written != c->done)
        (void)fprintf(stderr, "warning: %lld bytes were sent but %lld were written\n", (long long)c->done,
                      (long long)written);
    return 0;
}

int sandbox_copy_upload(const struct verbs_args *a)
{
    struct copy c = { .fd = STDIN_FILENO, .id = a->words[0], .local = a->words[1], .remote = a->words[2], .size = -1 };
    struct stat st;
    c.is_json = verbs_value(a, "json") != NULL;
    if (strcmp(c.local, "-") != 0) {
        c.fd = open(c.local, O_RDONLY | O_CLOEXEC);
        if (c.fd < 0)
            return fail_local(&c, "open");
    }
    if (fstat(c.fd, &st) == 0 && S_ISREG(st.st_mode))
        c.size = st.st_size;
    display_bar_start(&c.bar, "uploading", c.size);
    int r = engine_connect_open(a, &c.w);
    r = r ? r : upload_send(a, &c);
    close_copy(&c);
    return r;
}

/* --- download --- */

static void fail_sink(struct copy *c, const char *why)
{
    c->is_failed = true;
    (void)snprintf(c->why, sizeof(c->why), "%s", why);
    c->is_over = true;
    if (c->ws)
        ws_close(c->ws, 1000, "");
    wire_wake(c->w);
}

static void download_data(void *arg, struct ws *ws, bool is_text, const char *data, size_t len)
{
    struct copy *c = arg;
    (void)ws;
    if (c->is_over)
        return;
    if (is_text) { /* the server stopped early because of an error */
        JSON_OWNED trouble = NULL;
        char why[280];
        if (json_read(data, len, &trouble, NULL) < 0 || !json_get(trouble, "error"))
            return;
        (void)snprintf(why, sizeof(why), "[%.10s] %.250s",
                       json_get_str(trouble, "code", json_get_str(trouble, "error", "S216")),
                       json_get_str(trouble, "message", "the download was interrupted"));
        fail_sink(c, why);
        return;
    }
    int r = write_all_write(c->fd, data, len);
    if (r < 0) {
        fail_sink(c, strerror(-r));
        return;
    }
    c->done += (int64_t)len;
    display_bar_move(&c->bar, c->done);
}

static void on_content_end(void *arg, struct ws *ws, int code, const char *reason)
{
    struct copy *c = arg;
    (void)ws, (void)code, (void)reason;
    c->ws = NULL;
    c->is_over = true;
    wire_wake(c->w);
}

static const struct ws_events reader_events = { .on_message = download_data, .on_close = on_content_end };

/* To LOCAL, or to the file of the same name in the folder LOCAL. */
static int download_to(struct copy *c, const json_t *result)
{
    struct err err = ERR_INIT;
    struct stat st;
    const char *slash = strrchr(c->remote, '/');
    bool is_stdout = strcmp(c->local, "-") == 0, is_folder = stat(c->local, &st) == 0 && S_ISDIR(st.st_mode);
    CLEANUP(free_p)
    char *target = is_folder ? xasprintf("%s/%s", c->local, slash ? slash + 1 : c->remote) : xstrdup(c->local);
    c->local = target;
    c->fd = is_stdout ? STDOUT_FILENO : open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (c->fd < 0)
        return fail_local(c, "open");
    c->size = json_get_int(result, "size", -1);
    display_bar_start(&c->bar, "downloading", c->size);
    int r = wire_channel(c->w, json_get(result, "content"), &reader_events, c, &c->ws, &err);
    if (r == 0)
        r = wait_moving(c, &c->is_over, &err);
    display_bar_end(&c->bar);
    if (r < 0 || c->is_failed)
        return engine_connect_fail_text(r < 0 ? err.msg : c->why);
    if (c->size >= 0 && c->done != c->size)
        (void)fprintf(stderr, "warning: the file has %lld bytes but %lld were received\n", (long long)c->size,
                      (long long)c->done);
    JSON_OWNED said = json_pack("{s:I, s:s}", "bytes", (json_int_t)c->done, "path", target);
    if (!is_stdout && c->is_json)
        display_json(said, stdout);
    else if (!is_stdout)
        printf("downloaded %lld bytes to %s\n", (long long)c->done, target);
    return 0;
}

int sandbox_copy_download(const struct verbs_args *a)
{
    struct copy c = { .fd = NO_FD, .id = a->words[0], .remote = a->words[1], .local = a->words[2], .size = -1 };
    struct err err = ERR_INIT;
    CLEANUP(wire_answer_done) struct wire_answer answer = { 0 };
    c.is_json = verbs_value(a, "json") != NULL;
    int r = engine_connect_open(a, &c.w);
    if (r != 0)
        return r;
    JSON_OWNED payload = json_pack("{s:o, s:o}", "sandbox_id", json_text(c.id, strlen(c.id)), "path",
                                   json_text(c.remote, strlen(c.remote)));
    if (wire_call(c.w, "sandbox::fs::read", payload, CALL_WAIT_MS, &answer, &err) < 0)
        r = engine_connect_fail_text(err.msg);
    else
        r = answer.error ? engine_connect_fail(answer.error) : download_to(&c, answer.result);
    close_copy(&c);
    return r;
}
