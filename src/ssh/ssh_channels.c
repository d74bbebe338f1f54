/* Theory of operation. A struct channel joins an ssh_channel and an ssh_stream. Callbacks of libssh only note what the
 * client asked for (pty, env) and, at exec, shell or subsystem, open the stream and queue the plan as its first
 * message. pump() then moves bytes: stream → out[] → client within the client's window and only while libssh has sent
 * what it has; client → stream while the stream's buffer is short. The server tells the exit as the last message; it is
 * passed on when out[] is empty, and the channel is closed. A client that closes first closes the stream, and the
 * server kills the command. */
#include "ssh/ssh_channels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/list.h"

enum {
    EXIT_OURS = 255, /* not the command's: SSH's own */
    TUNNEL_MS = 20000,
    TURN_BYTES = 262144, /* to the client in one turn */
    COLS_MAX = 1000,
    COMMAND_MAX = 1 << 20,
};

/* What a login does: the user's shell, as a login shell. */
#define LOGIN_SHELL "for s in \"$SHELL\" /bin/bash; do [ -x \"$s\" ] && exec \"$s\" -l; done; exec /bin/sh -l"

struct channel {
    struct channel *next;
    struct ssh_channels *set;
    ssh_channel ssh;
    struct ssh_channel_callbacks_struct callbacks;
    struct ssh_stream stream;
    bool is_tunnel, is_started, has_eof, has_pty, is_over, has_more;
    int exit_code;
    int cols, rows;
    struct buf out[2]; /* for the client: standard output and standard error */
    json_t *env;
    size_t env_bytes;
};

struct ssh_channels {
    ssh_session session;
    const struct ssh_channels_place *place;
    struct channel *all;
    unsigned n;
    bool has_news; /* a packet of the client came in since the last turn began */
};

static struct channel *channel_add(struct ssh_channels *set)
{
    struct channel *c = xzalloc(sizeof(*c));
    *c = (struct channel){ .set = set,
                           .stream = { .fd = NO_FD },
                           .out = { BUF_INIT(SSH_STREAM_FULL * 16), BUF_INIT(SSH_STREAM_FULL * 16) },
                           .env = json_object() };
    c->next = set->all;
    set->all = c;
    set->n++;
    return c;
}

static void channel_end(struct channel *c)
{
    struct ssh_channels *set = c->set;
    LIST_TAKE(set->all, c);
    set->n--;
    ssh_stream_close(&c->stream);
    if (c->ssh)
        libssh.channel_free(c->ssh); /* sends the close, if that was not done */
    buf_done(&c->out[0]);
    buf_done(&c->out[1]);
    json_decref(c->env);
    free(c);
}

/* --- what a client asks for --- */

static void send_json(struct channel *c, json_t *message)
{
    size_t len;
    CLEANUP(free_p) char *text = message ? json_write(message, &len) : NULL;
    if (text)
        (void)ssh_stream_message(&c->stream, true, text, len); /* full: a resize or signal is lost */
    json_decref(message);
}

static int start(struct channel *c, json_t *plan)
{
    const struct ssh_channels_place *place = c->set->place;
    if (c->is_started || !plan) {
        json_decref(plan);
        return SSH_ERROR;
    }
    c->is_started = true;
    (void)json_object_set_new(plan, "stdin", json_true());
    (void)json_object_set(plan, "env", c->env);
    if (*place->login)
        (void)json_object_set_new(plan, "user", json_string(place->login));
    if (c->has_pty) {
        (void)json_object_set_new(plan, "tty", json_true());
        (void)json_object_set_new(plan, "cols", json_integer(c->cols));
        (void)json_object_set_new(plan, "rows", json_integer(c->rows));
    }
    int r = ssh_stream_open(&c->stream, &place->server, "exec/attach", true);
    if (r == 0)
        send_json(c, plan);
    else
        json_decref(plan);
    return r == 0 ? SSH_OK : SSH_ERROR;
}

static int on_exec(ssh_session s, ssh_channel ch, const char *command, void *arg)
{
    (void)s, (void)ch;
    if (strlen(command) > COMMAND_MAX)
        return SSH_ERROR;
    return start(arg, *command ? json_pack("{s:o}", "command", json_text(command, strlen(command)))
                               : json_pack("{s:s}", "command", LOGIN_SHELL));
}

