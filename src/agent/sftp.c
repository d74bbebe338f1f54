/* Theory of operation. One request after the other: read a packet, parse it (sftp_request.c), do it with plain system
 * calls, write the reply. Clients send many requests ahead; they wait in the pipe. Open files and folders are entries
 * of a table; a handle is an index and a serial number, so that one that was closed is never another file. A packet
 * that cannot be parsed ends the process; any failure of a call is a status. */
#include "agent/sftp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/sftp_request.h"
#include "os/write_all.h"

enum {
    VERSION = 3,
    HANDLES = 256,
    NAMES_PER_REPLY = 128,
    REPLY_VERSION = 2,
    REPLY_STATUS = 101,
    REPLY_HANDLE,
    REPLY_DATA,
    REPLY_NAME,
    REPLY_ATTRS,
    REPLY_EXTENDED = 201,
    NO_REPLACE = 1, /* RENAME_NOREPLACE */
    HEAD = 4,
};

enum status {
    STATUS_OK,
    STATUS_EOF,
    STATUS_NO_SUCH_FILE,
    STATUS_DENIED,
    STATUS_FAILURE,
    STATUS_BAD_MESSAGE,
    STATUS_UNSUPPORTED = 8
};

struct handle {
    uint32_t serial; /* 0: free */
    int fd;
    DIR *dir; /* NULL: a file */
    bool is_append;
};

struct sftp {
    int out;
    const char *home;
    uint32_t serial;
    struct handle handles[HANDLES];
    struct sftp_request q;
    uint8_t packet[SFTP_REQUEST_MAX];
    uint8_t reply[HEAD + SFTP_REQUEST_MAX + 64];
    size_t len; /* of the reply, with HEAD */
};

/* --- replies --- */

static void put_u8(struct sftp *s, uint8_t v)
{
    s->reply[s->len++] = v;
}

static void put_u32(struct sftp *s, uint32_t v)
{
    const uint8_t bytes[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };
    memcpy(s->reply + s->len, bytes, sizeof(bytes));
    s->len += sizeof(bytes);
}

static void put_u64(struct sftp *s, uint64_t v)
{
    put_u32(s, (uint32_t)(v >> 32));
    put_u32(s, (uint32_t)v);
}

static void put_bytes(struct sftp *s, const void *data, size_t len)
{
    put_u32(s, (uint32_t)len);
    memcpy(s->reply + s->len, data, len);
    s->len += len;
}

static void put_text(struct sftp *s, const char *text)
{
    put_bytes(s, text, strlen(text));
}

static void put_attrs(struct sftp *s, const struct stat *st)
{
    put_u32(s, SFTP_HAS_SIZE | SFTP_HAS_OWNER | SFTP_HAS_MODE | SFTP_HAS_TIMES);
    put_u64(s, (uint64_t)st->st_size);
    put_u32(s, st->st_uid);
    put_u32(s, st->st_gid);
    put_u32(s, st->st_mode);
    put_u32(s, (uint32_t)st->st_atim.tv_sec);
    put_u32(s, (uint32_t)st->st_mtim.tv_sec);
}

static void begin(struct sftp *s, uint8_t type)
{
    s->len = HEAD;
    put_u8(s, type);
    put_u32(s, s->q.id);
}

static void reply_status(struct sftp *s, enum status code, const char *text)
{
    begin(s, REPLY_STATUS);
    put_u32(s, code);
    put_text(s, text);
    put_text(s, "");
}

/* error: 0, or an errno. */
static void reply_error(struct sftp *s, int error)
{
    enum status code = error == 0                                            ? STATUS_OK
                       : error == ENOENT || error == ENOTDIR                 ? STATUS_NO_SUCH_FILE
                       : error == EACCES || error == EPERM || error == EROFS ? STATUS_DENIED
                       : error == EBADMSG                                    ? STATUS_BAD_MESSAGE
                       : error == EOPNOTSUPP || error == ENOSYS              ? STATUS_UNSUPPORTED
                                                                             : STATUS_FAILURE;
    reply_status(s, code, error ? strerror(error) : "Success");
}

