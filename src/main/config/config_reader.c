/* Theory of operation. The folders of every link on the path to the file are watched, and the file itself, which may be
 * a mount point. Landlock allows these folders only, by their identity: when the path leads elsewhere, this process has
 * to be restarted, by a parent that still has the right to open the new folders. As root it reads what the server may
 * not, so it refuses to work where the server could choose which file that is. A file that cannot be read is reported
 * to the server and tried again when something changes; when the server exits, this process exits. */
#include "main/config/config_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "main/config/link_chain.h"
#include "os/confine.h"
#include "os/seqsock.h"
#include "os/syscall_allowlist.h"
#include "os/write_all.h"

enum {
    SERVER_FD = 3,
    QUIET_MS = 100,   /* read the file after this time without a change */
    OPEN_MS = 1000,   /* the same while another process seems to be writing */
    SETTLE_MS = 3000, /* at the latest after this */
    AGAIN_MS = 1000,  /* until the next check for a missing folder */
};

#define WRITING    (IN_CREATE | IN_MODIFY)
#define WRITTEN    (IN_CLOSE_WRITE | IN_MOVED_TO)
#define GONE       (IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB)
#define IN_FOLDERS (IN_CREATE | WRITTEN | IN_MOVED_FROM | IN_DELETE | GONE | IN_ONLYDIR)
#define IN_FILE    (IN_MODIFY | IN_CLOSE_WRITE | GONE)

struct reader {
    const char *path;
    struct link_chain way; /* as it was when the privileges were dropped */
    int inotify;           /* NO_FD: reads only when asked */
    int file_wd;           /* the watch on the file itself; negative: none */
    bool is_being_written;
    int64_t first_ms, due_ms; /* of a pending check; due_ms < 0: none */
    bool is_asked;
    struct buf last;
    bool has_last;
};

/* --- messages to the server --- */

static void send_message(enum config_reader_kind kind, const char *text, int fd)
{
    struct config_reader_msg m = { .kind = kind };
    struct iovec parts[2] = { { &m, sizeof(m) }, { NULL, 0 } };
    (void)snprintf(m.text, sizeof(m.text), "%s", text);
    if (seqsock_send(SERVER_FD, parts, &fd, fd >= 0) < 0)
        _exit(0); /* the server has exited */
}

/* --- checking the file --- */

/* NULL, or the reason. */
static const char *read_file(const char *path, struct buf *out)
{
    struct stat st;
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "not a file that can be read again";
    for (;;) {
        char piece[16384];
        ssize_t n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return strerror(errno);
        if (n == 0)
            return NULL;
        if (buf_add(out, piece, (size_t)n) < 0)
            return "larger than " LIMIT_MAX_TEXT(CONFIG_FILE_BYTES) " bytes";
    }
}

static void check_file(struct reader *r)
{
    static struct link_chain now;
    CLEANUP(buf_done) struct buf text = BUF_INIT(CONFIG_READER_FILE_MAX);
    link_chain_find(r->path, &now);
    if (!link_chain_is_same(&r->way, &now)) {
        send_message(CONFIG_READER_MOVED, "", NO_FD);
        _exit(0);
    }
    /* Before the file is read, so that no change in between is missed. Another inode may have the name now; watches on
     * former ones would accumulate. */
    int wd = r->inotify >= 0 ? inotify_add_watch(r->inotify, r->path, IN_FILE) : -1;
    if (r->file_wd >= 0 && wd != r->file_wd)
        (void)inotify_rm_watch(r->inotify, r->file_wd); /* removed with its file, or to be released */
    r->file_wd = wd;
    const char *why = read_file(r->path, &text);
    bool is_same =
        !why && r->has_last && text.len == r->last.len && memcmp(buf_text(&text), buf_text(&r->last), text.len) == 0;
    if (why) {
        send_message(CONFIG_READER_TROUBLE, why, NO_FD);
    } else if (!is_same || r->is_asked) {
        CLEANUP(close_fd_p) int fd = memfd_create("config", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || write_all_write(fd, buf_text(&text), text.len) < 0 ||
            fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
            send_message(CONFIG_READER_TROUBLE, strerror(errno), NO_FD);
        else
            send_message(CONFIG_READER_FILE, "", fd);
    }
    r->is_asked = false;
    r->has_last = !why; /* a file that is readable again is reported too */
    buf_done(&r->last);
    r->last = text;
    text = (struct buf)BUF_INIT(0);
}

/* --- waiting --- */

static void take_events(struct reader *r, int64_t now)
{
    _Alignas(struct inotify_event) char bytes[4096];
    for (ssize_t n; (n = read(r->inotify, bytes, sizeof(bytes))) > 0;) {
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const struct inotify_event *)(const void *)(bytes + at);
            if (e->mask & WRITING)
                r->is_being_written = true;
            if (e->mask & WRITTEN)
                r->is_being_written = false;
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    }
    if (r->due_ms < 0)
        r->first_ms = now;
    int64_t latest = r->first_ms + SETTLE_MS, quiet = now + (r->is_being_written ? OPEN_MS : QUIET_MS);
    r->due_ms = quiet < latest ? quiet : latest;
}

