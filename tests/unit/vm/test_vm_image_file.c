/* Machines at rest: what a folder must have to be one, when it is believed no more, and which are kept. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "loopturn.h"
#include "os/host_usr.h"
#include "os/tree.h"
#include "tap.h"
#include "vm/boot/base_image.h"
#include "vm/vm_core.h"

#define BASE_KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEPT     16 /* templates, and read-only drives that nothing stands on */

static char folder[] = "/tmp/vmfile-XXXXXX";
static struct vm vm;

/* A path below the folder; good until the eighth call after it. */
static const char *in(const char *fmt, ...)PRINTF_LIKE(1, 2);
static const char *in(const char *fmt, ...)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    int n = snprintf(path, sizeof(paths[0]), "%s/", folder);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(path + n, sizeof(paths[0]) - (size_t)n, fmt, args);
    va_end(args);
    return path;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    (void)close(fd);
}

/* A machine in folder `to`, used (that is, changed) at second `used`. */
static void make_image(const char *to, const char *base, long used)
{
    struct err err = ERR_INIT;
    struct vm_image image = { .memory_mb = 584, .cpus = 3, .disk_mb = 8192 };
    (void)snprintf(image.base, sizeof(image.base), "%s", base);
    CHECK(mkdir(in("being.made"), 0700) == 0);
    int ram = vm_image_file_make(in("being.made/ram"), 4096, &err);
    CHECK(ram >= 0);
    (void)close(ram);
    CHECK_INT(vm_image_file_seal(in("being.made"), to, &image, &err), 0);
    const struct timespec times[2] = { { used, 0 }, { used, 0 } };
    CHECK(utimensat(AT_FDCWD, to, times, 0) == 0);
}

static enum err_code load_code(const char *path)
{
    struct err err = ERR_INIT;
    struct vm_image image = { 0 };
    int r = vm_image_file_load(path, &image, &err);
    CHECK((r < 0) == (err.code != ERR_NONE));
    vm_image_file_done(&image);
    return err.code;
}

TEST(a_file_is_new_of_its_size_and_a_vmms_to_write)
{
    struct err err = ERR_INIT;
    struct stat st;
    int fd = vm_image_file_make(in("f"), 12345, &err);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    CHECK_INT(st.st_size, 12345);
    CHECK_INT(st.st_blocks, 0);
    CHECK_INT(st.st_mode & 0777, 0666);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)close(fd);
    CHECK_INT(vm_image_file_make(in("f"), 1, &err), -EEXIST);
    fd = vm_image_file_open(folder, "f", &err);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1);
    (void)close(fd);
    CHECK(symlink("f", in("link")) == 0);
    CHECK_INT(vm_image_file_make(in("link"), 1, &err), -EEXIST);
    CHECK_INT(vm_image_file_open(folder, "link", &err), -ELOOP);
    CHECK_INT(vm_image_file_open(folder, "none", &err), -ENOENT);
    (void)unlink(in("link"));
    (void)unlink(in("f"));
}

TEST(a_sealed_instance_is_what_it_was)
{
    struct err err = ERR_INIT;
    struct vm_image image = { 0 };
    make_image(in("one"), BASE_KEY, 1000);
    CHECK(!is_there(in("being.made")));
    CHECK_INT(vm_image_file_load(in("one"), &image, &err), 0);
    CHECK_STR(image.folder, in("one"));
    CHECK_STR(image.base, BASE_KEY);
    CHECK_INT(image.memory_mb, 584);
    CHECK_INT(image.cpus, 3);
    CHECK_INT(image.disk_mb, 8192);
    vm_image_file_done(&image);
    CHECK(image.folder == NULL);
}

/* A monitor that was taken over has the file open for writing: every way to change it is seen, also one that sets the
 * times back. */
TEST(memory_that_was_written_to_is_not_used)
{
    const struct timespec nap = { .tv_nsec = 20000000 }; /* the clock of a file system goes in ticks */
    struct stat st;
    CHECK(stat(in("one/ram"), &st) == 0);
    const struct timespec before[2] = { st.st_atim, st.st_mtim };
    (void)nanosleep(&nap, NULL);
    int fd = open(in("one/ram"), O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, "x", 1, 100) == 1);
    CHECK(futimens(fd, before) == 0);
    (void)close(fd);
    CHECK_INT(load_code(in("one")), ERR_CONFLICT);
}

