/* Theory of operation. One process for one conversion. It starts with the privileges of the server's parent, opens a
 * nameless file in the data folder if it needs one, loads libarchive and then drops everything: user, capabilities,
 * system calls. Only then does it read the first byte of an archive, which is untrusted.
 *
 * Input and output block; the server paces both. When the server closes its end, the next packet fails and the process
 * exits. */
#include "archive/archive_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "archive/archive_library.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/confine.h"
#include "os/syscall_allowlist.h"

#define SERVER_FD  3
#define MEMORY_MAX (1ull << 30)

static struct {
    uint8_t in[1 + ARCHIVE_TOOL_PIECE], out[1 + ARCHIVE_TOOL_PIECE];
    size_t out_len;
    bool is_ended; /* the input */
} tool;

static void send_packet(const void *data, size_t len)
{
    ssize_t n;
    do
        n = send(SERVER_FD, data, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        _exit(0); /* the server does not want it any more */
}

static void flush_output(void)
{
    if (tool.out_len) {
        tool.out[0] = ARCHIVE_TOOL_DATA;
        send_packet(tool.out, 1 + tool.out_len);
    }
    tool.out_len = 0;
}

static void put(void *arg, const void *data, size_t len)
{
    const uint8_t *at = data;
    (void)arg;
    while (len) {
        size_t n = ARCHIVE_TOOL_PIECE - tool.out_len;
        n = n < len ? n : len;
        memcpy(tool.out + 1 + tool.out_len, at, n);
        tool.out_len += n;
        at += n;
        len -= n;
        if (tool.out_len == ARCHIVE_TOOL_PIECE)
            flush_output();
    }
}

static size_t take(void *arg, const uint8_t **ret)
{
    ssize_t n;
    (void)arg;
    if (tool.is_ended)
        return 0;
    do
        n = recv(SERVER_FD, tool.in, sizeof(tool.in), 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        _exit(0); /* the server has gone */
    *ret = tool.in + 1;
    tool.is_ended = tool.in[0] != ARCHIVE_TOOL_DATA;
    return tool.is_ended ? 0 : (size_t)n - 1;
}

__attribute__((noreturn)) static void fail(const char *why)
{
    char text[1 + ARCHIVE_CONVERT_WHY] = { ARCHIVE_TOOL_FAILED };
    memccpy(text + 1, why, '\0', sizeof(text) - 2);
    send_packet(text, strlen(text));
    _exit(0);
}

static int open_nameless(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    CLEANUP(free_p) char *path = xasprintf("%s/zip-XXXXXX", folder); /* a file system without nameless files */
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        (void)unlink(path);
    return fd;
}

static int drop_privileges(const struct confine_who *who, struct err *err)
{
    static const char *const calls[] = {
        "recvfrom", "sendto", "lseek", "fstat", "newfstatat", "fstatfs", "statfs", NULL
    };
    const struct rlimit none = { 0, 0 };
    (void)setrlimit(RLIMIT_CORE, &none);
#ifndef __SANITIZE_ADDRESS__
    const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
    (void)setrlimit(RLIMIT_AS, &memory);
#endif
    int r = confine_identity(who, 0, err);
    if (r < 0)
        return r;
    r = syscall_allowlist_enter(calls, false);
    if (r == -EINVAL || r == -ENOSYS) /* a kernel without it: the server logs that */
        return 0;
    return r < 0 ? err_sys(err, r, "system call filter") : r;
}

int archive_tool_main(int argc, char **argv)
{
    static const uint8_t done = ARCHIVE_TOOL_DONE;
    struct err err = ERR_INIT;
    struct archive_tool_order order = { 0 };
    if (argc != 5)
        return 2;
    const struct confine_who who = { .uid = (uid_t)strtoul(argv[3], NULL, 10),
                                     .gid = (gid_t)strtoul(argv[4], NULL, 10) };
    (void)signal(SIGPIPE, SIG_IGN);          /* none of these can fail; the server decides when we exit */
    (void)prctl(PR_SET_NAME, "iii-archive"); /* for ps only */
    (void)setlocale(LC_CTYPE, "C.UTF-8");    /* else names beyond ASCII are not text */
    if (recv(SERVER_FD, &order, sizeof(order), 0) != (ssize_t)sizeof(order))
        return 1;
    struct archive_convert c = { .format = (enum archive_format)order.format,
                                 .is_packing = order.is_packing,
                                 .take = take,
                                 .put = put,
                                 .file = NO_FD };
    if (c.format == ARCHIVE_ZIP && !c.is_packing && (c.file = open_nameless(argv[2])) < 0)
        fail("copy of the zip archive: cannot make a file in the data folder");
    if (archive_library_load(&err) < 0 || drop_privileges(&who, &err) < 0)
        fail(err.msg);
    if (archive_convert(&c) < 0)
        fail(c.why);
    flush_output();
    send_packet(&done, 1);
    _exit(0); /* nothing is to be freed */
}
