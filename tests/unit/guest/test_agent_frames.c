/* The agent against a host that breaks the wire format, spoken to in bare frames. The program is named by III_GUEST. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/proto.h"
#include "tap.h"

#define WAIT_MS 10000

static pid_t agent;
static char socket_path[64];

/* A link to the one agent all tests share: a bad link must never disturb the next. */
static int dial(void)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(addr.sun_path, socket_path, strlen(socket_path));
    for (int i = 0; i < 2000 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0; i++)
        usleep(10000);
    return fd;
}

static void send_frame(int fd, uint32_t stream, uint16_t type, const void *payload, size_t len)
{
    static uint8_t frame[PROTO_FRAME_MAX];
    struct proto_writer w;

    proto_frame_begin(&w, frame, sizeof(frame));
    proto_put_data(&w, payload, len);
    int n = proto_frame_end(&w, stream, type, 0);
    CHECK(n > 0 && send(fd, frame, (size_t)n, MSG_NOSIGNAL) == n);
}

static bool read_exactly(int fd, uint8_t *to, size_t len)
{
    for (size_t at = 0; at < len;) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        ssize_t n = poll(&p, 1, WAIT_MS) == 1 ? recv(fd, to + at, len - at, 0) : -1;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

/* The next frame's type, 0 when the link has ended. */
static uint16_t next_frame(int fd, uint8_t *payload, struct proto_header *h)
{
    uint8_t head[PROTO_HEADER];

    if (!read_exactly(fd, head, sizeof(head)) || proto_header_get(head, h) < 0 || !read_exactly(fd, payload, h->length))
        return 0;
    return h->type;
}

static uint16_t next_type(int fd)
{
    static uint8_t payload[PROTO_PAYLOAD_MAX];
    struct proto_header h;

    return next_frame(fd, payload, &h);
}

static void send_range(int fd, uint32_t magic, uint16_t version, uint16_t oldest)
{
    uint8_t mem[16];
    struct proto_writer w;

    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, magic);
    proto_put_u16(&w, version);
    proto_put_u16(&w, oldest);
    proto_put_u32(&w, 0);
    send_frame(fd, 0, PROTO_HANDSHAKE, mem, w.len);
}

static void send_handshake(int fd, uint32_t magic, uint16_t version)
{
    send_range(fd, magic, version, 0);
}

static int handshake(void)
{
    int fd = dial();

    send_handshake(fd, PROTO_MAGIC, PROTO_VERSION);
    CHECK_INT(next_type(fd), PROTO_HANDSHAKE);
    return fd;
}

static void start(int fd, uint32_t stream, uint32_t flags, const char *user, const char *command)
{
    uint8_t mem[1024];
    struct proto_writer w;

    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, flags);
    proto_put_u32(&w, 0); /* cols, rows */
    proto_put_u32(&w, 0); /* no time limit */
    proto_put_str(&w, "/");
    proto_put_str(&w, user);
    proto_put_str(&w, "");
    proto_put_u32(&w, 3);
    proto_put_str(&w, "sh");
    proto_put_str(&w, "-c");
    proto_put_str(&w, command);
    proto_put_u32(&w, PROTO_NO_STRS);
    CHECK(!w.is_full);
    send_frame(fd, stream, PROTO_EXEC_START, mem, w.len);
}

static void send_credit(int fd, uint32_t stream, uint32_t bytes)
{
    uint8_t mem[4];
    struct proto_writer w;

    proto_writer_init(&w, mem, sizeof(mem));
    proto_put_u32(&w, bytes);
    send_frame(fd, stream, PROTO_CREDIT, mem, w.len);
}

/* The agent's side is closed, and it still serves others. */
static void check_ended(int fd)
{
    for (uint16_t type = 1; type;) /* what was under way may come first */
        type = next_type(fd);
    (void)close(fd);
    fd = handshake();
    send_frame(fd, 1, PROTO_PING, "", 0);
    CHECK_INT(next_type(fd), PROTO_DONE);
    (void)close(fd);
}

TEST(a_wrong_handshake_ends_the_link)
{
    int fd = dial();
    send_handshake(fd, PROTO_MAGIC + 1, PROTO_VERSION);
    check_ended(fd);
    fd = dial();
    send_handshake(fd, PROTO_MAGIC, PROTO_VERSION + 1);
    check_ended(fd);
    fd = dial();
    send_frame(fd, 1, PROTO_PING, "", 0);
    check_ended(fd);
    fd = handshake();
    send_handshake(fd, PROTO_MAGIC, PROTO_VERSION);
    check_ended(fd);
}

TEST(a_frame_above_the_limit_ends_the_link)
{
    static const uint8_t huge[PROTO_HEADER] = { 1, 0, 1, 0, 1, 0, 0, 0, PROTO_PING };
    int fd = handshake();

    CHECK_INT(send(fd, huge, sizeof(huge), MSG_NOSIGNAL), sizeof(huge));
    check_ended(fd);
}

TEST(a_reply_type_or_unknown_type_ends_the_link)
{
    int fd = handshake();
    send_frame(fd, 1, PROTO_DONE, "", 0);
    check_ended(fd);
    fd = handshake();
    send_frame(fd, 1, 999, "", 0);
    check_ended(fd);
}

TEST(a_stream_in_use_cannot_be_opened_again)
{
    int fd = handshake();

    start(fd, 1, 0, "", "sleep 20");
    send_frame(fd, 1, PROTO_PING, "", 0);
    check_ended(fd);
}

