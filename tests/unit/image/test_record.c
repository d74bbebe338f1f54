/* Records of a store from before 0.2, which had one for each spelling of a name: renamed when it is opened. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "image/image.h"
#include "image/record.h"
#include "image/reference.h"
#include "tap.h"
#include "tarmake.h"

static char *store_dir;
static struct image_store *store;

static void reopen(void)
{
    store = image_store_close(store);
    CHECK_INT(image_store_open(store_dir, &store, NULL), 0);
}

/* Imports an image that holds text; its id. Caller frees. */
static char *import(const char *name, const char *text)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    struct err err = ERR_INIT;
    tar_of(&tar, (struct tar_entry[]){ { "note", '0', text }, { 0 } });
    CLEANUP(free_p) char *path = save_bytes("record.tar", tar.data, tar.len);
    CHECK_INT(image_import(store, path, name, &i, &err), 0);
    CHECK_STR(err.msg, "");
    return i ? xstrdup(i->id) : NULL;
}

static char *old_path(const char *name)
{
    char hex[DIGEST_HEX];
    digest_of(name, strlen(name), hex);
    return xasprintf("%s/images/%s.json", store_dir, hex);
}

static char *new_path(const char *name)
{
    char file[RECORD_FILE];
    record_file("", name, file);
    return xasprintf("%s/images/%s", store_dir, file);
}

/* Puts the record where an old server would have put it, made at that time. */
static void make_old(const char *name, int created_at)
{
    CLEANUP(free_p) char *from = new_path(name);
    CLEANUP(free_p) char *to = old_path(name);
    JSON_OWNED record = json_load_file(from, 0, NULL);
    CHECK(record != NULL);
    (void)json_object_set_new(record, "createdAt", json_integer(created_at));
    CHECK_INT(unlink(from), 0);
    CHECK_INT(json_dump_file(record, to, 0), 0);
}

static void expect(const char *name, const char *id)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    CHECK_INT(image_resolve(store, name, &i, NULL), 0);
    CHECK_STR(i ? i->id : "", id);
}

static size_t count_stored(void)
{
    JSON_OWNED list = image_list(store, NULL);
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        n += strcmp(json_get_str(json_array_get(list, i), "source", ""), "host") != 0;
    return n;
}

static void empty(void)
{
    JSON_OWNED list = image_list(store, NULL);
    for (size_t i = 0; i < json_array_size(list); i++)
        (void)image_remove(store, NULL, json_get_str(json_array_get(list, i), "name", ""), NULL); /* presets stay */
    CHECK_INT(count_stored(), 0);
}

TEST(every_old_record_is_found_by_every_spelling)
{
    static const char *const names[] = { "alpine",  "tool:1", "iiidev/tool", "reg.example/a/b", "oci:reg.example/c/d:2",
                                         "My Thing" };
    enum { N = sizeof(names) / sizeof(names[0]) };
    char *ids[N];
    for (size_t i = 0; i < N; i++) {
        ids[i] = import(names[i], names[i]);
        make_old(names[i], 1000 + (int)i);
    }
    CHECK_INT(record_rekey(store, true), N - 1); /* a name that is no reference has one form */
    CHECK_INT(record_rekey(store, true), N - 1); /* that only counts */
    reopen();
    CHECK_INT(record_rekey(store, true), 0);
    CHECK_INT(count_stored(), N);
    for (size_t i = 0; i < N; i++) {
        char canonical[REFERENCE_MAX];
        reference_canonical(names[i], canonical);
        expect(names[i], ids[i]);
        expect(canonical, ids[i]);
        CLEANUP(free_p) char *old = old_path(names[i]);
        CHECK_INT(access(old, F_OK) == 0, strcmp(canonical, names[i]) == 0);
        free(ids[i]);
    }
    empty();
}

/* Two spellings, two images: which one is called so from now on. */
static void try_both(int short_at, int long_at)
{
    static const char brief[] = "alpine", full[] = "docker.io/library/alpine:latest";
    CLEANUP(free_p) char *other = import("other:1", "other");
    CLEANUP(free_p) char *first = import(brief, "brief");
    make_old(brief, short_at);
    CLEANUP(free_p) char *second = import(full, "full");
    make_old(full, long_at); /* its old place is the new one, too */
    CHECK(strcmp(first, second) != 0);
    CHECK_INT(count_stored(), 3);
    reopen();
    CHECK_INT(record_rekey(store, true), 0);
    expect(brief, short_at >= long_at ? first : second);
    expect(full, short_at >= long_at ? first : second);
    expect("other:1", other);
    CHECK_INT(count_stored(), 2);
    CLEANUP(free_p) char *old = old_path(brief);
    CHECK(access(old, F_OK) < 0);
    empty();
}

TEST(of_two_spellings_the_newest_image_stays)
{
    try_both(1000, 2000);
    try_both(2000, 1000);
    try_both(1000, 1000);
}

TEST(of_three_spellings_too)
{
    CLEANUP(free_p) char *first = import("alpine", "one");
    make_old("alpine", 1000);
    CLEANUP(free_p) char *second = import("alpine:latest", "two");
    make_old("alpine:latest", 3000);
    CLEANUP(free_p) char *third = import("library/alpine", "three");
    make_old("library/alpine", 2000);
    CHECK_INT(record_rekey(store, true), 3);
    reopen();
    expect("alpine", second);
    CHECK_INT(count_stored(), 1);
    empty();
}

int main(void)
{
    if (!mkdtemp(test_folder))
        return 1;
    store_dir = xasprintf("%s/store", test_folder);
    CHECK_INT(image_store_open(store_dir, &store, NULL), 0);
    RUN(every_old_record_is_found_by_every_spelling);
    RUN(of_two_spellings_the_newest_image_stays);
    RUN(of_three_spellings_too);
    store = image_store_close(store);
    free(store_dir);
    remove_test_folder();
    return tap_done();
}