static void reply_result(struct sftp *s, int r)
{
    reply_error(s, r < 0 ? errno : 0);
}

/* One name, without attributes: realpath, readlink. */
static void reply_name(struct sftp *s, const char *name)
{
    begin(s, REPLY_NAME);
    put_u32(s, 1);
    put_text(s, name);
    put_text(s, name);
    put_u32(s, 0);
}

/* --- handles --- */

static struct handle *find_handle(struct sftp *s)
{
    uint32_t index, serial;
    memcpy(&index, s->q.handle, 4);
    memcpy(&serial, s->q.handle + 4, 4);
    return serial && index < HANDLES && s->handles[index].serial == serial ? &s->handles[index] : NULL;
}

/* Takes fd and dir. */
static void reply_handle(struct sftp *s, int fd, DIR *dir, bool is_append)
{
    for (uint32_t i = 0; i < HANDLES; i++)
        if (s->handles[i].serial == 0) {
            uint8_t text[SFTP_REQUEST_HANDLE];
            s->serial += s->serial == UINT32_MAX ? 2 : 1;
            s->handles[i] = (struct handle){ .serial = s->serial, .fd = fd, .dir = dir, .is_append = is_append };
            memcpy(text, &i, 4);
            memcpy(text + 4, &s->serial, 4);
            begin(s, REPLY_HANDLE);
            put_bytes(s, text, sizeof(text));
            return;
        }
    if (dir)
        (void)closedir(dir);
    else
        (void)close(fd);
    reply_status(s, STATUS_FAILURE, "too many open files");
}

static void do_open(struct sftp *s)
{
    const struct sftp_request *q = &s->q;
    bool is_write = q->flags & SFTP_FOR_WRITE, is_read = q->flags & SFTP_FOR_READ;
    int how = is_read && is_write ? O_RDWR : is_write ? O_WRONLY : O_RDONLY;
    how |= q->flags & SFTP_CREATE ? O_CREAT : 0;
    how |= q->flags & SFTP_TRUNCATE ? O_TRUNC : 0;
    how |= q->flags & SFTP_EXCLUSIVE ? O_EXCL : 0;
    how |= q->flags & SFTP_APPEND ? O_APPEND : 0;
    mode_t mode = q->attrs.flags & SFTP_HAS_MODE ? q->attrs.mode & 0777 : 0666;
    int fd = open(q->path, how | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, mode); /* a FIFO without a peer must not hang us */
    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, how & O_APPEND);
    if (fd < 0)
        reply_error(s, errno);
    else
        reply_handle(s, fd, NULL, how & O_APPEND);
}

static void do_opendir(struct sftp *s)
{
    DIR *dir = opendir(s->q.path);
    if (dir)
        reply_handle(s, dirfd(dir), dir, false);
    else
        reply_error(s, errno);
}

static void do_close(struct sftp *s, struct handle *h)
{
    int r = h->dir ? closedir(h->dir) : close(h->fd);
    h->serial = 0;
    reply_result(s, r);
}

static void do_read(struct sftp *s, const struct handle *h)
{
    size_t want = s->q.length < SFTP_REQUEST_DATA ? s->q.length : SFTP_REQUEST_DATA;
    begin(s, REPLY_DATA);
    size_t at = s->len + 4;
    ssize_t n = h->dir                              ? -1
                : s->q.offset > (uint64_t)INT64_MAX ? 0
                                                    : pread(h->fd, s->reply + at, want, (off_t)s->q.offset);
    if (n < 0 && !h->dir && errno == ESPIPE)
        n = read(h->fd, s->reply + at, want);
    if (n < 0) {
        reply_error(s, h->dir ? EISDIR : errno);
    } else if (n == 0 && want > 0) {
        reply_status(s, STATUS_EOF, "End of file");
    } else {
        put_u32(s, (uint32_t)n);
        s->len += (size_t)n;
    }
}

