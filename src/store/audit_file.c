/* The audit log. Theory of operation. A line is BODY,"hash":"HEX"}; its hash covers the body, which contains the hash
 * of the line before, so the lines form a chain across all files. struct audit_file owns the descriptors of the folder,
 * the current file and the head, the state of the chain, and a queue of lines that are not written yet.
 * audit_file_add() only queues; audit_file_flush() writes the queue with one write, then the head. A failed or short
 * write truncates back to the last complete line and keeps the queue, so the chain never breaks. Opening resumes after
 * the last complete line of the chain and cuts a line that a crash has torn. A full file is renamed by the number of
 * its first line, and the oldest beyond keep are removed. */
#include "store/audit_file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/ident.h"

#define CURRENT     "current.jsonl"
#define HEAD        "head"
#define QUEUE_MAX   (16 << 20) /* bytes queued while the disk accepts none; later lines are counted, not kept */
#define NUMBERED    "0000000000000000.jsonl"
#define PIECE       65536
#define CHAIN_START "0000000000000000000000000000000000000000000000000000000000000000"

struct chain {
    int64_t seq; /* of the last line; 0: none yet */
    char hash[AUDIT_FILE_HEX];
};

struct audit_file {
    int dir, fd, head_fd;
    int64_t max_bytes, keep, bytes, first; /* of the current file: its size, its first line */
    struct chain chain;                    /* including the queued lines */
    struct buf waiting;
    int64_t lost; /* lines that did not fit into the queue */
};

/* --- the chain --- */

/* The digest of a line: over its body, which includes the digest of the line before; its own digest comes last. */
static void digest(const char *body, size_t len, char out[AUDIT_FILE_HEX])
{
    unsigned char raw[DIGEST_RAW];
    digest_raw(body, len, raw); /* quicker than digest_of() for a line */
    ident_hex(raw, sizeof(raw), out);
}

static const char tail_head[] = ",\"hash\":\"";

/* A line is BODY,"hash":"HEX"}: returns the length of BODY, or 0 when it is not such a line. */
static size_t body_of(const char *line, size_t len, char ret_hash[AUDIT_FILE_HEX])
{
    size_t tail = strlen(tail_head) + AUDIT_FILE_HEX - 1 + 2;
    if (len <= tail || memcmp(line + len - tail, tail_head, strlen(tail_head)) != 0 ||
        memcmp(line + len - 2, "\"}", 2) != 0)
        return 0;
    memcpy(ret_hash, line + len - 2 - (AUDIT_FILE_HEX - 1), AUDIT_FILE_HEX - 1);
    ret_hash[AUDIT_FILE_HEX - 1] = '\0';
    return len - tail;
}

/* -EBADMSG: the line does not continue the chain. */
static int chain_follow(struct chain *c, const char *line, size_t len, struct err *err)
{
    char said[AUDIT_FILE_HEX], is[AUDIT_FILE_HEX];
    JSON_OWNED j = NULL;
    size_t body = body_of(line, len, said);
    if (!body || json_read(line, len, &j, NULL) < 0)
        return err_set(err, ERR_CONFLICT, EBADMSG, "line after %lld: not a line of this log", (long long)c->seq);
    int64_t seq = json_get_int(j, "seq", 0);
    const char *prev = json_get_str(j, "prev", "");
    digest(line, body, is);
    if (strcmp(is, said) != 0)
        return err_set(err, ERR_CONFLICT, EBADMSG, "line %lld was changed: digest mismatch", (long long)seq);
    if (c->seq && (seq != c->seq + 1 || strcmp(prev, c->hash) != 0))
        return err_set(err, ERR_CONFLICT, EBADMSG, "line %lld is followed by line %lld: lines were removed or inserted",
                       (long long)c->seq, (long long)seq);
    c->seq = seq;
    memcpy(c->hash, is, sizeof(is));
    return 0;
}

/* --- reading --- */

struct reader {
    audit_file_line_fn *fn;
    void *arg;
    bool is_over;
    int64_t whole; /* bytes up to the end of the last complete line */
};