TEST(what_is_no_instance)
{
    CHECK_INT(load_code(in("none")), ERR_NOT_FOUND);
    make_image(in("two"), BASE_KEY, 1000);
    put(in("two/meta.json"), "{\"base\": \"cut o");
    CHECK(load_code(in("two")) != ERR_NONE && load_code(in("two")) != ERR_NOT_FOUND);
    put(in("two/meta.json"), "");
    CHECK(load_code(in("two")) != ERR_NONE);
    CHECK(unlink(in("two/meta.json")) == 0 && symlink(in("one/meta.json"), in("two/meta.json")) == 0);
    CHECK_INT(load_code(in("two")), ERR_NOT_FOUND);
    make_image(in("three"), BASE_KEY, 1000);
    CHECK(unlink(in("three/ram")) == 0);
    CHECK_INT(load_code(in("three")), ERR_NOT_FOUND);
    struct err err = ERR_INIT;
    struct vm_image image = { 0 };
    CHECK(mkdir(in("bare"), 0700) == 0);
    CHECK_INT(vm_image_file_seal(in("bare"), in("four"), &image, &err), -ENOENT); /* without a memory */
    CHECK(is_there(in("bare")) && !is_there(in("four")));
    static const char *const all[] = { "one", "two", "three", "bare" };
    for (size_t i = 0; i < 4; i++) {
        vm_image_file_remove(in("%s", all[i]));
        CHECK(!is_there(in("%s", all[i])));
    }
}

/* Until the work on pool threads is done. */
static void settle(void)
{
    while (vm.n_works)
        loopturn_ms(vm.base.loop, 5);
}

static int copied_fd;
static struct err copied_err;

static void on_copied(void *arg, int fd, const struct err *err)
{
    (void)arg;
    copied_fd = fd;
    copied_err = err ? *err : (struct err)ERR_INIT;
}

TEST(a_copy_is_a_file_of_its_own)
{
    char text[8] = "";
    put(in("from"), "bytes");
    vm_image_file_copy(&vm, in("from"), in("to"), on_copied, NULL);
    settle();
    CHECK(copied_fd >= 0 && copied_err.code == ERR_NONE);
    CHECK(pread(copied_fd, text, sizeof(text), 0) == 5 && strcmp(text, "bytes") == 0);
    CHECK(pwrite(copied_fd, "other", 5, 0) == 5);
    (void)close(copied_fd);
    int fd = open(in("from"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof(text)) == 5 && strcmp(text, "bytes") == 0);
    (void)close(fd);
    vm_image_file_copy(&vm, in("none"), in("to2"), on_copied, NULL);
    settle();
    CHECK_INT(copied_fd, NO_FD);
    CHECK(copied_err.code != ERR_NONE && !is_there(in("to2")));
    (void)unlink(in("from"));
    (void)unlink(in("to"));
}

/* --- what is kept --- */

static const char *base_key(int i)
{
    static char key[VM_KIT_HEX];
    (void)snprintf(key, sizeof(key), "%064d", i);
    return key;
}

TEST(templates_that_were_used_last_stay)
{
    CHECK(mkdir(in("templates"), 0700) == 0 && mkdir(in("snaps"), 0700) == 0 && mkdir(in("bases"), 0700) == 0);
    for (int i = 0; i < KEPT + 4; i++)
        make_image(in("templates/t%d", i), base_key(i), 1000 + (i * 7) % (KEPT + 4)); /* used in another order */
    CHECK(mkdir(in("templates/x.new"), 0700) == 0);                                   /* one that is being made */
    vm_prune_run(&vm);
    settle();
    for (int i = 0; i < KEPT + 4; i++) {
        int age = (i * 7) % (KEPT + 4);
        if (is_there(in("templates/t%d", i)) != (age >= 4)) {
            printf("# template %d, used at %d\n", i, age);
            tap_bad = 1;
        }
    }
    CHECK(is_there(in("templates/x.new")));
}

