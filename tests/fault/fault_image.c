/* The image store with failing system calls and allocations: nothing half-made is ever visible, and what is left over
 * is swept by the next one who opens the store. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>

#include "fault.h"
#include "image/image.h"
#include "image/layer_digest.h"
#include "tarmake.h"

#define OWNER "sbx_owner"

static char *join(const char *dir, const char *name)
{
    return xasprintf("%s/%s", dir, name);
}

static int open_store(const char *dir, struct image_store **ret, struct err *err)
{
    CLEANUP(free_p) char *path = join(dir, "images");
    return image_store_open(path, ret, err);
}

static void write_tar(const char *dir, const char *name, struct tar_entry *list)
{
    CLEANUP(buf_done) struct buf b = BUF_INIT(TAR_MAX);
    CLEANUP(free_p) char *path = join(dir, name);
    tar_of(&b, list);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, b.data, b.len) != (ssize_t)b.len)
        abort();
    (void)close(fd);
}

static void setup_archive(const char *dir)
{
    write_tar(dir, "one.tar",
              (struct tar_entry[]){ { "etc", '5', .mode = 0755 },
                                    { "etc/one", '0', "first" },
                                    { "etc/same", '1', .link = "etc/one" },
                                    { "link", '2', .link = "etc/one" },
                                    { "etc/.wh.gone", '0', "" },
                                    { 0 } });
    write_tar(dir, "two.tar", (struct tar_entry[]){ { "two", '0', "second" }, { 0 } });
}

static void must(int r, const struct err *err)
{
    if (r >= 0)
        return;
    printf("Bail out! setup: %s\n", err->msg);
    exit(1);
}

static int import(struct image_store *s, const char *dir, const char *tar, const char *name, struct err *err)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(free_p) char *path = join(dir, tar);
    return image_import(s, path, name, &i, err);
}

static void setup_store(const char *dir)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    struct err err = ERR_INIT;
    setup_archive(dir);
    must(open_store(dir, &s, &err), &err);
    must(import(s, dir, "one.tar", "one", &err), &err);
    must(import(s, dir, "two.tar", "two", &err), &err);
}

static void setup_pinned(const char *dir)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    setup_store(dir);
    must(open_store(dir, &s, &err), &err);
    must(image_resolve(s, "one", &i, &err), &err);
    must(image_pin(s, i, OWNER, &err), &err);
    must(image_remove(s, NULL, "one", &err), &err);
}

static void setup_captured(const char *dir)
{
    CLEANUP(free_p) char *folder = join(dir, "captured"), *file = join(dir, "captured/new");
    setup_store(dir);
    if (mkdir(folder, 0755) < 0 || close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) < 0)
        abort();
}

/* --- what must hold --- */

static char why[600];

static bool is_empty(const char *dir, const char *name)
{
    CLEANUP(free_p) char *path = join(dir, name);
    DIR *d = opendir(path);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        (void)closedir(d);
    return n <= 2;
}

/* Opens the store, and has it checked whole. */
static const char *sound(const char *dir, struct image_store **ret)
{
    JSON_OWNED report = NULL;
    struct err err = ERR_INIT;
    if (open_store(dir, ret, &err) < 0 || image_collect(*ret, &err) < 0 || image_fsck(*ret, false, &report, &err) < 0) {
        (void)snprintf(why, sizeof(why), "the store cannot be opened and checked: %s", err.msg);
        return why;
    }
    const json_t *problems = json_get(report, "problems");
    if (json_array_size(problems)) {
        (void)snprintf(why, sizeof(why), "the store has a problem: %s", json_string_value(json_array_get(problems, 0)));
        return why;
    }
    return is_empty(dir, "images/tmp") ? NULL : "something half-made stays";
}

static const char *has_one(struct image_store *s)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    if (image_resolve(s, "one", &i, NULL) < 0 || i->n_layers != 1)
        return "the image cannot be used";
    CLEANUP(free_p) char *text = read_text_file(i->layers[0], "etc/one");
    return text && strcmp(text, "first") == 0 ? NULL : "the image is not whole";
}

static const char *check_sound(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    const char *wrong = sound(dir, &s);
    (void)was_done;
    return wrong ? wrong : has_one(s);
}

/* --- operations --- */

static int run_open(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    return open_store(dir, &s, err);
}

static const char *check_open(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    (void)was_done;
    return sound(dir, &s);
}

static int run_import(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    int r = open_store(dir, &s, err);
    return r < 0 ? r : import(s, dir, "one.tar", "one", err);
}

static const char *check_import(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    const char *wrong = sound(dir, &s);
    if (wrong)
        return wrong;
    if (was_done || image_resolve(s, "one", &i, NULL) == 0)
        return has_one(s);
    return import(s, dir, "one.tar", "one", &err) < 0 ? "it cannot be imported again" : has_one(s);
}

static int run_pin(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    int r = open_store(dir, &s, err);
    if (r == 0)
        r = image_resolve(s, "one", &i, err);
    return r < 0 ? r : image_pin(s, i, OWNER, err);
}