static void do_write(struct sftp *s, const struct handle *h)
{
    const uint8_t *data = s->q.data;
    uint64_t at = s->q.offset;
    for (size_t left = s->q.length; left > 0;) {
        ssize_t n = -1;
        errno = h->dir ? EISDIR : EFBIG;
        if (!h->dir && at <= (uint64_t)INT64_MAX)
            n = h->is_append ? write(h->fd, data, left) : pwrite(h->fd, data, left, (off_t)at);
        if (n < 0 && errno == ESPIPE)
            n = write(h->fd, data, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            reply_error(s, n < 0 ? errno : EIO);
            return;
        }
        data += n;
        at += (uint64_t)n;
        left -= (size_t)n;
    }
    reply_error(s, 0);
}

/* --- names --- */

/* As `ls -l` prints it; clients show it to people. */
static void long_name(const char *name, const struct stat *st, char *out, size_t size)
{
    static const char kinds[] = "?pc?d?b?-?l?s???", bits[] = "rwxrwxrwx";
    char mode[11], when[24] = "";
    struct tm t;
    mode[0] = kinds[(st->st_mode & S_IFMT) >> 12];
    for (unsigned i = 0; i < 9; i++)
        mode[i + 1] = st->st_mode & (0400u >> i) ? bits[i] : '-';
    mode[10] = '\0';
    if (gmtime_r(&st->st_mtim.tv_sec, &t))
        (void)strftime(when, sizeof(when), st->st_mtim.tv_sec > time(NULL) - 15768000 ? "%b %e %H:%M" : "%b %e  %Y",
                       &t);
    (void)snprintf(out, size, "%s %4lu %-8u %-8u %10lld %s %s", mode, (unsigned long)st->st_nlink, st->st_uid,
                   st->st_gid, (long long)st->st_size, when, name);
}

