#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "scrapfolder.h"
#include "store/store.h"
#include "tap.h"

static char folder[] = "/tmp/test_store.XXXXXX";
static int file_count;

static char *new_path(void)
{
    return xasprintf("%s/%d.db", folder, ++file_count);
}

static struct store *open_at(const char *path)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(store_open(path, &s, &err), 0);
    if (!s) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    return s;
}

static void put_int(struct store *s, const char *key, int value)
{
    JSON_OWNED doc = json_pack("{s:i}", "v", value);
    CHECK_INT(store_put(s, "a", key, doc, NULL), 0);
}

static int64_t get_int(struct store *s, const char *key)
{
    JSON_OWNED doc = NULL;
    return store_get(s, "a", key, &doc, NULL) < 0 ? -1 : json_get_int(doc, "v", -2);
}

struct walk {
    char text[4096];
    struct store *s;
    int stop_after, seen;
    bool is_deleting;
};

static bool note_key(void *arg, const char *key, json_t *doc)
{
    struct walk *w = arg;
    size_t at = strlen(w->text);
    if (at + strlen(key) + 2 < sizeof(w->text))
        (void)snprintf(w->text + at, sizeof(w->text) - at, "%s ", key);
    if (w->is_deleting)
        CHECK_INT(store_delete(w->s, "a", key, NULL), 0);
    CHECK(json_is_object(doc));
    return ++w->seen != w->stop_after;
}

TEST(keeps_documents_over_a_restart_and_in_order)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    put_int(s, "c", 1);
    put_int(s, "a", 2);
    put_int(s, "b", 3);
    put_int(s, "c", 4); /* keeps its place */
    s = store_close(s);

    s = open_at(path);
    CHECK_INT(get_int(s, "c"), 4);
    struct walk up = { .s = s }, down = { .s = s }, first = { .s = s, .stop_after = 1 };
    CHECK_INT(store_each(s, "a", false, note_key, &up, NULL), 0);
    CHECK_STR(up.text, "c a b ");
    CHECK_INT(store_each(s, "a", true, note_key, &down, NULL), 0);
    CHECK_STR(down.text, "b a c ");
    CHECK_INT(store_each(s, "a", true, note_key, &first, NULL), 0);
    CHECK_STR(first.text, "b ");
    CHECK_INT(store_count(s, "a"), 3);
    CHECK_INT(store_count(s, "other"), 0);
}

TEST(says_what_is_not_there_and_deletes_quietly)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    struct err err = ERR_INIT;
    json_t *doc = NULL;
    CHECK_INT(store_get(s, "a", "ghost", &doc, &err), -ENOENT);
    CHECK_STR(err.msg, "a/ghost: not found");
    CHECK(doc == NULL);
    CHECK_INT(store_delete(s, "a", "ghost", &err), 0);
}

TEST(walks_many_pages_and_lets_the_callback_delete)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    for (int i = 0; i < 200; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i);
        put_int(s, key, i);
    }
    struct walk w = { .s = s, .is_deleting = true };
    CHECK_INT(store_each(s, "a", false, note_key, &w, NULL), 0);
    CHECK_INT(w.seen, 200);
    CHECK_INT(store_count(s, "a"), 0);
}

TEST(trims_and_clears)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    put_int(s, "1", 1);
    put_int(s, "2", 2);
    put_int(s, "3", 3);
    CHECK_INT(store_trim(s, "a", 3), 0);
    CHECK_INT(store_trim(s, "a", 2), 1);
    CHECK_INT(get_int(s, "1"), -1);
    CHECK_INT(get_int(s, "2"), 2);
    CHECK_INT(store_trim(s, "a", 0), 2);
    put_int(s, "4", 4);
    CHECK_INT(store_clear(s, "a"), 1);
    CHECK_INT(store_clear(s, "a"), 0);
}

TEST(transactions_are_whole_or_nothing)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    put_int(s, "kept", 1);
    CHECK_INT(store_begin(s, NULL), 0);
    put_int(s, "gone", 1);
    CHECK_INT(store_delete(s, "a", "kept", NULL), 0);
    store_rollback(s);
    CHECK_INT(get_int(s, "kept"), 1);
    CHECK_INT(get_int(s, "gone"), -1);
    CHECK_INT(store_begin(s, NULL), 0);
    put_int(s, "new", 2);
    CHECK_INT(store_commit(s, NULL), 0);
    CHECK_INT(get_int(s, "new"), 2);
}

TEST(lazy_rows_are_seen_at_once_and_flushed_when_many)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    CLEANUP(store_close_p) struct store *other = open_at(path);
    JSON_OWNED doc = json_pack("{s:i}", "v", 7);
    CHECK_INT(store_put_lazy(s, "a", "x", doc, NULL), 0);
    CHECK_INT(store_count(other, "a"), 0); /* still only in memory */
    CHECK_INT(get_int(s, "x"), 7);         /* reading settles */
    CHECK_INT(store_count(other, "a"), 1);
    for (int i = 0; i < 257; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "l%d", i);
        CHECK_INT(store_put_lazy(s, "a", key, doc, NULL), 0);
    }
    CHECK_INT(store_count(other, "a"), 257); /* one batch of 256 went by itself */
    CHECK_INT(store_flush(s, NULL), 0);
    CHECK_INT(store_count(other, "a"), 258);
}