/* Of those that nobody stands on the last used stay; of the others all, also those used longest ago. */
TEST(drives_that_something_stands_on_stay)
{
    struct box box = { .next = NULL };
    CLEANUP(free_p) char *of_template = NULL;
    for (int i = 0; i < KEPT + 4; i++)
        if (is_there(in("templates/t%d", i)) && !of_template)
            of_template = xstrdup(base_key(i));
    make_image(in("snaps/s"), base_key(200), 1);
    (void)snprintf(box.base, sizeof(box.base), "%s", base_key(201));
    vm.boxes = &box;
    const char *const needed[] = { of_template, base_key(200), NULL };
    const struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
    for (size_t i = 0; i < 3; i++) {
        const char *path = in("bases/%s.erofs", i == 0 ? needed[0] : base_key(199 + (int)i));
        put(path, "x");
        CHECK(utimensat(AT_FDCWD, path, old, 0) == 0);
    }
    for (int i = 0; i < KEPT + 2; i++) {
        const struct timespec used[2] = { { 100 + i, 0 }, { 100 + i, 0 } };
        const char *paths[2] = { in("bases/%s.erofs", base_key(100 + i)), in("bases/blank-%d.ext4", i) };
        for (int k = 0; k < 2; k++) {
            put(paths[k], "x");
            CHECK(utimensat(AT_FDCWD, paths[k], used, 0) == 0);
        }
    }
    put(in("bases/%s.erofs.new", base_key(300)), "x"); /* one that is being made */
    vm_prune_run(&vm);
    settle();
    vm.boxes = NULL;
    CHECK(is_there(in("bases/%s.erofs", of_template)));
    CHECK(is_there(in("bases/%s.erofs", base_key(200))));
    CHECK(is_there(in("bases/%s.erofs", base_key(201))));
    CHECK(is_there(in("bases/%s.erofs.new", base_key(300))));
    for (int i = 0; i < KEPT + 2; i++) {
        CHECK(is_there(in("bases/%s.erofs", base_key(100 + i))) == (i >= 2));
        CHECK(is_there(in("bases/blank-%d.ext4", i)) == (i >= 2));
    }
}

/* A /usr that the host does not have any more has gigabytes, and nothing new is made from it. */
TEST(a_former_usr_of_the_host_goes_when_nothing_stands_on_it)
{
    static const char former[] = "0123456789abcdef";
    const char *const layers[] = { "/x/a" }, *const others[] = { "/x/b" }, *const third[] = { "/x/c" };
    char usr[DIGEST_HEX], current[DIGEST_HEX], unused[DIGEST_HEX], of_box[DIGEST_HEX], of_snap[DIGEST_HEX];
    struct box box = { .next = NULL };
    host_usr_key(HOST_USR, usr);
    CHECK_INT(vm_base_image_key(layers, 1, usr, current), 0);
    CHECK_INT(vm_base_image_key(layers, 1, former, unused), 0);
    CHECK_INT(vm_base_image_key(others, 1, former, of_box), 0);
    CHECK_INT(vm_base_image_key(third, 1, former, of_snap), 0);
    make_image(in("templates/current"), current, 5000);
    make_image(in("templates/former"), unused, 5001);
    make_image(in("templates/box"), of_box, 5002);
    make_image(in("snaps/former"), of_snap, 1);
    const char *const all[] = { current, unused, of_box, of_snap };
    for (size_t i = 0; i < 4; i++)
        put(in("bases/%s.erofs", all[i]), "x");
    (void)snprintf(box.base, sizeof(box.base), "%s", of_box);
    vm.boxes = &box;
    vm_prune_run(&vm);
    settle();
    CHECK(is_there(in("templates/current")) && is_there(in("bases/%s.erofs", current)));
    CHECK(!is_there(in("templates/former")) && !is_there(in("bases/%s.erofs", unused)));
    CHECK(!is_there(in("templates/box")) && is_there(in("bases/%s.erofs", of_box)));
    CHECK(is_there(in("snaps/former")) && is_there(in("bases/%s.erofs", of_snap)));
    vm.boxes = NULL;
    vm_prune_run(&vm);
    settle();
    CHECK(!is_there(in("bases/%s.erofs", of_box)) && is_there(in("bases/%s.erofs", of_snap)));
}

int main(void)
{
    struct err err = ERR_INIT;
    struct loop *loop = NULL;
    CHECK(mkdtemp(folder) != NULL);
    CHECK_INT(loop_new(&loop, &err), 0);
    vm.base.loop = loop;
    vm.site.dir = folder;
    RUN(a_file_is_new_of_its_size_and_a_vmms_to_write);
    RUN(a_sealed_instance_is_what_it_was);
    RUN(memory_that_was_written_to_is_not_used);
    RUN(what_is_no_instance);
    RUN(a_copy_is_a_file_of_its_own);
    RUN(templates_that_were_used_last_stay);
    RUN(drives_that_something_stands_on_stay);
    RUN(a_former_usr_of_the_host_goes_when_nothing_stands_on_it);
    loop_free(loop);
    (void)tree_remove(AT_FDCWD, folder, &err);
    return tap_done();
}