static int on_shell(ssh_session s, ssh_channel ch, void *arg)
{
    (void)s, (void)ch;
    return start(arg, json_pack("{s:s}", "command", LOGIN_SHELL));
}

static int on_subsystem(ssh_session s, ssh_channel ch, const char *name, void *arg)
{
    (void)s, (void)ch;
    return strcmp(name, "sftp") == 0 ? start(arg, json_pack("{s:s}", "subsystem", "sftp")) : SSH_ERROR;
}

static int bounded(int value, int fallback)
{
    return value < 1 ? fallback : value > COLS_MAX ? COLS_MAX : value;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are libssh's */
static int on_pty(ssh_session s, ssh_channel ch, const char *term, int cols, int rows, int x, int y, void *arg)
{
    struct channel *c = arg;
    (void)s, (void)ch, (void)x, (void)y;
    if (c->is_started)
        return SSH_ERROR;
    c->has_pty = true;
    c->cols = bounded(cols, 80);
    c->rows = bounded(rows, 24);
    if (*term && strlen(term) < 64)
        (void)json_object_set_new(c->env, "TERM", json_text(term, strlen(term)));
    return SSH_OK;
}

static int on_resize(ssh_session s, ssh_channel ch, int cols, int rows, int x, int y, void *arg)
{
    struct channel *c = arg;
    (void)s, (void)ch, (void)x, (void)y;
    if (!c->has_pty || !c->is_started)
        return SSH_ERROR;
    send_json(c, json_pack("{s:s, s:i, s:i}", "type", "resize", "cols", bounded(cols, 80), "rows", bounded(rows, 24)));
    return SSH_OK;
}

static int on_env(ssh_session s, ssh_channel ch, const char *name, const char *value, void *arg)
{
    struct channel *c = arg;
    size_t len = strlen(name) + strlen(value) + 2;
    bool is_name = *name && !(*name >= '0' && *name <= '9') &&
                   strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
    (void)s, (void)ch;
    if (c->is_started || !is_name || json_object_size(c->env) >= SSH_CHANNELS_ENV_MAX ||
        c->env_bytes + len > SSH_CHANNELS_ENV_BYTES)
        return SSH_ERROR;
    c->env_bytes += len;
    (void)json_object_set_new(c->env, name, json_text(value, strlen(value)));
    return SSH_OK;
}

static void on_signal(ssh_session s, ssh_channel ch, const char *name, void *arg)
{
    struct channel *c = arg;
    (void)s, (void)ch;
    if (c->is_started && !c->is_tunnel)
        send_json(c, json_pack("{s:s, s:o}", "type", "signal", "signal", json_text(name, strlen(name))));
}

/* libssh reads packets of every channel while one is read from, so what comes is only noted here: a channel that had
 * its turn already gets another one. */
static int on_data(ssh_session s, ssh_channel ch, void *data, uint32_t len, int is_stderr, void *arg)
{
    struct channel *c = arg;
    (void)s, (void)ch, (void)data, (void)len, (void)is_stderr;
    c->set->has_news = true;
    return 0; /* it stays in libssh's buffer, which its window bounds */
}

static void on_eof(ssh_session s, ssh_channel ch, void *arg)
{
    struct channel *c = arg;
    (void)s, (void)ch;
    c->set->has_news = true;
}

static bool listen_to(struct channel *c)
{
    c->callbacks.userdata = c;
    c->callbacks.channel_data_function = on_data;
    c->callbacks.channel_eof_function = on_eof;
    c->callbacks.channel_close_function = on_eof;
    ssh_callbacks_init(&c->callbacks);
    return c->ssh && libssh.set_channel_callbacks(c->ssh, &c->callbacks) == SSH_OK;
}

ssh_channel ssh_channels_accept(struct ssh_channels *set)
{
    if (set->n >= SSH_CHANNELS_MAX)
        return NULL;
    struct channel *c = channel_add(set);
    c->callbacks = (struct ssh_channel_callbacks_struct){ .channel_exec_request_function = on_exec,
                                                          .channel_shell_request_function = on_shell,
                                                          .channel_subsystem_request_function = on_subsystem,
                                                          .channel_pty_request_function = on_pty,
                                                          .channel_pty_window_change_function = on_resize,
                                                          .channel_env_request_function = on_env,
                                                          .channel_signal_function = on_signal };
    c->ssh = libssh.channel_new(set->session);
    if (!listen_to(c)) {
        channel_end(c);
        return NULL;
    }
    return c->ssh;
}

/* Only the sandbox itself: what it may reach beyond is its egress policy's matter, and a client could use
 * a program inside. */
static bool is_here(const struct ssh_channels *set, const char *host)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "::1", "0.0.0.0", "" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(host, names[i]) == 0)
            return true;
    return strcmp(host, set->place->server.sandbox) == 0;
}

