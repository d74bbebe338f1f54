/* The store with failing system calls and allocations: what was acknowledged is there, what was not is whole or absent.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"
#include "store/store.h"

static const char *db_of(const char *dir)
{
    static char path[256];
    (void)snprintf(path, sizeof(path), "%s/state.db", dir);
    return path;
}

static json_t *doc(int n)
{
    return json_pack("{s:i,s:s}", "n", n, "text", "some words that take up a little room in a page");
}

static int put(struct store *s, const char *scope, const char *key, int n, struct err *err)
{
    JSON_OWNED d = doc(n);
    return store_put(s, scope, key, d, err);
}

static void setup(const char *dir)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    char key[16];
    if (store_open(db_of(dir), &s, NULL) < 0)
        abort();
    for (int i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i);
        if (put(s, "a", key, i, NULL) < 0)
            abort();
    }
}

static void setup_damaged(const char *dir)
{
    setup(dir);
    int fd = open(db_of(dir), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || pwrite(fd, "this is no database any more", 28, 0) != 28)
        abort();
    (void)close(fd);
}

/* The ten documents of setup(), all whole. */
static const char *check_ten(struct store *s)
{
    static char why[64];
    char key[16];
    for (int i = 0; i < 10; i++) {
        JSON_OWNED d = NULL;
        (void)snprintf(key, sizeof(key), "k%d", i);
        if (store_get(s, "a", key, &d, NULL) < 0 || json_get_int(d, "n", -1) != i) {
            (void)snprintf(why, sizeof(why), "document %s is lost", key);
            return why;
        }
    }
    return NULL;
}

static const char *open_and_check(const char *dir, struct store **ret)
{
    static char why[500];
    struct err err = ERR_INIT;
    if (store_open(db_of(dir), ret, &err) < 0) {
        (void)snprintf(why, sizeof(why), "cannot be opened: %s", err.msg);
        return why;
    }
    return store_was_rescued(*ret) ? "a sound database was taken for a damaged one" : NULL;
}

static const char *check_plain(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    const char *wrong = open_and_check(dir, &s);
    (void)was_done;
    return wrong ? wrong : check_ten(s);
}

static int run_open_new(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    return store_open(db_of(dir), &s, err);
}

static const char *check_new(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    const char *wrong = open_and_check(dir, &s);
    (void)was_done;
    return wrong ? wrong : put(s, "a", "b", 1, NULL) < 0 ? "nothing can be put into it" : NULL;
}

static int run_put(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    int r = store_open(db_of(dir), &s, err);
    if (r == 0)
        r = put(s, "b", "new", 42, err);
    if (r == 0)
        r = put(s, "b", "new", 43, err);
    return r;
}

static const char *check_put(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    JSON_OWNED d = NULL;
    const char *wrong = open_and_check(dir, &s);
    if (wrong || (wrong = check_ten(s)))
        return wrong;
    int r = store_get(s, "b", "new", &d, NULL);
    if (was_done && (r < 0 || json_get_int(d, "n", 0) != 43))
        return "what was acknowledged is not there";
    return NULL;
}

static int run_put_large(const char *dir, struct err *err)
{
    enum { LARGE = 3 << 20 };
    CLEANUP(store_close_p) struct store *s = NULL;
    CLEANUP(free_p) char *text = malloc(LARGE + 1);
    int r = store_open(db_of(dir), &s, err);
    if (r < 0)
        return r;
    if (!text)
        return err_set(err, ERR_INTERNAL, ENOMEM, "the text");
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    JSON_OWNED d = json_pack("{s:i,s:s}", "n", 43, "text", text);
    return store_put(s, "b", "new", d, err);
}

static int run_lazy(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    JSON_OWNED d = doc(1);
    int r = store_open(db_of(dir), &s, err);
    for (int i = 0; r == 0 && i < 5; i++)
        r = store_put_lazy(s, "lazy", i % 2 ? "x" : "y", d, err);
    return r == 0 ? store_flush(s, err) : r;
}

static const char *check_lazy(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    const char *wrong = open_and_check(dir, &s);
    if (wrong || (wrong = check_ten(s)))
        return wrong;
    return was_done && store_count(s, "lazy") != 2 ? "what was flushed is not there" : NULL;
}

static int run_transaction(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    int r = store_open(db_of(dir), &s, err);
    if (r == 0)
        r = store_begin(s, err);
    if (r < 0)
        return r;
    r = put(s, "t", "one", 1, err);
    if (r == 0)
        r = put(s, "t", "two", 2, err);
    if (r == 0)
        r = store_delete(s, "a", "k9", err);
    if (r == 0)
        return store_commit(s, err);
    store_rollback(s);
    return r;
}

static const char *check_transaction(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    const char *wrong = open_and_check(dir, &s);
    if (wrong)
        return wrong;
    int64_t new = store_count(s, "t"), old = store_count(s, "a");
    if (!(new == 2 && old == 9) && !(new == 0 && old == 10))
        return "half a transaction is there";
    return was_done && new == 0 ? "what was committed is not there" : NULL;
}

static bool see(void *arg, const char *key, json_t *d)
{
    (void)key, (void)d;
    ++*(int *)arg;
    return true;
}

static int run_read(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    JSON_OWNED d = NULL;
    int seen = 0, r = store_open(db_of(dir), &s, err);
    if (r == 0)
        r = store_each(s, "a", true, see, &seen, err);
    if (r == 0)
        r = store_get(s, "a", "k3", &d, err);
    if (r == 0 && (seen != 10 || json_get_int(d, "n", 0) != 3))
        abort(); /* documents were left out without a word */
    return r;
}

static int run_trim(const char *dir, struct err *err)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    int r = store_open(db_of(dir), &s, err);
    if (r == 0)
        r = store_delete(s, "a", "k0", err);
    if (r == 0)
        (void)store_trim(s, "a", 5);
    return r;
}

static const char *check_trim(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    const char *wrong = open_and_check(dir, &s);
    if (wrong)
        return wrong;
    int64_t n = store_count(s, "a");
    /* Trimming is housekeeping: it tells nobody that it failed, and is done again. */
    return n < 5 || n > (was_done ? 9 : 10) ? "too much or too little is gone" : NULL;
}

static const char *check_rescue(const char *dir, bool was_done)
{
    CLEANUP(store_close_p) struct store *s = NULL;
    struct err err = ERR_INIT;
    static char why[500];
    (void)was_done;
    if (store_open(db_of(dir), &s, &err) < 0) {
        (void)snprintf(why, sizeof(why), "cannot be opened: %s", err.msg);
        return why;
    }
    return put(s, "a", "b", 1, &err) < 0 ? "nothing can be put into the new one" : NULL;
}

int main(void)
{
    static const struct fault_case cases[] = {
        { "store: open a new one", NULL, run_open_new, check_new },
        { "store: open an old one", setup, run_open_new, check_plain },
        { "store: open a damaged one", setup_damaged, run_open_new, check_rescue },
        { "store: put and replace", setup, run_put, check_put },
        { "store: put a large document", setup, run_put_large, check_put },
        { "store: lazy rows and a flush", setup, run_lazy, check_lazy },
        { "store: a transaction", setup, run_transaction, check_transaction },
        { "store: read and walk", setup, run_read, check_plain },
        { "store: delete and trim", setup, run_trim, check_trim },
    };
    fault_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        fault_run(&cases[i]);
    return fault_end();
}