TEST(credit_beyond_the_window_ends_the_link)
{
    int fd = handshake();

    start(fd, 1, 0, "", "sleep 20");
    send_credit(fd, 1, 1);
    check_ended(fd);
}

TEST(input_beyond_the_window_ends_the_link)
{
    static uint8_t block[PROTO_PAYLOAD_MAX];
    int fd = handshake();

    /* A pipe holds 64 KiB: the rest stays unread, so one window and a pipe are surely too much. */
    start(fd, 1, PROTO_WITH_STDIN, "", "sleep 20");
    for (int i = 0; i < 6; i++)
        send_frame(fd, 1, PROTO_EXEC_STDIN, block, sizeof(block));
    check_ended(fd);
}

TEST(frames_for_streams_that_are_gone_are_ignored)
{
    int fd = handshake();

    send_credit(fd, 7, 5);
    send_frame(fd, 7, PROTO_DROP, "", 0);
    send_frame(fd, 7, PROTO_EXEC_STDIN, "x", 1);
    send_frame(fd, 8, PROTO_PING, "", 0);
    CHECK_INT(next_type(fd), PROTO_DONE);
    (void)close(fd);
}

/* Runs a command to its end; output in text, its exit code or -errno. */
static int run(const char *user, const char *command, char *text, size_t size)
{
    static uint8_t payload[PROTO_PAYLOAD_MAX];
    struct proto_header h;
    struct proto_reader r;
    struct proto_exit end = { 0 };
    size_t len = 0;
    int fd = handshake(), result = -EPIPE;

    start(fd, 1, 0, user, command);
    for (uint16_t type; result == -EPIPE && (type = next_frame(fd, payload, &h));) {
        proto_reader_init(&r, payload, h.length);
        if (type == PROTO_EXEC_OUTPUT && h.length - 1 < size - len) {
            memcpy(text + len, payload + 1, h.length - 1);
            len += h.length - 1;
        } else if (type == PROTO_EXEC_EXIT) {
            proto_get_exit(&r, &end);
            result = (int)end.code;
        } else if (type == PROTO_ERROR) {
            result = -(int)proto_get_u32(&r);
        }
    }
    text[len] = '\0';
    (void)close(fd);
    return result;
}

TEST(a_later_host_that_speaks_our_version_is_served)
{
    int fd = dial();

    send_range(fd, PROTO_MAGIC, PROTO_VERSION + 1, PROTO_VERSION);
    CHECK_INT(next_type(fd), PROTO_HANDSHAKE);
    start(fd, 1, 0, "", "exit 0");
    CHECK_INT(next_type(fd), PROTO_EXEC_STARTED);
    CHECK_INT(next_type(fd), PROTO_EXEC_EXIT);
    (void)close(fd);
    fd = dial();
    send_range(fd, PROTO_MAGIC, PROTO_VERSION + 2, PROTO_VERSION + 1);
    check_ended(fd);
}

TEST(a_child_has_three_descriptors_and_clean_signals)
{
    char text[256];

    CHECK_INT(run("", "for f in /proc/$$/fd/*; do echo ${f##*/}; done", text, sizeof(text)), 0);
    /* The shell itself may hold a copy of the folder it lists, never one of ours. */
    CHECK(strncmp(text, "0\n1\n2\n", 6) == 0 && strlen(text) <= 9);
    CHECK_INT(run("", "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\t\\n'", text, sizeof(text)), 0);
    CHECK_STR(text, "SigBlk:0000000000000000SigIgn:0000000000000000");
}

TEST(user_strings_give_that_user_or_an_error)
{
    static const char *const bad[] = { "01", "1:", ":1", "root\n", "4294967296", "4294967295", "-1", " 0" };
    char text[64];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(run(bad[i], "id -u", text, sizeof(text)), -EINVAL);
    CHECK_INT(run("no-such-user", "id -u", text, sizeof(text)), -ENOENT);
    if (geteuid() != 0)
        return; /* only root can become others */
    CHECK_INT(run("1:2", "echo $(id -u) $(id -g) $(id -G)", text, sizeof(text)), 0);
    CHECK_STR(text, "1 2 2\n");
}

int main(void)
{
    const char *program = getenv("III_GUEST");

    if (!program || access(program, X_OK) != 0) {
        printf("1..0 # SKIP III_GUEST does not name the agent\n");
        return 0;
    }
    snprintf(socket_path, sizeof(socket_path), "/tmp/test_agent_frames.%d", (int)getpid());
    agent = fork();
    if (agent == 0) {
        execl(program, program, "--listen-unix", socket_path, (char *)NULL);
        _exit(127);
    }
    RUN(a_wrong_handshake_ends_the_link);
    RUN(a_frame_above_the_limit_ends_the_link);
    RUN(a_reply_type_or_unknown_type_ends_the_link);
    RUN(a_stream_in_use_cannot_be_opened_again);
    RUN(credit_beyond_the_window_ends_the_link);
    RUN(input_beyond_the_window_ends_the_link);
    RUN(frames_for_streams_that_are_gone_are_ignored);
    RUN(a_later_host_that_speaks_our_version_is_served);
    RUN(a_child_has_three_descriptors_and_clean_signals);
    RUN(user_strings_give_that_user_or_an_error);
    (void)kill(agent, SIGTERM);
    (void)waitpid(agent, NULL, 0);
    (void)unlink(socket_path);
    return tap_done();
}