bool ssh_channels_forward(struct ssh_channels *set, ssh_message m)
{
    const char *host = libssh.message_channel_request_open_destination(m);
    int port = libssh.message_channel_request_open_destination_port(m);
    char path[32];
    if (!host || !is_here(set, host) || port < 1 || port > 65535 || set->n >= SSH_CHANNELS_MAX)
        return false;
    struct channel *c = channel_add(set);
    c->is_tunnel = c->is_started = true;
    (void)snprintf(path, sizeof(path), "tunnel?port=%d", port);
    /* libssh frees the request after this call, so it is answered now: for the time of a connect inside the sandbox,
     * the other channels of this connection wait. */
    if (ssh_stream_open(&c->stream, &set->place->server, path, false) == 0 && ssh_stream_wait(&c->stream, TUNNEL_MS))
        c->ssh = libssh.message_channel_request_open_reply_accept(m);
    if (c->ssh) {
        (void)listen_to(c); /* out of memory: it is slower, no more */
        return true;
    }
    channel_end(c);
    return false;
}

/* --- moving bytes --- */

static void take_text(struct channel *c, const char *data, size_t len)
{
    JSON_OWNED m = NULL;
    const char *type = json_read(data, len, &m, NULL) == 0 ? json_get_str(m, "type", "") : "";
    if (strcmp(type, "exit") == 0) {
        c->exit_code = (int)json_get_int(m, "code", EXIT_OURS);
        c->is_over = true;
    } else if (strcmp(type, "error") == 0) {
        (void)buf_addf(&c->out[1], "iii: %.500s\r\n", json_get_str(m, "error", "failed"));
        c->exit_code = (int)json_get_int(m, "exitCode", EXIT_OURS);
        c->is_over = true;
    }
}

static void take_message(struct channel *c, const struct ws_frame_item *item)
{
    if (item->op == WS_FRAME_TEXT)
        take_text(c, item->data, item->len);
    else if (item->op == WS_FRAME_BINARY && item->len > 1)
        (void)buf_add(&c->out[item->data[0] == 2], item->data + 1, item->len - 1); /* room for a message was checked */
}

static bool is_full(const struct channel *c)
{
    return c->out[0].len + c->out[1].len >= SSH_STREAM_FULL;
}

static void from_server(struct channel *c)
{
    struct ws_frame_item item;
    if (is_full(c))
        return;
    ssh_stream_move(&c->stream);
    if (c->is_tunnel && c->stream.is_open) {
        if (buf_add(&c->out[0], buf_text(&c->stream.in), c->stream.in.len) == 0)
            buf_clear(&c->stream.in);
    } else {
        while (!c->is_over && !is_full(c) && ssh_stream_next(&c->stream, &item))
            take_message(c, &item);
    }
    if (!c->stream.is_ended || c->is_over || (c->stream.is_open && c->stream.in.len > 0))
        return;
    c->is_over = true;
    c->exit_code = EXIT_OURS;
    if (!c->is_tunnel)
        (void)buf_addf(&c->out[1], "iii: %s\r\n", *c->stream.failure ? c->stream.failure : "the server has ended it");
}

