/* A damaged database: the input is laid over a good file at the place its first four bytes name (or is the whole file,
 * when they are all ones). The store opens, keeps the damaged one aside or refuses; what it then says is consistent. */
#include "../feed.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

#define GOOD_MAX (256u * 1024)

static char folder[64], path[96];
static char good[GOOD_MAX];
static size_t good_len;

static void remove_files(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    char name[160];
    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static void leave(void)
{
    remove_files();
    (void)rmdir(folder);
}

static void put_some(struct store *s)
{
    char key[32];
    JSON_OWNED doc = json_pack("{s:s, s:i}", "name", "something of a middling length", "n", 1);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(key, sizeof(key), "key%d", i);
        MUST(store_put(s, i % 2 ? "a" : "b", key, doc, NULL) == 0);
    }
}

static void begin(void)
{
    struct store *s = NULL;
    (void)snprintf(folder, sizeof(folder), "/dev/shm/fuzz_store.XXXXXX");
    MUST(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/state.db", folder);
    MUST(atexit(leave) == 0 && store_open(path, &s, NULL) == 0);
    put_some(s);
    (void)store_close(s);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, good, sizeof(good));
    MUST(n > 0 && n < (ssize_t)sizeof(good));
    good_len = (size_t)n;
    (void)close(fd);
}

static void write_file(const uint8_t *data, size_t size)
{
    uint32_t at = 0;
    (void)memcpy(&at, data, sizeof(at));
    remove_files();
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    if (at == UINT32_MAX) {
        MUST(write(fd, data + 4, size - 4) == (ssize_t)(size - 4));
    } else {
        MUST(write(fd, good, good_len) == (ssize_t)good_len);
        MUST(pwrite(fd, data + 4, size - 4, (off_t)(at % good_len)) == (ssize_t)(size - 4));
    }
    (void)close(fd);
}

static bool count(void *arg, const char *key, json_t *doc)
{
    MUST(key && doc);
    ++*(int64_t *)arg;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;
    int64_t seen = 0;
    JSON_OWNED doc = NULL;
    if (size < 5)
        return 0;
    if (!good_len)
        begin();
    write_file(data, size);
    if (store_open(path, &s, &err) < 0) {
        MUST(err.code != ERR_NONE && err.msg[0]);
        return 0;
    }
    if (store_was_rescued(s)) {
        MUST(store_count(s, "a") >= 0 && store_count(s, "a") <= INT32_MAX); /* what could be salvaged */
        put_some(s);                                                        /* the new one works */
        MUST(unlink(store_rescued_path(s)) == 0);                           /* the old one was kept */
    }
    (void)store_each(s, "a", false, count, &seen, &err);
    (void)store_get(s, "b", "key2", &doc, &err);
    (void)store_put(s, "a", "key1", doc ? doc : (doc = json_object()), &err);
    (void)store_close(s);
    return 0;
}