static void do_readdir(struct sftp *s, const struct handle *h)
{
    char line[NAME_MAX + 128];
    uint32_t n = 0;
    if (!h->dir) {
        reply_error(s, ENOTDIR);
        return;
    }
    begin(s, REPLY_NAME);
    size_t count_at = s->len;
    put_u32(s, 0);
    errno = 0;
    for (const struct dirent *e; n < NAMES_PER_REPLY && (e = readdir(h->dir));) {
        struct stat st;
        if (fstatat(h->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* removed meanwhile */
        long_name(e->d_name, &st, line, sizeof(line));
        put_text(s, e->d_name);
        put_text(s, line);
        put_attrs(s, &st);
        n++;
    }
    if (n == 0) {
        reply_status(s, STATUS_EOF, "End of file");
        return;
    }
    size_t end = s->len;
    s->len = count_at;
    put_u32(s, n);
    s->len = end;
}

/* The canonical path; its last name need not exist. */
static void do_realpath(struct sftp *s)
{
    char found[PATH_MAX], *path = s->q.path;
    if (!*path)
        memcpy(path, ".", 2);
    if (realpath(path, found)) {
        reply_name(s, found);
        return;
    }
    char *slash = strrchr(path, '/');
    const char *last = slash ? slash + 1 : path;
    if (errno != ENOENT || !*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        reply_error(s, errno);
        return;
    }
    char name[SFTP_REQUEST_PATH], whole[PATH_MAX + SFTP_REQUEST_PATH];
    (void)snprintf(name, sizeof(name), "%s", last);
    if (slash)
        slash[slash == path] = '\0'; /* "/x" is in "/" */
    if (!realpath(slash ? path : ".", found)) {
        reply_error(s, errno);
        return;
    }
    (void)snprintf(whole, sizeof(whole), "%s/%s", strcmp(found, "/") == 0 ? "" : found, name);
    reply_name(s, whole);
}

static void do_expand(struct sftp *s)
{
    char whole[2 * SFTP_REQUEST_PATH];
    const char *path = s->q.path;
    if (path[0] == '~' && (path[1] == '/' || !path[1])) {
        int n = snprintf(whole, sizeof(whole), "%s%s", s->home, path + 1);
        if (n < 0 || (size_t)n >= sizeof(s->q.path)) {
            reply_error(s, ENAMETOOLONG);
            return;
        }
        memcpy(s->q.path, whole, (size_t)n + 1);
    } else if (path[0] == '~') {
        reply_status(s, STATUS_FAILURE, "only ~ itself is expanded, not ~user");
        return;
    }
    do_realpath(s);
}

static void do_readlink(struct sftp *s)
{
    char target[PATH_MAX];
    ssize_t n = readlink(s->q.path, target, sizeof(target) - 1);
    if (n < 0) {
        reply_error(s, errno);
        return;
    }
    target[n] = '\0';
    reply_name(s, target);
}

/* --- attributes --- */

static void reply_stat(struct sftp *s, int r, const struct stat *st)
{
    if (r < 0) {
        reply_error(s, errno);
        return;
    }
    begin(s, REPLY_ATTRS);
    put_attrs(s, st);
}

/* fd >= 0: of an open file, else of the path. */
static void do_setstat(struct sftp *s, int fd, bool follows)
{
    const struct sftp_request_attrs *a = &s->q.attrs;
    const char *path = s->q.path;
    const struct timespec times[2] = { { .tv_sec = a->atime }, { .tv_sec = a->mtime } };
    int how = follows ? 0 : AT_SYMLINK_NOFOLLOW, r = 0;
    if (a->flags & SFTP_HAS_SIZE && a->size > (uint64_t)INT64_MAX) {
        reply_error(s, EFBIG);
        return;
    }
    if (a->flags & SFTP_HAS_SIZE)
        r = fd >= 0 ? ftruncate(fd, (off_t)a->size) : truncate(path, (off_t)a->size);
    if (r == 0 && a->flags & SFTP_HAS_OWNER)
        r = fd >= 0 ? fchown(fd, a->uid, a->gid) : fchownat(AT_FDCWD, path, a->uid, a->gid, how);
    if (r == 0 && a->flags & SFTP_HAS_MODE && (fd >= 0 || follows)) /* a link has no mode of its own */
        r = fd >= 0 ? fchmod(fd, a->mode & 07777) : chmod(path, a->mode & 07777);
    if (r == 0 && a->flags & SFTP_HAS_TIMES)
        r = fd >= 0 ? futimens(fd, times) : utimensat(AT_FDCWD, path, times, how);
    reply_result(s, r);
}

static void reply_statvfs(struct sftp *s, int r, const struct statvfs *v)
{
    if (r < 0) {
        reply_error(s, errno);
        return;
    }
    begin(s, REPLY_EXTENDED);
    const uint64_t numbers[] = { v->f_bsize,  v->f_frsize,
                                 v->f_blocks, v->f_bfree,
                                 v->f_bavail, v->f_files,
                                 v->f_ffree,  v->f_favail,
                                 v->f_fsid,   (v->f_flag & ST_RDONLY ? 1u : 0u) | (v->f_flag & ST_NOSUID ? 2u : 0u),
                                 v->f_namemax };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        put_u64(s, numbers[i]);
}

static void reply_limits(struct sftp *s)
{
    begin(s, REPLY_EXTENDED);
    put_u64(s, SFTP_REQUEST_MAX);
    put_u64(s, SFTP_REQUEST_DATA);
    put_u64(s, SFTP_REQUEST_DATA);
    put_u64(s, HANDLES);
}

static void reply_version(struct sftp *s)
{
    const char *name, *version;
    s->len = HEAD;
    put_u8(s, REPLY_VERSION);
    put_u32(s, VERSION);
    for (size_t i = 0; (name = sftp_request_extension(i, &version)); i++) {
        put_text(s, name);
        put_text(s, version);
    }
}

static int rename_new(const char *from, const char *to)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, NO_REPLACE);
}

/* --- requests --- */

static void serve_handle(struct sftp *s)
{
    struct handle *h = find_handle(s);
    struct stat st;
    struct statvfs vfs;
    if (!h) {
        reply_status(s, STATUS_FAILURE, "no such handle");
        return;
    }
    switch ((int)s->q.type) {
    case SFTP_CLOSE:
        do_close(s, h);
        break;
    case SFTP_READ:
        do_read(s, h);
        break;
    case SFTP_WRITE:
        do_write(s, h);
        break;
    case SFTP_READDIR:
        do_readdir(s, h);
        break;
    case SFTP_FSTAT:
        reply_stat(s, fstat(h->fd, &st), &st);
        break;
    case SFTP_FSETSTAT:
        do_setstat(s, h->fd, true);
        break;
    case SFTP_FSTATVFS:
        reply_statvfs(s, fstatvfs(h->fd, &vfs), &vfs);
        break;
    default:
        reply_result(s, fsync(h->fd));
        break;
    }
}

