/* The store as a whole: archives of each kind in, images out, names, pins and what is left behind. */
#include <errno.h>
#include <sys/wait.h>

#include "image/image.h"
#include "tap.h"
#include "tarmake.h"

static struct image_store *store;
static char *store_dir;

static void blob_add(struct buf *outer, const char *data, size_t len, char ret_hex[DIGEST_HEX])
{
    char path[128];
    digest_of(data, len, ret_hex);
    (void)snprintf(path, sizeof(path), "blobs/sha256/%s", ret_hex);
    tar_add_sized(outer, &(struct tar_entry){ .name = path, .type = '0' }, data, len);
}

static void layer_of(struct buf *b, const char *name, const char *text, char ret_hex[DIGEST_HEX])
{
    tar_of(b, (struct tar_entry[]){ { name, '0', text }, { 0 } });
    digest_of(b->data, b->len, ret_hex);
}

static void config_of(struct buf *b, const char *hex1, const char *hex2)
{
    (void)buf_addf(
        b,
        "{\"config\":{\"Env\":[\"PATH=/bin\",\"A=b\"],\"Cmd\":[\"/bin/x\"],\"Entrypoint\":[\"e\"],\"User\":\"7:8\","
        "\"WorkingDir\":\"/w\"},\"rootfs\":{\"type\":\"layers\",\"diff_ids\":[\"sha256:%s\",\"sha256:%s\"]}}",
        hex1, hex2);
}

/* An archive as `docker save` makes it; damaged: the second layer is not the one its config states. */
static char *docker_archive(const char *file, bool is_damaged)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf one = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf two = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf config = BUF_INIT(TAR_MAX);
    char hex1[DIGEST_HEX], hex2[DIGEST_HEX];
    layer_of(&one, "etc/one", "first", hex1);
    layer_of(&two, "etc/two", "second", hex2);
    config_of(&config, hex1, is_damaged ? hex1 : hex2);
    tar_add_sized(&out, &(struct tar_entry){ .name = "aaa/layer.tar", .type = '0' }, one.data, one.len);
    tar_add_sized(&out, &(struct tar_entry){ .name = "bbb/layer.tar", .type = '0' }, two.data, two.len);
    tar_add_sized(&out, &(struct tar_entry){ .name = "config.json", .type = '0' }, config.data, config.len);
    tar_add(&out, &(struct tar_entry){ "manifest.json", '0',
                                       "[{\"Config\":\"config.json\",\"RepoTags\":[\"x:1\"],"
                                       "\"Layers\":[\"aaa/layer.tar\",\"bbb/layer.tar\"]}]" });
    tar_end(&out);
    return save_bytes(file, out.data, out.len);
}

static char *oci_archive(const char *file, bool is_damaged)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf one = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf two = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf config = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf text = BUF_INIT(TAR_MAX);
    char hex1[DIGEST_HEX], hex2[DIGEST_HEX], hex_config[DIGEST_HEX], hex_manifest[DIGEST_HEX], ignored[DIGEST_HEX];
    layer_of(&one, "etc/one", "first", hex1);
    layer_of(&two, "etc/three", "third", hex2);
    config_of(&config, hex1, hex2);
    blob_add(&out, one.data, one.len, ignored);
    blob_add(&out, two.data, two.len, ignored);
    blob_add(&out, config.data, config.len, hex_config);
    (void)buf_addf(&text,
                   "{\"schemaVersion\":2,\"config\":{\"digest\":\"sha256:%s\"},\"layers\":[{\"digest\":\"sha256:%s\"},"
                   "{\"digest\":\"sha256:%s\"}]}",
                   hex_config, hex1, hex2);
    blob_add(&out, text.data, text.len, hex_manifest);
    if (is_damaged) { /* the manifest again under the same name, changed */
        CLEANUP(free_p) char *path = xasprintf("blobs/sha256/%s", hex_manifest);
        tar_add(&out, &(struct tar_entry){ path, '0', "{\"layers\":[]}" });
    }
    buf_clear(&text);
    (void)buf_addf(&text, "{\"schemaVersion\":2,\"manifests\":[{\"digest\":\"sha256:%s\"}]}", hex_manifest);
    tar_add(&out, &(struct tar_entry){ "oci-layout", '0', "{\"imageLayoutVersion\":\"1.0.0\"}" });
    tar_add_sized(&out, &(struct tar_entry){ .name = "index.json", .type = '0' }, text.data, text.len);
    tar_end(&out);
    return save_bytes(file, out.data, out.len);
}