/* A pin that was acknowledged keeps the layer when the name goes. */
static const char *check_pin(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    const char *wrong = sound(dir, &s);
    if (wrong || (wrong = has_one(s)))
        return wrong;
    if (image_resolve(s, "one", &i, &err) < 0 || image_remove(s, NULL, "one", &err) < 0)
        return "it cannot be removed";
    CLEANUP(free_p) char *text = read_text_file(i->layers[0], "etc/one");
    if (was_done && !text)
        return "a pinned layer is gone";
    if (image_unpin(s, OWNER, &err) < 0 || access(i->layers[0], F_OK) == 0)
        return "an unpinned layer stays";
    return NULL;
}

static int run_unpin(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    int r = open_store(dir, &s, err);
    return r < 0 ? r : image_unpin(s, OWNER, err);
}

static const char *check_unpin(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    struct err err = ERR_INIT;
    (void)was_done;
    if (open_store(dir, &s, &err) < 0 || image_unpin(s, OWNER, &err) < 0 || image_remove(s, NULL, "two", &err) < 0)
        return "it cannot be done again";
    s = image_store_close(s);
    const char *wrong = sound(dir, &s);
    return wrong ? wrong : is_empty(dir, "images/layers") ? NULL : "a layer that nothing names stays";
}

static int run_remove(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    int r = open_store(dir, &s, err);
    return r < 0 ? r : image_remove(s, NULL, "two", err);
}

static int run_list(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    JSON_OWNED record = NULL;
    int r = open_store(dir, &s, err);
    if (r < 0)
        return r;
    JSON_OWNED list = image_list(s, NULL);
    return image_inspect(s, NULL, "one", &record, err);
}

static int run_add_layer(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *base = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(free_p) char *folder = join(dir, "captured");
    int r = open_store(dir, &s, err);
    if (r == 0)
        r = image_resolve(s, "one", &base, err);
    return r < 0 ? r : image_add_layer(s, base, folder, "more", &i, err);
}

static const char *check_add_layer(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    const char *wrong = sound(dir, &s);
    if (wrong || (wrong = has_one(s)))
        return wrong;
    bool is_there = image_resolve(s, "more", &i, NULL) == 0;
    if (was_done && !is_there)
        return "what was acknowledged is not there";
    return is_there && i->n_layers != 2 ? "it has lost a layer" : NULL;
}

static int run_export(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(free_p) char *path = join(dir, "out.tar");
    int r = open_store(dir, &s, err);
    return r < 0 ? r : image_export(s, NULL, "one", path, err);
}

static const char *check_export(const char *dir, bool was_done)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(free_p) char *path = join(dir, "out.tar");
    struct err err = ERR_INIT;
    const char *wrong = sound(dir, &s);
    if (wrong || (wrong = has_one(s)))
        return wrong;
    if (!was_done && access(path, F_OK) == 0 && import(s, dir, "out.tar", "half", &err) < 0)
        return "half an archive stands under its name";
    if (!was_done && image_export(s, NULL, "one", path, &err) < 0)
        return "it cannot be exported again";
    return import(s, dir, "out.tar", "again", &err) < 0 ? "what was exported cannot be imported" : NULL;
}

static int run_compose(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    int r = open_store(dir, &s, err);
    if (r == 0)
        r = image_resolve(s, "one", &i, err);
    return r < 0 ? r : image_compose(s, i, "two", err); /* another image under a name that is taken */
}

static int run_fsck(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    JSON_OWNED report = NULL;
    int r = open_store(dir, &s, err);
    if (r == 0)
        r = image_fsck(s, true, &report, err);
    return r < 0 ? r : image_prune(s, err);
}

static int run_sum(const char *dir, struct err *err)
{
    CLEANUP(image_store_close_p) struct image_store *s = NULL;
    CLEANUP(image_free_p) struct image *i = NULL;
    char sum[DIGEST_HEX];
    char again[DIGEST_HEX];
    int r = open_store(dir, &s, err);
    if (r == 0)
        r = image_resolve(s, "one", &i, err);
    if (r == 0)
        r = layer_digest_of(i->layers, NULL, sum, err);
    if (r == 0 && layer_digest_of(i->layers, NULL, again, NULL) == 0 && strcmp(again, sum) != 0)
        abort(); /* a file that could not be read was left out of the sum */
    return r;
}

int main(void)
{
    static const struct fault_case cases[] = {
        { "image: open a new store", NULL, run_open, check_open },
        { "image: open a store", setup_store, run_open, check_sound },
        { "image: import an archive", setup_archive, run_import, check_import, .has_no_allocs = true },
        { "image: import over an image", setup_store, run_import, check_sound, .has_no_allocs = true },
        { "image: pin", setup_store, run_pin, check_pin },
        { "image: unpin", setup_pinned, run_unpin, check_unpin },
        { "image: remove", setup_store, run_remove, check_sound },
        { "image: list and inspect", setup_store, run_list, check_sound },
        { "image: add a captured layer", setup_captured, run_add_layer, check_add_layer },
        { "image: export", setup_store, run_export, check_export },
        { "image: compose", setup_store, run_compose, check_sound },
        { "image: check, repair and prune", setup_store, run_fsck, check_sound },
        { "image: sum of a layer", setup_store, run_sum, check_sound },
    };
    (void)setenv("III_IMAGE_RATIO_FLOOR", "1048576", 1);
    fault_begin();
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        fault_run(&cases[i]);
    return fault_end();
}
