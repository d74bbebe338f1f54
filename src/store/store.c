/* Theory of operation. One table of documents in SQLite, in WAL mode; struct store owns the connection and its prepared
 * statements. Order is the row id: an update keeps it, a delete and a new put get a new one.
 *
 * Lazy rows wait in a small batch in memory. Every call that could notice their absence (a read, a delete or a put of a
 * scope with waiting rows) writes the batch first, so the batch is never visible from outside except after a crash.
 *
 * A damaged file is moved aside at open, a new one is created and filled with the rows that salvage.c can read; an
 * error of the disk or of memory is not damage and fails the open. A failed write is reported and leaves the previous
 * document. */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/salvage.h"

#define STORE_MAGIC    0x53544f52u
#define SCHEMA_VERSION ((int)STORE_SCHEMA)
#define BUSY_MS        5000
#define LAZY_MAX       256
#define PAGE_ROWS      64
#define DOC_MAX_BYTES  (64u << 20)
#define NAME_MAX_BYTES 1024
#define WAL_HEAD       32

enum statement { PUT, GET, DELETE, EACH_UP, EACH_DOWN, COUNT, TRIM, CLEAR, BEGIN, COMMIT, ROLLBACK, STATEMENTS };

static const char *const statement_sql[STATEMENTS] = {
    [PUT] = ("INSERT INTO doc(scope,key,body) VALUES(?1,?2,?3) "
             "ON CONFLICT(scope,key) DO UPDATE SET body=excluded.body"),
    [GET] = "SELECT body FROM doc WHERE scope=?1 AND key=?2",
    [DELETE] = "DELETE FROM doc WHERE scope=?1 AND key=?2",
    [EACH_UP] = "SELECT seq,key,body FROM doc WHERE scope=?1 AND seq>?2 ORDER BY seq LIMIT ?3",
    [EACH_DOWN] = "SELECT seq,key,body FROM doc WHERE scope=?1 AND seq<?2 ORDER BY seq DESC LIMIT ?3",
    [COUNT] = "SELECT count(*) FROM doc WHERE scope=?1",
    [TRIM] = ("DELETE FROM doc WHERE scope=?1 AND seq<=coalesce((SELECT seq FROM doc WHERE scope=?1 "
              "ORDER BY seq DESC LIMIT 1 OFFSET ?2),-1)"),
    [CLEAR] = "DELETE FROM doc WHERE scope=?1",
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
};