static int read_lines(int fd, struct reader *r)
{
    CLEANUP(buf_done) struct buf rest = BUF_INIT(AUDIT_FILE_LINE_MAX + PIECE);
    CLEANUP(free_p) char *piece = xzalloc(PIECE);
    ssize_t n;
    while (!r->is_over && (n = read(fd, piece, PIECE)) != 0) {
        if (n < 0)
            return -errno;
        if (buf_add(&rest, piece, (size_t)n) < 0)
            return -EFBIG; /* a line longer than any of ours */
        const char *at = rest.data, *end;
        size_t left = rest.len;
        while (!r->is_over && left && (end = memchr(at, '\n', left))) {
            r->is_over = !r->fn(r->arg, at, (size_t)(end - at));
            r->whole += end - at + 1;
            left -= (size_t)(end - at) + 1;
            at = end + 1;
        }
        buf_consume(&rest, rest.len - left);
    }
    if (rest.len && !r->is_over)
        r->is_over = !r->fn(r->arg, rest.data, rest.len); /* torn: the callback decides */
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_numbered(const struct dirent *e)
{
    return strlen(e->d_name) == strlen(NUMBERED) && strspn(e->d_name, "0123456789") == 16 &&
           strcmp(e->d_name + 16, ".jsonl") == 0;
}

static int open_folder(const char *dir, struct err *err)
{
    CLEANUP(free_p) char *path = xasprintf("%s/" AUDIT_FILE_FOLDER, dir);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : err_set(err, err_from_errno(errno), errno, "%s", path);
}

static int read_file(int dir, const char *name, struct reader *r, struct err *err)
{
    CLEANUP(close_fd_p) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return 0;
    int e = fd < 0 ? -errno : read_lines(fd, r);
    return e < 0 ? err_set(err, err_from_errno(-e), -e, AUDIT_FILE_FOLDER "/%s", name) : 0;
}

int audit_file_each(const char *dir, audit_file_line_fn *fn, void *arg, struct err *err)
{
    struct dirent **names = NULL;
    struct reader r = { .fn = fn, .arg = arg };
    CLEANUP(close_fd_p) int folder = open_folder(dir, err);
    if (folder < 0)
        return folder;
    int n = scandirat(folder, ".", &names, is_numbered, by_name);
    int e = n < 0 ? err_set(err, err_from_errno(errno), errno, AUDIT_FILE_FOLDER) : 0;
    for (int i = 0; i < n; i++) {
        if (e == 0 && !r.is_over)
            e = read_file(folder, names[i]->d_name, &r, err);
        free(names[i]);
    }
    free(names);
    return e < 0 || r.is_over ? e : read_file(folder, CURRENT, &r, err);
}

/* --- verifying --- */

struct verifying {
    struct chain chain;
    struct audit_file_verdict v;
    int64_t head_seq;
    char head_hash[AUDIT_FILE_HEX];
    bool has_met_head;
    struct err *err;
    int result;
};

static bool verify_line(void *arg, const char *line, size_t len)
{
    struct verifying *w = arg;
    w->result = chain_follow(&w->chain, line, len, w->err);
    if (w->result < 0)
        return false;
    if (w->v.lines++ == 0)
        w->v.first = w->chain.seq;
    if (w->chain.seq == w->head_seq)
        w->has_met_head = strcmp(w->chain.hash, w->head_hash) == 0;
    return true;
}

static void read_head(const char *dir, struct verifying *w)
{
    char text[128] = "";
    CLEANUP(free_p) char *path = xasprintf("%s/" AUDIT_FILE_FOLDER "/" HEAD, dir);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    char *end = text;
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return;
    long long seq = strtoll(text, &end, 10);
    size_t len = *end == ' ' ? strcspn(++end, " \n") : 0;
    if (len == 0 || len >= sizeof(w->head_hash))
        return;
    memcpy(w->head_hash, end, len);
    w->head_hash[len] = '\0';
    w->head_seq = seq;
}

int audit_file_verify(const char *dir, struct audit_file_verdict *ret, struct err *err)
{
    struct verifying w = { .err = err };
    read_head(dir, &w);
    int r = audit_file_each(dir, verify_line, &w, err);
    if (r < 0 || w.result < 0)
        return r < 0 ? r : w.result;
    if (w.head_seq && !w.has_met_head)
        return err_set(err, ERR_CONFLICT, EBADMSG,
                       "line %lld, the last that was written, is missing: the end was cut off", (long long)w.head_seq);
    w.v.last = w.chain.seq;
    w.v.is_trimmed = w.v.first > 1;
    memcpy(w.v.head, w.chain.hash, sizeof(w.v.head));
    *ret = w.v;
    return 0;
}

/* --- writing --- */

struct resuming {
    struct chain chain;
    int64_t first;
    bool is_bad;
};

/* Finds the last line that continues the chain. Lines that do not are left for `verify` to report; only a torn last
 * line is cut, since a crash may leave one. */
static bool resume_line(void *arg, const char *line, size_t len)
{
    struct resuming *r = arg;
    JSON_OWNED j = NULL;
    char hash[AUDIT_FILE_HEX];
    if (!body_of(line, len, hash) || json_read(line, len, &j, NULL) < 0) {
        r->is_bad = true;
        return true;
    }
    r->is_bad = false;
    r->chain.seq = json_get_int(j, "seq", r->chain.seq);
    r->first = r->first ? r->first : r->chain.seq;
    memcpy(r->chain.hash, hash, sizeof(hash));
    return true;
}

static int open_current(struct audit_file *f, struct err *err)
{
    f->fd = openat(f->dir, CURRENT, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return f->fd >= 0 ? 0 : err_set(err, err_from_errno(errno), errno, AUDIT_FILE_FOLDER "/" CURRENT);
}

static int chain_resume(struct audit_file *f, bool *ret_torn, struct err *err)
{
    struct resuming r = { 0 };
    struct stat st;
    memcpy(r.chain.hash, CHAIN_START, AUDIT_FILE_HEX);
    int e = open_current(f, err);
    if (e < 0)
        return e;
    struct reader reader = { .fn = resume_line, .arg = &r };
    e = read_lines(f->fd, &reader);
    if (e < 0 || fstat(f->fd, &st) < 0)
        return err_set(err, ERR_INTERNAL, e < 0 ? -e : errno, AUDIT_FILE_FOLDER "/" CURRENT);
    *ret_torn = reader.whole < st.st_size;
    if (*ret_torn && ftruncate(f->fd, reader.whole) < 0)
        return err_set(err, err_from_errno(errno), errno, "cutting a torn line off " AUDIT_FILE_FOLDER "/" CURRENT);
    f->bytes = reader.whole;
    f->first = r.first;
    if (!r.chain.seq) { /* the last line is in the last full file */
        struct dirent **names = NULL;
        int n = scandirat(f->dir, ".", &names, is_numbered, by_name);
        if (n < 0)
            return err_set(err, err_from_errno(errno), errno, AUDIT_FILE_FOLDER);
        for (int i = 0; i < n; i++) {
            if (i == n - 1)
                e = read_file(f->dir, names[i]->d_name, &reader, err);
            free(names[i]);
        }
        free(names);
    }
    f->chain = r.chain;
    return e;
}

int audit_file_open(const struct audit_file_options *o, struct audit_file **ret, bool *ret_torn, struct err *err)
{
    struct audit_file *f = xzalloc(sizeof(*f));
    CLEANUP(free_p) char *path = xasprintf("%s/" AUDIT_FILE_FOLDER, o->dir);
    *f = (struct audit_file){ .dir = NO_FD, .fd = NO_FD, .head_fd = NO_FD, .max_bytes = o->max_bytes, .keep = o->keep };
    f->waiting = (struct buf)BUF_INIT(QUEUE_MAX);
    int r = mkdir(path, 0700) < 0 && errno != EEXIST ? err_set(err, err_from_errno(errno), errno, "%s", path) : 0;
    if (r == 0) {
        f->dir = open_folder(o->dir, err);
        r = f->dir < 0 ? f->dir : chain_resume(f, ret_torn, err);
    }
    if (r == 0) {
        f->head_fd = openat(f->dir, HEAD, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        r = f->head_fd < 0 ? err_set(err, err_from_errno(errno), errno, "%s/" HEAD, path) : 0;
    }
    if (r < 0)
        (void)audit_file_close(f);
    else
        *ret = f;
    return r;
}

struct audit_file *audit_file_close(struct audit_file *f)
{
    if (!f)
        return NULL;
    if (f->fd >= 0)
        (void)close(f->fd);
    if (f->head_fd >= 0)
        (void)close(f->head_fd);
    if (f->dir >= 0)
        (void)close(f->dir);
    buf_done(&f->waiting);
    free(f);
    return NULL;
}

void audit_file_add(struct audit_file *f, json_t *entry)
{
    char hash[AUDIT_FILE_HEX];
    size_t len, was = f->waiting.len;
    (void)json_object_set_new(entry, "seq", json_integer(f->chain.seq + 1));
    if (f->lost)
        (void)json_object_set_new(entry, "lostBefore", json_integer(f->lost));
    (void)json_object_set_new(entry, "prev", json_string(f->chain.hash));
    CLEANUP(free_p) char *text = json_write(entry, &len);
    digest(text, len - 1, hash);
    if (len > AUDIT_FILE_LINE_MAX - 128 || buf_add(&f->waiting, text, len - 1) < 0 ||
        buf_addf(&f->waiting, "%s%s\"}\n", tail_head, hash) < 0) {
        f->waiting.len = was;
        f->lost++;
        return;
    }
    f->lost = 0;
    f->chain.seq++;
    f->first = f->first ? f->first : f->chain.seq;
    memcpy(f->chain.hash, hash, sizeof(hash));
}

size_t audit_file_waiting(const struct audit_file *f)
{
    return f->waiting.len;
}

static int file_rotate(struct audit_file *f, struct err *err)
{
    char name[sizeof(NUMBERED) + 8];
    (void)snprintf(name, sizeof(name), "%016lld.jsonl", (long long)f->first);
    if (renameat(f->dir, CURRENT, f->dir, name) < 0)
        return err_set(err, err_from_errno(errno), errno, AUDIT_FILE_FOLDER ": renaming a full file");
    int old = f->fd;
    int r = open_current(f, err);
    if (r < 0) { /* lines continue in the same file: the next flush tries again */
        f->fd = old;
        (void)renameat(f->dir, name, f->dir, CURRENT);
        return r;
    }
    (void)close(old);
    f->bytes = 0;
    f->first = 0;
    struct dirent **names = NULL; /* the oldest full files beyond keep go */
    int n = f->keep ? scandirat(f->dir, ".", &names, is_numbered, by_name) : 0;
    for (int i = 0; i < n; i++) {
        if (i < n - f->keep)
            (void)unlinkat(f->dir, names[i]->d_name, 0); /* on failure the next rotation tries again */
        free(names[i]);
    }
    free(names);
    return 0;
}

int audit_file_flush(struct audit_file *f, struct err *err)
{
    if (!f->waiting.len)
        return 0;
    ssize_t n = write(f->fd, f->waiting.data, f->waiting.len);
    if (n < (ssize_t)f->waiting.len) {
        int why = n < 0 ? errno : ENOSPC;
        if (n > 0 && ftruncate(f->fd, f->bytes) < 0) /* all or nothing: half a line would break the chain */
            return err_set(err, ERR_NO_SPACE, errno, "the audit log is torn: restart the server");
        return err_set(err, err_from_errno(why), why, "writing the audit log");
    }
    f->bytes += n;
    buf_clear(&f->waiting);
    char head[128];
    int len = snprintf(head, sizeof(head), "%lld %s\n", (long long)f->chain.seq, f->chain.hash);
    (void)!pwrite(f->head_fd, head, (size_t)len, 0); /* a head that lags behind still names a line of the chain */
    return f->bytes >= f->max_bytes ? file_rotate(f, err) : 0;
}
