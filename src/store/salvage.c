/* Theory of operation. SQLite reports damage where it meets it, so reading row by row over the row id yields every row
 * that is not on a damaged page. When page 1 itself is bad (file header, list of tables), the first page of an empty
 * database with the same schema replaces it: the tables of one schema always start on the same pages. */
#include "store/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"

#define PAGE        4096
#define BLIND_STEPS 100000 /* missing rows tried in sequence when the number of rows is unknown */

static const char *const endings[] = { "", "-wal", "-shm" };

static void remove_scratch(const char *scratch)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        CLEANUP(free_p) char *path = xasprintf("%s%s", scratch, endings[i]);
        (void)unlink(path); /* absent is fine */
    }
}

static int copy_file(const char *from, const char *to, struct err *err)
{
    CLEANUP(close_fd_p) int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (in < 0)
        return errno == ENOENT ? 0 : err_set(err, err_from_errno(errno), errno, "salvage: open %s", from);
    CLEANUP(close_fd_p) int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (out < 0)
        return err_set(err, err_from_errno(errno), errno, "salvage: make %s", to);
    for (;;) {
        char piece[65536];
        ssize_t n = read(in, piece, sizeof(piece));
        if (n == 0)
            return 0;
        if (n < 0 || write(out, piece, (size_t)n) != n)
            return err_set(err, err_from_errno(errno), errno, "salvage: copy %s (free space and restart)", from);
    }
}

/* Writes the first page of an empty database with these tables, adapted to the page count of path. */
static int replace_first_page(const char *path, const char *schema_sql)
{
    sqlite3 *empty = NULL;
    sqlite3_int64 size = 0;
    struct stat st;
    int r = -EIO;
    CLEANUP(close_fd_p) int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char *image = NULL;
    if (sqlite3_open(":memory:", &empty) == SQLITE_OK && sqlite3_exec(empty, schema_sql, NULL, NULL, NULL) == SQLITE_OK)
        image = sqlite3_serialize(empty, "main", &size, 0);
    if (image && size >= PAGE && fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= PAGE) {
        uint64_t pages = (uint64_t)st.st_size / PAGE;
        image[18] = image[19] = 2; /* write-ahead log */
        for (int i = 0; i < 4; i++)
            image[28 + i] = (unsigned char)(pages >> (24 - 8 * i));
        memset(image + 32, 0, 8); /* no list of free pages: we only read */
        r = pwrite(fd, image, PAGE, 0) == PAGE ? 0 : -errno;
    }
    sqlite3_free(image);
    (void)sqlite3_close(empty);
    return r;
}

static int64_t last_row(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    int64_t last = -1;
    if (sqlite3_prepare_v2(db, "SELECT seq FROM sqlite_sequence WHERE name='doc'", -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step(st) == SQLITE_ROW)
        last = sqlite3_column_int64(st, 0);
    (void)sqlite3_finalize(st);
    return last;
}

static bool take_row(sqlite3_stmt *st, salvage_fn *fn, void *arg)
{
    const char *scope = (const char *)sqlite3_column_text(st, 1), *key = (const char *)sqlite3_column_text(st, 2);
    const char *body = (const char *)sqlite3_column_text(st, 3);
    size_t len = (size_t)sqlite3_column_bytes(st, 3);
    json_t *doc = NULL;
    if (!scope || !key || !body || json_read(body, len, &doc, NULL) < 0)
        return true; /* partly lost: skip the row */
    json_decref(doc);
    return fn(arg, scope, key, body, len);
}

/* True: a table could be read. */
static bool walk_file(const char *path, salvage_fn *fn, void *arg)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    bool is_read =
        sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF", NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT seq,scope,key,body FROM doc WHERE seq>=?1 ORDER BY seq LIMIT 1", -1, &st,
                           NULL) == SQLITE_OK;
    int64_t last = is_read ? last_row(db) : 0, at = 0, blind = 0;
    for (bool is_going = is_read; is_going && (last >= 0 ? at <= last : blind < BLIND_STEPS); at++) {
        (void)sqlite3_bind_int64(st, 1, at); /* a number always fits */
        int rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) {
            at = sqlite3_column_int64(st, 0);
            blind = 0;
            is_going = take_row(st, fn, arg);
        } else if (rc == SQLITE_DONE) {
            is_going = false; /* no row after this one */
        } else {
            blind++; /* damaged here: try the next row id */
        }
        (void)sqlite3_reset(st); /* its error was handled */
    }
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    return is_read;
}

int salvage_run(const char *damaged, const char *scratch, const char *schema_sql, salvage_fn *fn, void *arg,
                struct err *err)
{
    int r = 0;
    remove_scratch(scratch);
    for (size_t i = 0; r == 0 && i < 2; i++) {
        CLEANUP(free_p) char *from = xasprintf("%s%s", damaged, endings[i]);
        CLEANUP(free_p) char *to = xasprintf("%s%s", scratch, endings[i]);
        r = copy_file(from, to, err);
    }
    if (r == 0 && !walk_file(scratch, fn, arg) && replace_first_page(scratch, schema_sql) == 0)
        (void)walk_file(scratch, fn, arg); /* nothing readable: no rows */
    remove_scratch(scratch);
    return r;
}