static char *rootfs_archive(const char *file, const char *text)
{
    CLEANUP(buf_done) struct buf out = BUF_INIT(TAR_MAX);
    tar_of(&out, (struct tar_entry[]){ { "etc/", '5', .mode = 0755 }, { "etc/name", '0', text }, { 0 } });
    return save_bytes(file, out.data, out.len);
}

static bool is_alive(void *arg, const char *owner)
{
    return strcmp(owner, arg) == 0;
}

TEST(imports_a_docker_archive_with_its_config)
{
    CLEANUP(free_p) char *path = docker_archive("docker.tar", false);
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(image_import(store, path, "demo:1", &i, &err), 0);
    CHECK_STR(err.msg, "");
    if (!i)
        return;
    CHECK_INT(i->n_layers, 2);
    CHECK_STR(i->env[1], "A=b");
    CHECK_STR(i->cmd[0], "/bin/x");
    CHECK_STR(i->entrypoint[0], "e");
    CHECK_STR(i->user, "7:8");
    CHECK_STR(i->workdir, "/w");
    CHECK_INT(i->size_bytes, 11);
    CLEANUP(free_p) char *text = read_text_file(i->layers[1], "etc/two");
    CHECK_STR(text, "second");
    CHECK_INT(count_folder(store_dir, "tmp"), 0);
}

TEST(imports_an_oci_archive_and_shares_the_equal_layer)
{
    CLEANUP(free_p) char *path = oci_archive("oci.tar", false);
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    int before = count_folder(store_dir, "layers");
    CHECK_INT(image_import(store, path, "oci", &i, &err), 0);
    CHECK_STR(err.msg, "");
    CHECK_INT(count_folder(store_dir, "layers"), before + 1);
    CLEANUP(image_free_p) struct image *again = NULL;
    CHECK_INT(image_resolve(store, "oci:latest", &again, &err), 0);
    CHECK(again && i && strcmp(again->id, i->id) == 0);
    CLEANUP(image_free_p) struct image *by_id = NULL;
    CHECK_INT(image_resolve(store, i->id, &by_id, &err), 0);
    CHECK(image_resolve(store, "oci:2", &by_id, &err) == -ENOENT);
    CHECK(strstr(err.msg, "iii image import") != NULL);
}

TEST(refuses_damaged_archives_and_leaves_nothing)
{
    CLEANUP(free_p) char *docker = docker_archive("bad-docker.tar", true);
    CLEANUP(free_p) char *oci = oci_archive("bad-oci.tar", true);
    struct image *i = NULL;
    struct err err = ERR_INIT;
    int layers = count_folder(store_dir, "layers"), images = count_folder(store_dir, "images");
    CHECK_INT(image_import(store, docker, "bad", &i, &err), -EINVAL);
    CHECK(strstr(err.msg, "layer 2 of 2") && strstr(err.msg, "digest"));
    CHECK_INT(image_import(store, oci, "bad", &i, &err), -EINVAL);
    CHECK(strstr(err.msg, "damaged") != NULL);
    CHECK(i == NULL);
    CHECK_INT(count_folder(store_dir, "layers"), layers);
    CHECK_INT(count_folder(store_dir, "images"), images);
    CHECK_INT(count_folder(store_dir, "tmp"), 0);
    CHECK_INT(image_import(store, "/nonexistent.tar", "bad", &i, &err), -ENOENT);
}

TEST(imports_packed_root_file_systems)
{
    CLEANUP(free_p) char *path = rootfs_archive("rootfs.tar", "gz");
    CLEANUP(free_p) char *command = xasprintf("gzip -kf %s", path);
    CLEANUP(free_p) char *packed = xasprintf("%s.gz", path);
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(image_free_p) struct image *plain = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(system(command), 0);
    CHECK_INT(image_import(store, packed, "site/root:2", &i, &err), 0);
    CHECK_INT(image_import(store, path, "site/root:3", &plain, &err), 0);
    CHECK(i && plain && strcmp(i->layers[0], plain->layers[0]) == 0); /* the digest is of the unpacked stream */
}