static void serve_name(struct sftp *s)
{
    const struct sftp_request *q = &s->q;
    struct stat st;
    struct statvfs vfs;
    switch ((int)q->type) {
    case SFTP_LSTAT:
        reply_stat(s, lstat(q->path, &st), &st);
        break;
    case SFTP_STAT:
        reply_stat(s, stat(q->path, &st), &st);
        break;
    case SFTP_SETSTAT:
        do_setstat(s, -1, true);
        break;
    case SFTP_LSETSTAT:
        do_setstat(s, -1, false);
        break;
    case SFTP_REMOVE:
        reply_result(s, unlink(q->path));
        break;
    case SFTP_MKDIR:
        reply_result(s, mkdir(q->path, q->attrs.flags & SFTP_HAS_MODE ? q->attrs.mode & 07777 : 0777));
        break;
    case SFTP_RMDIR:
        reply_result(s, rmdir(q->path));
        break;
    case SFTP_RENAME:
        reply_result(s, rename_new(q->path, q->other));
        break;
    case SFTP_POSIX_RENAME:
        reply_result(s, rename(q->path, q->other));
        break;
    case SFTP_HARDLINK:
        reply_result(s, link(q->path, q->other));
        break;
    case SFTP_SYMLINK: /* the target first, as OpenSSH has it */
        reply_result(s, symlink(q->path, q->other));
        break;
    case SFTP_STATVFS:
        reply_statvfs(s, statvfs(q->path, &vfs), &vfs);
        break;
    default:
        reply_error(s, EOPNOTSUPP);
        break;
    }
}

static void serve(struct sftp *s)
{
    switch ((int)s->q.type) {
    case SFTP_INIT:
        reply_version(s);
        break;
    case SFTP_OPEN:
        do_open(s);
        break;
    case SFTP_OPENDIR:
        do_opendir(s);
        break;
    case SFTP_REALPATH:
        do_realpath(s);
        break;
    case SFTP_EXPAND_PATH:
        do_expand(s);
        break;
    case SFTP_READLINK:
        do_readlink(s);
        break;
    case SFTP_LIMITS:
        reply_limits(s);
        break;
    case SFTP_CLOSE:
    case SFTP_READ:
    case SFTP_WRITE:
    case SFTP_READDIR:
    case SFTP_FSTAT:
    case SFTP_FSETSTAT:
    case SFTP_FSTATVFS:
    case SFTP_FSYNC:
        serve_handle(s);
        break;
    default:
        serve_name(s);
        break;
    }
}

static int send_reply(struct sftp *s)
{
    size_t len = s->len;
    s->len = 0;
    put_u32(s, (uint32_t)(len - HEAD));
    return write_all_write(s->out, s->reply, len);
}

/* True: len bytes are there. */
static bool read_whole(int in, uint8_t *out, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = read(in, out + got, len - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

int agent_sftp_run(int in, int out, const char *home)
{
    uint8_t head[HEAD];
    struct sftp *s = calloc(1, sizeof(*s));
    if (!s)
        return 1;
    (void)prctl(PR_SET_NAME, "sftp-server");
    s->out = out;
    s->home = home;
    while (read_whole(in, head, sizeof(head))) {
        bool has_id;
        size_t len = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
        if (len > sizeof(s->packet) || !read_whole(in, s->packet, len))
            return 1;
        int r = sftp_request_parse(s->packet, len, &s->q, &has_id);
        if (r < 0 && !has_id)
            return 1;
        if (r < 0)
            reply_error(s, -r);
        else
            serve(s);
        if (send_reply(s) < 0)
            return 1;
    }
    return 0; /* the process ends, and with it what is open */
}