TEST(a_killed_writer_loses_nothing_it_was_told_is_stored)
{
    CLEANUP(free_p) char *path = new_path();
    pid_t pid = fork();
    if (pid == 0) {
        struct store *s = open_at(path);
        put_int(s, "done", 5);
        (void)store_begin(s, NULL);
        put_int(s, "half", 6);
        _exit(0); /* no close: as good as killed */
    }
    CHECK(pid > 0 && waitpid(pid, NULL, 0) == pid);
    CLEANUP(store_close_p) struct store *s = open_at(path);
    CHECK_INT(get_int(s, "done"), 5);
    CHECK_INT(get_int(s, "half"), -1);
    CHECK_INT(store_was_rescued(s), 0);
}

TEST(keeps_a_damaged_file_aside_and_starts_anew)
{
    CLEANUP(free_p) char *path = new_path();
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    for (int i = 0; f && i < 1000; i++)
        (void)fputs("this is no database ", f);
    CHECK(f && fclose(f) == 0);
    CLEANUP(store_close_p) struct store *s = open_at(path);
    CHECK_INT(store_was_rescued(s), 1);
    struct stat st;
    CHECK(store_rescued_path(s) && stat(store_rescued_path(s), &st) == 0 && st.st_size == 20000);
    put_int(s, "x", 1);
    CHECK_INT(get_int(s, "x"), 1);
}

/* Fills a store, damages its file at offset (-1: cuts it to half), and opens it again. */
static struct store *damaged(const char *path, off_t offset, size_t len)
{
    struct store *s = open_at(path);
    struct stat st;
    CHECK_INT(store_begin(s, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "k%d", i);
        put_int(s, key, i);
    }
    CHECK_INT(store_commit(s, NULL), 0);
    (void)store_close(s);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char junk[8192];
    memset(junk, 0xee, sizeof(junk));
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    if (offset < 0)
        CHECK(ftruncate(fd, st.st_size / 2) == 0);
    else
        CHECK(pwrite(fd, junk, len, offset) == (ssize_t)len);
    (void)close(fd);
    s = open_at(path);
    CHECK_INT(store_was_rescued(s), 1);
    CHECK(stat(store_rescued_path(s), &st) == 0);
    CHECK_INT(store_count(s, "a"), store_rescued_rows(s));
    return s;
}

static bool is_rising(void *arg, const char *key, json_t *doc)
{
    int *last = arg, n = (int)strtol(key + 1, NULL, 10);
    CHECK(n > *last && n == (int)json_get_int(doc, "v", -1));
    *last = n;
    return true;
}

TEST(what_is_not_on_a_damaged_page_is_salvaged)
{
    static const struct {
        off_t offset;
        size_t len;
        int at_least;
    } cases[] = { { 0, 16, 2000 },      { 0, 100, 2000 },      { 0, 4096, 2000 },
                  { 8192, 4096, 1900 }, { 40960, 8192, 1700 }, { -1, 0, 500 } };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CLEANUP(free_p) char *path = new_path();
        CLEANUP(store_close_p) struct store *s = damaged(path, cases[i].offset, cases[i].len);
        int last = -1;
        CHECK(store_rescued_rows(s) >= cases[i].at_least);
        CHECK_INT(store_each(s, "a", false, is_rising, &last, NULL), 0);
        put_int(s, "new", 7);
        s = store_close(s);
        s = open_at(path);
        CHECK_INT(store_was_rescued(s), 0); /* once */
        CHECK_INT(get_int(s, "new"), 7);
    }
}

TEST(refuses_a_newer_schema_and_leaves_it_alone)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    put_int(s, "x", 1);
    s = store_close(s);
    sqlite3 *db = NULL;
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    struct err err = ERR_INIT;
    CHECK_INT(store_open(path, &s, &err), -EEXIST);
    CHECK(s == NULL && strstr(err.msg, "schema 99") != NULL);
}

TEST(refuses_keys_over_the_limit)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    char key[1026];
    memset(key, 'k', sizeof(key));
    key[1025] = 0;
    JSON_OWNED doc = json_object();
    struct err err = ERR_INIT;
    CHECK_INT(store_put(s, "a", key, doc, &err), -E2BIG);
    CHECK_INT(store_put_lazy(s, "a", key, doc, &err), -E2BIG);
    key[1024] = 0;
    CHECK_INT(store_put(s, "a", key, doc, &err), 0);
}

TEST(the_file_is_private_and_a_missing_folder_is_named)
{
    CLEANUP(free_p) char *path = new_path();
    CLEANUP(store_close_p) struct store *s = open_at(path);
    struct stat st;
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    struct store *none = NULL;
    struct err err = ERR_INIT;
    CLEANUP(free_p) char *missing = xasprintf("%s-missing/x.db", path);
    CHECK(store_open(missing, &none, &err) < 0);
    CHECK(strstr(err.msg, missing) != NULL);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    RUN(keeps_documents_over_a_restart_and_in_order);
    RUN(says_what_is_not_there_and_deletes_quietly);
    RUN(walks_many_pages_and_lets_the_callback_delete);
    RUN(trims_and_clears);
    RUN(transactions_are_whole_or_nothing);
    RUN(lazy_rows_are_seen_at_once_and_flushed_when_many);
    RUN(a_killed_writer_loses_nothing_it_was_told_is_stored);
    RUN(keeps_a_damaged_file_aside_and_starts_anew);
    RUN(what_is_not_on_a_damaged_page_is_salvaged);
    RUN(refuses_a_newer_schema_and_leaves_it_alone);
    RUN(refuses_keys_over_the_limit);
    RUN(the_file_is_private_and_a_missing_folder_is_named);
    scrapfolder_remove(folder);
    return tap_done();
}