TEST(pins_keep_layers_until_the_last_owner_is_gone)
{
    CLEANUP(free_p) char *path = rootfs_archive("pin.tar", "pinned");
    CLEANUP(image_free_p) struct image *i = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(image_import(store, path, "pinned", &i, &err), 0);
    CHECK_INT(image_pin(store, i, "sbx_1", &err), 0);
    CHECK_INT(image_pin(store, i, "../evil", &err), -EINVAL);
    CHECK_INT(image_remove(store, NULL, "pinned", &err), 0);
    CHECK(access(i->layers[0], F_OK) == 0);
    CHECK_INT(image_sweep_pins(store, is_alive, (char[]){ "sbx_1" }, &err), 0);
    CHECK(access(i->layers[0], F_OK) == 0);
    CHECK_INT(image_unpin(store, "sbx_1", &err), 0);
    CHECK(access(i->layers[0], F_OK) < 0);
    CHECK_INT(image_pin(store, i, "sbx_2", &err), -ESTALE);
    CHECK_INT(image_remove(store, NULL, "pinned", &err), -ENOENT);
    CHECK_INT(count_folder(store_dir, "tmp"), 0);
}

static struct stat stat_pin(const char *owner)
{
    CLEANUP(free_p) char *path = xasprintf("%s/pins/%s", store_dir, owner);
    struct stat st = { 0 };
    (void)stat(path, &st);
    return st;
}

/* A sandbox costs no file of its own, and what they share holds nothing by itself. */
TEST(owners_of_the_same_layers_share_a_pin)
{
    CLEANUP(free_p) char *one = rootfs_archive("one.tar", "one");
    CLEANUP(free_p) char *two = rootfs_archive("two.tar", "two");
    CLEANUP(image_free_p) struct image *first = NULL;
    CLEANUP(image_free_p) struct image *second = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(image_import(store, one, "first", &first, &err), 0);
    CHECK_INT(image_import(store, two, "second", &second, &err), 0);
    CHECK_INT(image_pin(store, first, "sbx_a", &err), 0);
    CHECK_INT(image_pin(store, first, "sbx_b", &err), 0);
    CHECK_INT(image_pin(store, second, "sbx_c", &err), 0);
    CHECK(stat_pin("sbx_a").st_ino && stat_pin("sbx_a").st_ino == stat_pin("sbx_b").st_ino);
    CHECK(stat_pin("sbx_a").st_ino != stat_pin("sbx_c").st_ino);
    CHECK_INT(image_pin(store, second, "sbx_a", &err), 0); /* the later one counts, for this owner alone */
    CHECK_INT(image_remove(store, NULL, "first", &err), 0);
    CHECK(access(first->layers[0], F_OK) == 0);
    CHECK_INT(image_unpin(store, "sbx_b", &err), 0);
    CHECK(access(first->layers[0], F_OK) < 0);
    CHECK_INT(image_remove(store, NULL, "second", &err), 0);
    CHECK_INT(image_unpin(store, "sbx_c", &err), 0);
    CHECK(access(second->layers[0], F_OK) == 0);
    CHECK_INT(image_sweep_pins(store, is_alive, (char[]){ "nobody" }, &err), 0);
    CHECK(access(second->layers[0], F_OK) < 0);
    CHECK_INT(count_folder(store_dir, "pins"), 0);
}

TEST(a_captured_folder_becomes_a_layer_up_to_the_limit)
{
    CLEANUP(image_free_p) struct image *base = NULL;
    CLEANUP(image_free_p) struct image *top = NULL;
    CLEANUP(free_p) char *folder = xasprintf("%s/captured", test_folder);
    struct err err = ERR_INIT;
    CHECK_INT(image_resolve(store, "demo:1", &base, &err), 0);
    CHECK(mkdir(folder, 0755) == 0);
    CHECK_INT(image_add_layer(store, base, folder, "snap_1", &top, &err), 0);
    CHECK(top && top->n_layers == 3 && strcmp(top->workdir, "/w") == 0);
    CHECK(access(folder, F_OK) < 0);
    CHECK_INT(image_add_layer(store, base, folder, "snap_2", &top, &err), -EINVAL);
    size_t n = base->n_layers;
    base->n_layers = IMAGE_LAYERS_MAX;
    CHECK_INT(image_add_layer(store, base, folder, "snap_2", &top, &err), -E2BIG);
    base->n_layers = n;
}

