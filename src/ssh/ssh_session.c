/* Theory of operation. The process of a connection is forked by ssh_listener.c, already confined. SIGALRM ends it when
 * the client has not logged in within SSH_SESSION_LOGIN_S, whatever libssh is doing. Keys are asked for at the server:
 * a question for each key that the client offers, and a login once libssh has checked a signature. Then one poll()
 * waits for the client, the server's socket and all streams, libssh reads what is there without blocking, and the
 * channels move bytes. The end of the server's socket (key deleted, token revoked, server stopped) ends the connection.
 */
#include "ssh/ssh_session.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ssh/ssh_channels.h"
#include "ssh/ssh_wire.h"

enum { KEEP_IDLE_S = 60, KEEP_EVERY_S = 20, KEEP_TRIES = 3 };

struct session {
    const struct ssh_session_start *start;
    ssh_session ssh;
    struct ssh_wire_msg grant; /* what the server said to the login */
    struct ssh_channels_place place;
    struct ssh_channels *channels;
    unsigned tries;
    bool is_in, is_over;
};

/* Asks the server and waits for its answer. */
static bool ask_server(struct session *s, enum ssh_wire_kind kind, const char *user, const unsigned char *print)
{
    struct ssh_wire_msg m = { .kind = (uint16_t)kind };
    int fd = NO_FD;
    if (strlen(user) >= sizeof(m.user))
        return false;
    memcpy(m.user, user, strlen(user));
    memcpy(m.print, print, sizeof(m.print));
    if (ssh_wire_send(s->start->control, &m, NO_FD) < 0 || ssh_wire_receive(s->start->control, &s->grant, &fd) != 1) {
        s->is_over = true;
        return false;
    }
    return s->grant.kind == SSH_WIRE_ALLOWED;
}

static int on_pubkey(ssh_session ssh, const char *user, struct ssh_key_struct *key, char state, void *arg)
{
    struct session *s = arg;
    unsigned char *print = NULL;
    size_t len = 0;
    (void)ssh;
    if (s->is_in || (state != SSH_PUBLICKEY_STATE_NONE && state != SSH_PUBLICKEY_STATE_VALID))
        return SSH_AUTH_DENIED;
    bool is_login = state == SSH_PUBLICKEY_STATE_VALID;
    if (++s->tries > 2 * SSH_SESSION_TRIES)
        s->is_over = true;
    if (s->is_over || libssh.get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &print, &len) < 0)
        return SSH_AUTH_DENIED;
    bool is_allowed = len == SSH_WIRE_PRINT && ask_server(s, is_login ? SSH_WIRE_LOGIN : SSH_WIRE_QUERY, user, print);
    libssh.clean_pubkey_hash(&print);
    if (is_allowed && is_login) {
        (void)alarm(0);
        *s->start->is_in = 1;
        s->is_in = true;
        s->place = (struct ssh_channels_place){ .server = { .control = s->start->control,
                                                            .prefix = s->grant.prefix,
                                                            .sandbox = s->grant.user,
                                                            .credential = s->grant.text },
                                                .login = s->grant.login };
    }
    return is_allowed ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED;
}

static ssh_channel on_open(ssh_session ssh, void *arg)
{
    struct session *s = arg;
    (void)ssh;
    return s->is_in ? ssh_channels_accept(s->channels) : NULL;
}

/* What no callback handles. 1: refused by libssh. Remote forwarding (-R) is refused here. */
static int on_message(ssh_session ssh, ssh_message m, void *arg)
{
    struct session *s = arg;
    (void)ssh;
    bool is_forward = s->is_in && libssh.message_type(m) == SSH_REQUEST_CHANNEL_OPEN &&
                      libssh.message_subtype(m) == SSH_CHANNEL_DIRECT_TCPIP;
    return is_forward && ssh_channels_forward(s->channels, m) ? 0 : 1;
}

/* A client that vanished without a word is noticed within about two minutes. */
static void keep_alive(int fd)
{
    const int on = 1, idle = KEEP_IDLE_S, every = KEEP_EVERY_S, tries = KEEP_TRIES;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void session_turn(struct session *s, ssh_event event)
{
    struct pollfd p[2 + SSH_CHANNELS_MAX];
    int wants = libssh.get_poll_flags(s->ssh) & SSH_WRITE_PENDING ? POLLOUT : 0;
    p[0] = (struct pollfd){ .fd = s->start->fd, .events = (short)(POLLIN | wants) };
    p[1] = (struct pollfd){ .fd = s->start->control, .events = POLLIN };
    unsigned n = 2 + ssh_channels_poll(s->channels, p + 2);
    if (poll(p, n, ssh_channels_has_work(s->channels) ? 0 : -1) < 0 && errno != EINTR)
        s->is_over = true;
    if (p[1].revents) /* the server says nothing unasked: this is its end */
        s->is_over = true;
    if (p[0].revents && libssh.event_dopoll(event, 0) == SSH_ERROR)
        s->is_over = true;
    if (!libssh.is_connected(s->ssh))
        s->is_over = true;
    if (!s->is_over && s->is_in)
        ssh_channels_pump(s->channels);
}

void ssh_session_serve(const struct ssh_session_start *start)
{
    struct session s = { .start = start, .ssh = libssh.new() };
    struct ssh_server_callbacks_struct callbacks = { .userdata = &s,
                                                     .auth_pubkey_function = on_pubkey,
                                                     .channel_open_request_session_function = on_open };
    ssh_event event = libssh.event_new();
    ssh_callbacks_init(&callbacks);
    if (!s.ssh || !event)
        return;
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(SSH_SESSION_LOGIN_S);
    keep_alive(start->fd);
    s.channels = ssh_channels_new(s.ssh, &s.place);
    if (libssh.bind_accept_fd(start->bind, s.ssh, start->fd) != SSH_OK)
        return;
    libssh.set_auth_methods(s.ssh, SSH_AUTH_METHOD_PUBLICKEY);
    (void)libssh.set_server_callbacks(s.ssh, &callbacks);
    libssh.set_message_callback(s.ssh, on_message, &s);
    if (libssh.handle_key_exchange(s.ssh) != SSH_OK)
        return;
    libssh.set_blocking(s.ssh, 0);
    if (libssh.event_add_session(event, s.ssh) != SSH_OK)
        return;
    while (!s.is_over)
        session_turn(&s, event);
    libssh.disconnect(s.ssh);
}