/* The index on scope alone ends in the row id, which is the order store_each() walks. */
static const char schema_sql[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS doc(seq INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL,"
    " key TEXT NOT NULL, body TEXT NOT NULL, UNIQUE(scope,key));"
    "CREATE INDEX IF NOT EXISTS doc_order ON doc(scope);"
    "PRAGMA user_version=1;"
    "COMMIT;";

struct lazy_row {
    char *scope, *key, *body;
    size_t body_len;
};

struct store {
    unsigned magic;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    char *rescued_path;
    int64_t rescued_rows;
    bool in_transaction;
    struct lazy_row lazy[LAZY_MAX];
    size_t n_lazy;
};

/* SQLite does not say why a write failed. Tests it with an unnamed file: a file system that an error made read-only
 * does not show it in its flags. */
static bool is_read_only(const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(free_p) char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    CLEANUP(close_fd_p) int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    return fd < 0 && errno == EROFS;
}

static int db_error(struct store *s, const char *what, struct err *err)
{
    int rc = sqlite3_errcode(s->db);
    const char *text = sqlite3_errmsg(s->db);
    int primary = rc & 0xff;

    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
        return err_set(err, ERR_CAPACITY, 0, "%s: %s: another process holds the database for over %d ms", s->path, what,
                       BUSY_MS);
    if (primary == SQLITE_FULL)
        return err_set(err, ERR_NO_SPACE, 0, "%s: %s: no space left; free some and try again", s->path, what);
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        return err_set(err, ERR_INTERNAL, 0, "%s: %s: %s; it is kept aside and a new one is created at the next start",
                       s->path, what, text);
    bool is_unwritable = primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY;
    int sys = is_unwritable && is_read_only(s->path) ? EROFS : 0;
    return err_set(err, ERR_INTERNAL, sys, "%s: %s: %s", s->path, what, text);
}

static sqlite3_stmt *statement(struct store *s, enum statement which)
{
    if (!s->statements[which] && sqlite3_prepare_v3(s->db, statement_sql[which], -1, SQLITE_PREPARE_PERSISTENT,
                                                    &s->statements[which], NULL) != SQLITE_OK)
        return NULL;
    return s->statements[which];
}

static void statement_finish(sqlite3_stmt *st)
{
    (void)sqlite3_reset(st); /* repeats the error of the step, which was already reported */
    (void)sqlite3_clear_bindings(st);
}

static int run_plain(struct store *s, enum statement which, const char *what, struct err *err)
{
    sqlite3_stmt *st = statement(s, which);
    if (!st)
        return db_error(s, what, err);
    int rc = sqlite3_step(st);
    int r = rc == SQLITE_DONE ? 0 : db_error(s, what, err);
    statement_finish(st);
    return r;
}

static int check_names(const char *scope, const char *key, struct err *err)
{
    assert(scope && key);
    if (strlen(scope) > NAME_MAX_BYTES || strlen(key) > NAME_MAX_BYTES)
        return err_set(err, ERR_TOO_LARGE, 0, "store: scope or key is over %d bytes", NAME_MAX_BYTES);
    return 0;
}

static int encode(const char *scope, const char *key, const json_t *doc, char **ret, size_t *ret_len, struct err *err)
{
    int r = check_names(scope, key, err);
    if (r < 0)
        return r;
    char *body = json_dumps(doc, JSON_COMPACT | JSON_ENCODE_ANY); /* json_write() would turn a failure into "null" */
    if (!body)
        return err_set(err, ERR_INTERNAL, 0, "store: %s/%s: no memory for the document, or it is not JSON", scope, key);
    size_t len = strlen(body);
    if (len > DOC_MAX_BYTES) {
        free(body);
        return err_set(err, ERR_TOO_LARGE, 0, "store: %s/%s: %zu bytes, the limit is %u", scope, key, len,
                       DOC_MAX_BYTES);
    }
    *ret = body;
    *ret_len = len;
    return 0;
}

static int put_text(struct store *s, const char *scope, const char *key, const char *body, size_t len, struct err *err)
{
    sqlite3_stmt *st = statement(s, PUT);
    if (!st)
        return db_error(s, "put", err);
    int r = 0;
    if (sqlite3_bind_text(st, 1, scope, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text64(st, 3, body, len, SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK ||
        sqlite3_step(st) != SQLITE_DONE)
        r = db_error(s, "put", err);
    statement_finish(st);
    return r;
}

static void lazy_drop(struct store *s)
{
    for (size_t i = 0; i < s->n_lazy; i++) {
        free(s->lazy[i].scope);
        free(s->lazy[i].key);
        free(s->lazy[i].body);
    }
    s->n_lazy = 0;
}

static int lazy_write(struct store *s, struct err *err)
{
    for (size_t i = 0; i < s->n_lazy; i++) {
        const struct lazy_row *row = &s->lazy[i];
        int r = put_text(s, row->scope, row->key, row->body, row->body_len, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* On failure the rows stay queued, so that nothing is lost when a full disk has room again. */
int store_flush(struct store *s, struct err *err)
{
    assert(s->magic == STORE_MAGIC);
    if (s->n_lazy == 0)
        return 0;
    if (s->in_transaction) { /* part of the caller's own transaction: written now, on disk with its commit */
        int r = lazy_write(s, err);
        if (r == 0)
            lazy_drop(s);
        return r;
    }
    int r = run_plain(s, BEGIN, "begin", err);
    if (r < 0)
        return r;
    r = lazy_write(s, err);
    if (r == 0)
        r = run_plain(s, COMMIT, "commit", err);
    if (r < 0) {
        (void)run_plain(s, ROLLBACK, "rollback", NULL); /* the first error is the one to report */
        return r;
    }
    lazy_drop(s);
    return 0;
}

static int settle_scope(struct store *s, const char *scope, struct err *err)
{
    assert(s->magic == STORE_MAGIC);
    for (size_t i = 0; i < s->n_lazy; i++)
        if (strcmp(s->lazy[i].scope, scope) == 0)
            return store_flush(s, err);
    return 0;
}

int store_put(struct store *s, const char *scope, const char *key, const json_t *doc, struct err *err)
{
    CLEANUP(free_p) char *body = NULL;
    size_t len = 0;

    int r = encode(scope, key, doc, &body, &len, err);
    if (r == 0)
        r = settle_scope(s, scope, err);
    return r < 0 ? r : put_text(s, scope, key, body, len, err);
}

int store_put_lazy(struct store *s, const char *scope, const char *key, const json_t *doc, struct err *err)
{
    assert(s->magic == STORE_MAGIC);
    CLEANUP(free_p) char *body = NULL;
    size_t len = 0;

    int r = encode(scope, key, doc, &body, &len, err);
    if (r == 0 && s->n_lazy == LAZY_MAX)
        r = store_flush(s, err);
    if (r < 0)
        return r;
    s->lazy[s->n_lazy++] = (struct lazy_row){ xstrdup(scope), xstrdup(key), STEAL(body), len };
    return 0;
}

int store_get(struct store *s, const char *scope, const char *key, json_t **ret, struct err *err)
{
    int r = check_names(scope, key, err);
    if (r == 0)
        r = settle_scope(s, scope, err);
    if (r < 0)
        return r;
    sqlite3_stmt *st = statement(s, GET);
    if (!st || sqlite3_bind_text(st, 1, scope, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC) != SQLITE_OK)
        return db_error(s, "get", err);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        r = text ? json_read(text, (size_t)sqlite3_column_bytes(st, 0), ret, err) : db_error(s, "get", err);
        if (r < 0)
            r = err_wrap(err, r, "store: %s/%s", scope, key);
    } else if (rc == SQLITE_DONE) {
        r = err_set(err, ERR_NOT_FOUND, 0, "%s/%s: not found", scope, key);
    } else {
        r = db_error(s, "get", err);
    }
    statement_finish(st);
    return r;
}

int store_delete(struct store *s, const char *scope, const char *key, struct err *err)
{
    int r = check_names(scope, key, err);
    if (r == 0)
        r = settle_scope(s, scope, err);
    if (r < 0)
        return r;
    sqlite3_stmt *st = statement(s, DELETE);
    if (!st)
        return db_error(s, "delete", err);
    if (sqlite3_bind_text(st, 1, scope, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_text(st, 2, key, -1, SQLITE_STATIC) != SQLITE_OK || sqlite3_step(st) != SQLITE_DONE)
        r = db_error(s, "delete", err);
    statement_finish(st);
    return r;
}

struct page {
    struct {
        char *key;
        json_t *doc;
    } rows[PAGE_ROWS];
    size_t n;
    int64_t last_seq;
};

static int page_read(struct store *s, enum statement which, const char *scope, struct page *p, struct err *err)
{
    sqlite3_stmt *st = statement(s, which);
    if (!st || sqlite3_bind_text(st, 1, scope, -1, SQLITE_STATIC) != SQLITE_OK ||
        sqlite3_bind_int64(st, 2, p->last_seq) != SQLITE_OK || sqlite3_bind_int(st, 3, PAGE_ROWS) != SQLITE_OK)
        return db_error(s, "walk", err);
    int r = 0, rc;
    while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW && p->n < PAGE_ROWS) {
        const char *key = (const char *)sqlite3_column_text(st, 1);
        const char *text = (const char *)sqlite3_column_text(st, 2);
        if (!key || !text) {
            r = db_error(s, "walk", err);
            break;
        }
        r = json_read(text, (size_t)sqlite3_column_bytes(st, 2), &p->rows[p->n].doc, err);
        if (r < 0) {
            (void)err_wrap(err, r, "store: %s/%s", scope, key);
            break;
        }
        p->last_seq = sqlite3_column_int64(st, 0);
        p->rows[p->n++].key = xstrdup(key);
    }
    if (r == 0 && rc != SQLITE_DONE && rc != SQLITE_ROW)
        r = db_error(s, "walk", err);
    statement_finish(st);
    return r;
}

/* Reads page by page with no statement open while fn runs: fn may put, delete and walk. */
int store_each(struct store *s, const char *scope, bool is_newest_first, store_each_fn *fn, void *arg, struct err *err)
{
    int r = settle_scope(s, scope, err);
    struct page p = { .last_seq = is_newest_first ? INT64_MAX : -1 };
    bool is_going = r == 0;

    while (is_going) {
        r = page_read(s, is_newest_first ? EACH_DOWN : EACH_UP, scope, &p, err);
        is_going = r == 0 && p.n == PAGE_ROWS;
        for (size_t i = 0; r == 0 && i < p.n; i++)
            if (!fn(arg, p.rows[i].key, p.rows[i].doc)) {
                is_going = false;
                break;
            }
        while (p.n > 0) {
            free(p.rows[--p.n].key);
            json_decref(p.rows[p.n].doc);
        }
    }
    return r;
}

/* For the calls without err: a failure counts as zero rows. */
static int64_t run_scoped(struct store *s, enum statement which, const char *scope, int64_t number)
{
    if (settle_scope(s, scope, NULL) < 0)
        return 0;
    sqlite3_stmt *st = statement(s, which);
    if (!st || sqlite3_bind_text(st, 1, scope, -1, SQLITE_STATIC) != SQLITE_OK)
        return 0;
    if (which == TRIM && sqlite3_bind_int64(st, 2, number) != SQLITE_OK)
        return 0;
    int rc = sqlite3_step(st);
    int64_t n = 0;
    if (rc == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    else if (rc == SQLITE_DONE)
        n = sqlite3_changes64(s->db);
    statement_finish(st);
    return n;
}

int64_t store_count(struct store *s, const char *scope)
{
    return run_scoped(s, COUNT, scope, 0);
}

int64_t store_trim(struct store *s, const char *scope, int64_t keep)
{
    return run_scoped(s, TRIM, scope, keep < 0 ? 0 : keep);
}

int64_t store_clear(struct store *s, const char *scope)
{
    return run_scoped(s, CLEAR, scope, 0);
}

int store_begin(struct store *s, struct err *err)
{
    assert(!s->in_transaction);
    int r = store_flush(s, err); /* so that a rollback undoes only later changes */
    if (r == 0)
        r = run_plain(s, BEGIN, "begin", err);
    s->in_transaction = r == 0;
    return r;
}

int store_commit(struct store *s, struct err *err)
{
    assert(s->in_transaction);
    int r = run_plain(s, COMMIT, "commit", err);
    if (r < 0)
        (void)run_plain(s, ROLLBACK, "rollback", NULL); /* all or nothing: a failed commit changes nothing */
    s->in_transaction = false;
    return r;
}

void store_rollback(struct store *s)
{
    assert(s->in_transaction);
    (void)run_plain(s, ROLLBACK, "rollback", NULL); /* fails only when SQLite has already rolled back */
    s->in_transaction = false;
}

/* The number that a one-value query returns, or -1. */
static int64_t query_number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *st = NULL;
    int64_t n = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        n = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return n;
}

/* SQLITE_OK, SQLITE_CORRUPT, or why it is unknown: an error of the disk or of memory is not damage, and may be gone the
 * next time. The check itself reports an unreadable page in the same way as a bad one. */
static int check_integrity(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(st, 0);
        bool is_unread = text && (strstr(text, "error code=") || strstr(text, "failed to get page"));
        rc = !text ? SQLITE_NOMEM : strcmp(text, "ok") == 0 ? SQLITE_OK : is_unread ? SQLITE_IOERR : SQLITE_CORRUPT;
    }
    (void)sqlite3_finalize(st);
    return (rc & 0xff) == SQLITE_NOTADB ? SQLITE_CORRUPT : rc & 0xff;
}

static void close_db(struct store *s)
{
    for (int i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(s->statements[i]);
        s->statements[i] = NULL;
    }
    (void)sqlite3_close(s->db); /* no statement is open on it */
    s->db = NULL;
}

/* -EUCLEAN: the file is damaged. */
static int open_db(struct store *s, struct err *err)
{
    int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    if (!s->db)
        return err_set(err, ERR_INTERNAL, ENOMEM, "%s", s->path);
    if (rc != SQLITE_OK)
        return db_error(s, "open", err);
    (void)sqlite3_busy_timeout(s->db, BUSY_MS);
    rc = sqlite3_exec(s->db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA trusted_schema=OFF", NULL,
                      NULL, NULL);
    int primary = rc & 0xff;
    if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT)
        return -EUCLEAN;
    if (rc != SQLITE_OK)
        return db_error(s, "open", err);
    int64_t version = query_number(s->db, "PRAGMA user_version");
    if (version < 0)
        return db_error(s, "read its version", err);
    if (version > SCHEMA_VERSION)
        return err_set(
            err, ERR_CONFLICT, 0,
            "%s: written by a newer version (schema %lld, this one supports %d): update, or use another data folder",
            s->path, (long long)version, SCHEMA_VERSION);
    rc = check_integrity(s->db);
    if (rc != SQLITE_OK)
        return rc == SQLITE_CORRUPT
                   ? -EUCLEAN
                   : err_set(err, ERR_INTERNAL, 0, "%s: cannot be checked: %s; nothing was changed: try again", s->path,
                             sqlite3_errstr(rc));
    if (version < SCHEMA_VERSION && sqlite3_exec(s->db, schema_sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error(s, "make the tables", err);
    return 0;
}

/* SQLite ignores a log whose header it cannot read, and with it everything written since the last checkpoint: that is a
 * loss, and must be reported as one. */
static bool is_log_garbage(const char *path)
{
    CLEANUP(free_p) char *log = xasprintf("%s-wal", path);
    CLEANUP(close_fd_p) int fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char head[WAL_HEAD];
    if (fd < 0 || pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return false; /* none, or a new one */
    return head[0] != 0x37 || head[1] != 0x7f || head[2] != 0x06 || (head[3] & 0xfe) != 0x82;
}

static bool keep_row(void *arg, const char *scope, const char *key, const char *body, size_t len)
{
    struct store *s = arg;
    bool is_kept = put_text(s, scope, key, body, len, NULL) == 0;
    s->rescued_rows += is_kept;
    return is_kept || sqlite3_errcode(s->db) == SQLITE_CONSTRAINT;
}

/* The file is damaged: keeps it aside, creates a new one and fills it with the rows that can be read. When they cannot
 * be copied because the host ran out of something, the files are put back, so that the next start tries again. */
static int store_rescue(struct store *s, struct err *err)
{
    static const char *const endings[] = { "", "-wal", "-shm" };
    CLEANUP(free_p) char *aside = xasprintf("%s.corrupt-%lld", s->path, (long long)clock_wall_ms());
    CLEANUP(free_p) char *scratch = xasprintf("%s.salvage", s->path);
    close_db(s);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        CLEANUP(free_p) char *from = xasprintf("%s%s", s->path, endings[i]);
        CLEANUP(free_p) char *to = xasprintf("%s%s", aside, endings[i]);
        if (rename(from, to) < 0 && errno != ENOENT)
            return err_set(err, ERR_INTERNAL, errno, "%s is damaged and cannot be kept aside as %s", from, to);
    }
    s->rescued_path = STEAL(aside);
    int r = open_db(s, err);
    if (r == -EUCLEAN)
        r = err_set(err, ERR_INTERNAL, 0, "%s: damaged again right after it was created: check the disk", s->path);
    if (r < 0)
        return r;
    r = store_begin(s, err);
    if (r == 0 && (r = salvage_run(s->rescued_path, scratch, schema_sql, keep_row, s, err)) < 0)
        store_rollback(s);
    else if (r == 0)
        r = store_commit(s, err);
    if (r == 0)
        return 0;
    close_db(s);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        CLEANUP(free_p) char *to = xasprintf("%s%s", s->path, endings[i]);
        CLEANUP(free_p) char *from = xasprintf("%s%s", s->rescued_path, endings[i]);
        (void)unlink(to); /* of the new database */
        (void)rename(from, to);
    }
    return r;
}

int store_open(const char *path, struct store **ret, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = xzalloc(sizeof(*s));
    s->magic = STORE_MAGIC;
    s->path = xstrdup(path);

    /* SQLite creates files by umask; nobody else may read the state. The WAL gets the mode of the database. */
    if (strcmp(path, STORE_IN_MEMORY) != 0) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
            return err_set(err, err_from_errno(errno), errno, "open %s", path);
        (void)close(fd);
    }
    int r = is_log_garbage(s->path) ? -EUCLEAN : open_db(s, err);
    if (r == -EUCLEAN)
        r = store_rescue(s, err);
    if (r < 0)
        return r;
    *ret = STEAL(s);
    return 0;
}

int store_probe(const char *path, struct err *err)
{
    sqlite3 *db = NULL;
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : err_set(err, err_from_errno(errno), errno, "open %s", path);
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL);
    int64_t version = rc == SQLITE_OK && sqlite3_busy_timeout(db, BUSY_MS) == SQLITE_OK
                          ? query_number(db, "PRAGMA user_version")
                          : -1;
    bool is_good = version >= 0 && check_integrity(db) == SQLITE_OK;
    (void)sqlite3_close(db); /* no statement is open on it */
    if (!is_good)
        return err_set(err, ERR_CONFLICT, 0, "%s cannot be read, or is damaged", path);
    if (version > SCHEMA_VERSION)
        return err_set(err, ERR_CONFLICT, 0, "%s: written by a newer version (schema %lld, this one supports %d)", path,
                       (long long)version, SCHEMA_VERSION);
    return 0;
}

struct store *store_close(struct store *s)
{
    if (!s)
        return NULL;
    assert(s->magic == STORE_MAGIC);
    if (s->db) {
        if (s->in_transaction)
            store_rollback(s);
        (void)store_flush(s, NULL); /* callers who need the result flush first */
        close_db(s);
    }
    lazy_drop(s);
    free(s->path);
    free(s->rescued_path);
    s->magic = 0;
    free(s);
    return NULL;
}

int store_was_rescued(const struct store *s)
{
    return s->rescued_path != NULL;
}

int64_t store_rescued_rows(const struct store *s)
{
    return s->rescued_rows;
}

const char *store_rescued_path(const struct store *s)
{
    return s->rescued_path;
}
