#include "filerows.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIECE (256u * 1024)
#define TOTAL ((size_t)FILEROWS_MIB << 20)

static char piece[PIECE];

static bool send_total(int fd)
{
    for (size_t left = TOTAL; left > 0;) {
        ssize_t n = send(fd, piece, left < PIECE ? left : PIECE, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        left -= (size_t)n;
    }
    return true;
}

/* Bytes until the peer has sent `want` of them, or has closed. */
static size_t receive(int fd, size_t want)
{
    size_t got = 0;
    while (got < want) {
        ssize_t n = recv(fd, piece, want - got < PIECE ? want - got : PIECE, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

/* --- through the server --- */

static void content_path(const struct bench *b, char *out, size_t size)
{
    (void)snprintf(out, size, "/sandbox/sandboxes/%s/files/content?path=/workspace/bench.bin", b->box);
}

int64_t filerows_upload(struct bench *b)
{
    struct client c;
    char path[160], head[320];
    int64_t took = -1;
    if (client_open(&c, b->port) < 0)
        return -1;
    content_path(b, path, sizeof(path));
    int len =
        snprintf(head, sizeof(head),
                 "PUT %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n", path, TOTAL);
    int64_t t0 = client_now_us();
    if (send(c.fd, head, (size_t)len, MSG_NOSIGNAL) == len && send_total(c.fd) && receive(c.fd, 12) == 12 &&
        memcmp(piece, "HTTP/1.1 200", 12) == 0)
        took = client_now_us() - t0;
    memset(piece, 0, 12);
    client_close(&c);
    return took;
}

int64_t filerows_download(struct bench *b)
{
    struct client c;
    char path[160], head[320];
    if (client_open(&c, b->port) < 0)
        return -1;
    content_path(b, path, sizeof(path));
    int len = snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    int64_t t0 = client_now_us();
    bool is_good = send(c.fd, head, (size_t)len, MSG_NOSIGNAL) == len && receive(c.fd, SIZE_MAX) > TOTAL;
    int64_t took = is_good ? client_now_us() - t0 : -1;
    client_close(&c);
    return took;
}

/* --- through cat --- */

/* Both ends of a TCP connection over loopback. */
static bool connect_pair(int ends[2])
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_good = bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(listener, 1) == 0 &&
                   getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
                   connect(ends[0], (struct sockaddr *)&at, sizeof(at)) == 0;
    ends[1] = is_good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    (void)close(listener);
    return ends[1] >= 0;
}

/* cat between the socket and a file beside the server's data; is_in: to the file. The time has all that a replaced file
 * costs: its old blocks are freed by the open, and ext4 sends the new ones to the disk at the close, as it does at the
 * rename of an upload. */
static int64_t through_cat(const struct bench *b, bool is_in)
{
    char path[128];
    int ends[2], status = -1;
    (void)snprintf(path, sizeof(path), "%s/bench.bin", b->data_dir);
    int64_t t0 = client_now_us();
    int file = open(path, is_in ? O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0600);
    if (file < 0 || !connect_pair(ends))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(is_in ? ends[1] : file, 0);
        (void)dup2(is_in ? file : ends[1], 1);
        (void)execlp("cat", "cat", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    bool is_good = pid > 0 && (is_in ? send_total(ends[0]) : receive(ends[0], SIZE_MAX) == TOTAL);
    (void)close(ends[0]);
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    (void)close(file);
    int64_t took = client_now_us() - t0;
    return is_good && status == 0 ? took : -1;
}

int64_t filerows_cat_in(struct bench *b)
{
    return through_cat(b, true);
}

int64_t filerows_cat_out(struct bench *b)
{
    return through_cat(b, false);
}