/* Returns the bytes that libssh took. */
static size_t to_client(struct channel *c, size_t most)
{
    size_t sent = 0;
    for (int i = 1; i >= 0; i--) {
        struct buf *b = &c->out[i];
        while (b->len > 0 && sent < most) {
            size_t window = libssh.channel_window_size(c->ssh), n = b->len < window ? b->len : window;
            n = n < SSH_STREAM_PIECE ? n : SSH_STREAM_PIECE;
            int r = n == 0 ? 0
                    : i    ? libssh.channel_write_stderr(c->ssh, b->data, (uint32_t)n)
                           : libssh.channel_write(c->ssh, b->data, (uint32_t)n);
            if (r <= 0)
                return sent;
            buf_consume(b, (size_t)r);
            sent += (size_t)r;
        }
    }
    return sent;
}

static void from_client(struct channel *c)
{
    char piece[SSH_STREAM_PIECE];
    c->has_more = !c->has_eof; /* until libssh says that it has no more: nothing else would wake us for that */
    while (!c->has_eof && c->stream.out.len < SSH_STREAM_FULL) {
        int n = libssh.channel_read_nonblocking(c->ssh, piece, sizeof(piece), 0);
        if (n > 0 && c->is_tunnel)
            (void)buf_add(&c->stream.out, piece, (size_t)n); /* there is room: see above */
        else if (n > 0)
            (void)ssh_stream_message(&c->stream, false, piece, (size_t)n);
        else if ((n == 0 || n == SSH_AGAIN) && !libssh.channel_is_eof(c->ssh)) {
            c->has_more = false;
            return;
        } else {
            c->has_eof = true;
            c->has_more = false;
        }
    }
    if (!c->has_eof || c->stream.wants_shut || c->stream.is_ended)
        return;
    if (c->is_tunnel) {
        ssh_stream_shut(&c->stream);
    } else {
        c->stream.wants_shut = true; /* said once; the socket itself stays open, or the server would end the command */
        c->stream.is_shut = true;
        send_json(c, json_pack("{s:s}", "type", "eof"));
    }
}

static bool is_finished(struct channel *c)
{
    if (!c->is_over || c->out[0].len + c->out[1].len > 0)
        return false;
    if (!c->is_tunnel)
        (void)libssh.channel_request_send_exit_status(c->ssh, c->exit_code);
    (void)libssh.channel_send_eof(c->ssh);
    (void)libssh.channel_close(c->ssh);
    return true;
}

void ssh_channels_pump(struct ssh_channels *set)
{
    set->has_news = false;
    size_t most = libssh.get_poll_flags(set->session) & SSH_WRITE_PENDING ? 0 : TURN_BYTES;
    for (struct channel *next, *c = set->all; c; c = next) {
        next = c->next;
        if (libssh.channel_is_closed(c->ssh)) {
            channel_end(c);
            continue;
        }
        if (!c->is_started || c->stream.fd < 0)
            continue;
        from_server(c);
        size_t sent = to_client(c, most);
        most = sent < most ? most - sent : 0;
        from_client(c);
        ssh_stream_move(&c->stream);
        if (is_finished(c))
            channel_end(c);
    }
}

bool ssh_channels_has_work(const struct ssh_channels *set)
{
    if (set->has_news)
        return true;
    bool can_send = !(libssh.get_poll_flags(set->session) & SSH_WRITE_PENDING);
    for (const struct channel *c = set->all; c; c = c->next)
        if ((c->has_more && c->stream.out.len < SSH_STREAM_FULL) ||
            (!c->is_over && c->stream.is_open && c->stream.in.len > 0 && !is_full(c)) ||
            (can_send && c->out[0].len + c->out[1].len > 0 && libssh.channel_window_size(c->ssh) > 0))
            return true;
    return false;
}

unsigned ssh_channels_poll(const struct ssh_channels *set, struct pollfd *p)
{
    unsigned n = 0;
    for (const struct channel *c = set->all; c && n < SSH_CHANNELS_MAX; c = c->next) {
        short events = c->stream.fd < 0 ? 0 : ssh_stream_events(&c->stream, c->stream.in.len == 0 && !is_full(c));
        if (events)
            p[n++] = (struct pollfd){ .fd = c->stream.fd, .events = events };
    }
    return n;
}

struct ssh_channels *ssh_channels_new(ssh_session session, const struct ssh_channels_place *place)
{
    struct ssh_channels *set = xzalloc(sizeof(*set));
    *set = (struct ssh_channels){ .session = session, .place = place };
    return set;
}