static void take_word(struct reader *r, int64_t now)
{
    struct config_reader_msg m;
    size_t n_fds = 0;
    int fd = NO_FD;
    ssize_t n = seqsock_recv(SERVER_FD, &m, sizeof(m), &fd, 1, &n_fds);
    seqsock_close_all(&fd, n_fds);
    if (n == -EAGAIN)
        return;
    if (n != (ssize_t)sizeof(m) || m.kind != CONFIG_READER_ASK)
        _exit(0); /* the server has exited */
    r->is_asked = true;
    r->due_ms = now;
}

__attribute__((noreturn)) static void keep_looking(struct reader *r)
{
    for (;;) {
        int64_t now = clock_mono_us() / 1000;
        if (r->due_ms >= 0 && now >= r->due_ms) {
            r->due_ms = -1;
            r->is_being_written = false;
            check_file(r);
            continue;
        }
        struct pollfd p[2] = { { .fd = SERVER_FD, .events = POLLIN }, { .fd = r->inotify, .events = POLLIN } };
        if (poll(p, 2, r->due_ms < 0 ? -1 : (int)(r->due_ms - now)) <= 0)
            continue;
        now = clock_mono_us() / 1000;
        if (p[1].revents)
            take_events(r, now);
        if (p[0].revents)
            take_word(r, now);
    }
}

/* --- dropping privileges --- */

/* System calls that the code above needs. Nothing executes, creates, signals or connects. */
static const char *const allowed_calls[] = {
    "fstat",        "stat", "newfstatat", "statx", "readlink", "readlinkat", "inotify_add_watch", "inotify_rm_watch",
    "memfd_create", NULL,
};

static int give_up(const struct link_chain *w, struct err *err)
{
    const struct rlimit none = { 0, 0 };
    const struct confine_who same = { .uid = geteuid(), .gid = getegid() };
    struct confine_place places[LINK_CHAIN_MAX];
    for (size_t i = 0; i < w->n; i++)
        places[i] = (struct confine_place){ .path = w->dirs[i], .may = CONFINE_READ };
    int r = confine_files(places, w->n, err);
    if (r == -EOPNOTSUPP) /* no landlock in this kernel: the server logs that */
        r = 0;
    /* As root it keeps the capability to read other users' files, and nothing else. A container's root may have it only
     * together with the capability to write, of which landlock and the filter then leave nothing. */
    bool has_plain = prctl(PR_CAPBSET_READ, CAP_DAC_READ_SEARCH, 0, 0, 0) == 1;
    if (r >= 0)
        r = confine_identity(&same, UINT64_C(1) << (has_plain ? CAP_DAC_READ_SEARCH : CAP_DAC_OVERRIDE), err);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (r < 0)
        return r;
    r = syscall_allowlist_enter(allowed_calls, true);
    if (r == -EINVAL || r == -ENOSYS) /* a kernel without it: the server logs that */
        return 0;
    return r < 0 ? err_sys(err, r, "system call filter") : r;
}

/* Nothing can be read here: another process checks again after a pause, or when the server asks. */
__attribute__((noreturn)) static void wait_for_better(const char *why, int ms)
{
    struct pollfd p = { .fd = SERVER_FD, .events = POLLIN };
    send_message(CONFIG_READER_TROUBLE, why, NO_FD);
    while (poll(&p, 1, ms) < 0) {
    }
    send_message(CONFIG_READER_MOVED, "", NO_FD);
    _exit(0);
}

int config_reader_main(int argc, char **argv)
{
    static struct reader r = { .inotify = NO_FD, .file_wd = -1 };
    struct err err = ERR_INIT;
    if (argc != 6)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN); /* none of these can fail; the server decides when we exit */
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)prctl(PR_SET_NAME, "iii-config"); /* for ps only */
    const struct link_chain_guest server = { .home = argv[3],
                                             .uid = (uid_t)strtoul(argv[4], NULL, 10),
                                             .gid = (gid_t)strtoul(argv[5], NULL, 10) };
    r.path = argv[2];
    link_chain_find(r.path, &r.way);
    bool is_open = geteuid() == 0 && link_chain_is_open_to(&r.way, &server);
    r.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (give_up(&r.way, &err) < 0) {
        send_message(CONFIG_READER_TROUBLE, err.msg, NO_FD);
        _exit(1);
    }
    if (r.way.n == 0)
        wait_for_better("its folder does not exist", AGAIN_MS);
    if (is_open)
        wait_for_better("the server itself could put another file there, so changes are not read: move it to a folder "
                        "that only its owner may write to, outside of the data folder, and send SIGHUP",
                        -1);
    for (size_t i = 0; i < r.way.n && r.inotify >= 0; i++)
        if (inotify_add_watch(r.inotify, r.way.dirs[i], IN_FOLDERS) < 0)
            send_message(CONFIG_READER_TROUBLE, "changes are not detected automatically (inotify): send SIGHUP", NO_FD);
    if (r.inotify < 0)
        send_message(CONFIG_READER_TROUBLE, "changes are not detected automatically (inotify): send SIGHUP", NO_FD);
    r.due_ms = 0;
    keep_looking(&r);
}