TEST(presets_come_from_the_host_until_the_store_has_the_name)
{
    CLEANUP(image_free_p) struct image *i = NULL;
    CLEANUP(image_free_p) struct image *stored = NULL;
    struct err err = ERR_INIT;
    int r = image_resolve(store, "shell", &i, &err);
    if (r == -ENOSYS) {
        printf("# this host has no merged /usr: %s\n", err.msg);
        return;
    }
    CHECK_INT(r, 0);
    CHECK(i && i->is_host && strcmp(i->id, "host") == 0 && i->n_layers == 1);
    CLEANUP(free_p) char *passwd = read_text_file(i->layers[0], "etc/passwd");
    CHECK(passwd && strncmp(passwd, "root:x:0:0:", 11) == 0);
    CLEANUP(free_p) char *path = rootfs_archive("shell.tar", "own");
    CHECK_INT(image_import(store, path, "shell", &stored, &err), 0);
    i = image_free(i);
    CHECK_INT(image_resolve(store, "shell", &i, &err), 0);
    CHECK(i && !i->is_host);
    CHECK_INT(image_remove(store, NULL, "shell", &err), 0);
    CHECK_INT(image_remove(store, NULL, "shell", &err), -EINVAL);
}

TEST(another_process_sees_an_import_and_tmp_of_the_dead_is_swept)
{
    CLEANUP(free_p) char *path = rootfs_archive("other.tar", "other");
    pid_t pid = fork();
    if (pid == 0) {
        struct image_store *own = NULL;
        struct image *i = NULL;
        _exit(image_store_open(store_dir, &own, NULL) < 0 || image_import(own, path, "other", &i, NULL) < 0);
    }
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    CLEANUP(image_free_p) struct image *i = NULL;
    CHECK_INT(image_resolve(store, "other", &i, NULL), 0);
    CLEANUP(free_p) char *dead = xasprintf("%s/tmp/dead", store_dir);
    CHECK(mkdir(dead, 0700) == 0);
    CLEANUP(image_store_close_p) struct image_store *again = NULL;
    CHECK_INT(image_store_open(store_dir, &again, NULL), 0);
    CHECK(access(dead, F_OK) < 0);
}

TEST(lists_by_name)
{
    JSON_OWNED list = image_list(store, NULL);
    CHECK(json_array_size(list) >= 5);
    const char *last = "";
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_get_str(json_array_get(list, i), "name", "");
        CHECK(strcmp(last, name) < 0);
        last = name;
    }
}

TEST(checks_names)
{
    char longest[IMAGE_NAME_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[IMAGE_NAME_MAX + 1] = '\0';
    CHECK_INT(image_name_check(longest, NULL), -EINVAL);
    longest[IMAGE_NAME_MAX] = '\0';
    CHECK_INT(image_name_check(longest, NULL), 0);
    static const char *const bad[] = { "", "a..b", "a$b", "a\nb", "\x7f", "\xff" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_INT(image_name_check(bad[i], NULL), -EINVAL);
    CHECK_INT(image_name_check("registry.example:5000/a/b:c@sha256:d", NULL), 0);
}

int main(void)
{
    if (!mkdtemp(test_folder))
        return 1;
    store_dir = xasprintf("%s/store", test_folder);
    struct err err = ERR_INIT;
    if (image_store_open(store_dir, &store, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        return 1;
    }
    RUN(imports_a_docker_archive_with_its_config);
    RUN(imports_an_oci_archive_and_shares_the_equal_layer);
    RUN(refuses_damaged_archives_and_leaves_nothing);
    RUN(imports_packed_root_file_systems);
    RUN(pins_keep_layers_until_the_last_owner_is_gone);
    RUN(owners_of_the_same_layers_share_a_pin);
    RUN(a_captured_folder_becomes_a_layer_up_to_the_limit);
    RUN(presets_come_from_the_host_until_the_store_has_the_name);
    RUN(another_process_sees_an_import_and_tmp_of_the_dead_is_swept);
    RUN(lists_by_name);
    RUN(checks_names);
    store = image_store_close(store);
    free(store_dir);
    remove_test_folder();
    return tap_done();
}
