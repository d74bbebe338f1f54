/* Layers from hostile archives: each must be refused naming its entry, or be made harmless; nothing outside may change.
 */
#include <errno.h>
#include <linux/limits.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "image/image.h"
#include "image/layer_tree.h"
#include "image/unpack.h"
#include "tap.h"
#include "tarmake.h"

static struct image_limits limits;
static int run_count;

/* Unpacks into a new folder; the folder's path goes to *ret_folder. */
static int unpack_bytes(const struct buf *tar, char **ret_folder, struct unpack_job *job, struct err *err)
{
    char file[32];
    char hex[DIGEST_HEX];
    (void)snprintf(file, sizeof(file), "in%d.tar", ++run_count);
    char *path = save_bytes(file, tar->data, tar->len);
    *ret_folder = xasprintf("%s/out%d", test_folder, run_count);
    CHECK(mkdir(*ret_folder, 0755) == 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    job->root_fd = open(*ret_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    job->limits = &limits;
    job->is_rootless = geteuid() != 0;
    const struct tar_stream_source source = { .fd = fd };
    int r = unpack_layer(job, &source, hex, err);
    (void)close(fd);
    (void)close(job->root_fd);
    free(path);
    return r;
}

static int unpack_list(const struct tar_entry *list, char **ret_folder, struct err *err)
{
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    struct unpack_job job = { 0 };
    tar_of(&tar, list);
    return unpack_bytes(&tar, ret_folder, &job, err);
}

TEST(unpacks_files_folders_links_modes_and_owners)
{
    const struct tar_entry list[] = {
        { "./", '5', .mode = 0755 },
        { "a/", '5', .mode = 0500 },
        { "a/b.txt", '0', "hello", .mode = 04755, .uid = 1234 },
        { "a/hard", '1', .link = "a/b.txt" },
        { "soft", '2', .link = "/etc/passwd", .mode = 0777 },
        { "deep/er/made.txt", '0', "x" },
        { 0 },
    };
    CLEANUP(free_p) char *out = NULL;
    struct err err = ERR_INIT;
    struct stat st, hard;
    CHECK_INT(unpack_list(list, &out, &err), 0);
    CHECK_STR(err.msg, "");
    CLEANUP(free_p) char *file = xasprintf("%s/a/b.txt", out);
    CLEANUP(free_p) char *other = xasprintf("%s/a/hard", out);
    CLEANUP(free_p) char *folder = xasprintf("%s/a", out);
    CLEANUP(free_p) char *text = read_text_file(out, "a/b.txt");
    CHECK_STR(text, "hello");
    CHECK(stat(file, &st) == 0 && stat(other, &hard) == 0 && st.st_ino == hard.st_ino);
    CHECK_INT(st.st_mode & 07777, 04755);
    CHECK_INT(st.st_mtim.tv_sec, 1700000000);
    if (geteuid() == 0)
        CHECK_INT(st.st_uid, 1234);
    CHECK(stat(folder, &st) == 0 && (st.st_mode & 07777) == 0500 && st.st_mtim.tv_sec == 1700000000);
}

struct hostile {
    const char *what;
    struct tar_entry entries[4];
    int r;
    const char *names; /* must be in the message */
};

static const struct hostile corpus[] = {
    { "an absolute name", { { "/etc/evil", '0', "x" } }, -EINVAL, "/etc/evil" },
    { "a name that climbs", { { "a/../../evil", '0', "x" } }, -EINVAL, "../../evil" },
    { "a bare ..", { { "..", '5' } }, -EINVAL, ".." },
    { "a name ending in ..", { { "a/..", '5' } }, -EINVAL, ".." },
    { "a file through a link to outside", { { "l", '2', .link = "/tmp" }, { "l/evil", '0', "x" } }, -EINVAL, "l/evil" },
    { "a file through a relative link", { { "l", '2', .link = "../.." }, { "l/evil", '0', "x" } }, -EINVAL, "l/evil" },
    { "a file through a link inside",
      { { "d", '5' }, { "l", '2', .link = "d" }, { "l/evil", '0', "x" } },
      -EINVAL,
      "l/evil" },
    { "a file below a file", { { "f", '0', "x" }, { "f/evil", '0', "x" } }, -EINVAL, "f/evil" },
    { "a looping link as folder", { { "l", '2', .link = "l" }, { "l/x", '0', "x" } }, -EINVAL, "l/x" },
    { "a hard link to outside", { { "h", '1', .link = "/etc/passwd" } }, -EINVAL, "\"h\"" },
    { "a hard link that climbs", { { "h", '1', .link = "../../etc/passwd" } }, -EINVAL, "\"h\"" },
    { "a hard link through a link",
      { { "l", '2', .link = "/etc" }, { "h", '1', .link = "l/passwd" } },
      -EINVAL,
      "\"h\"" },
    { "a hard link to nothing", { { "h", '1', .link = "ghost" } }, -EINVAL, "ghost" },
    { "a hard link to itself", { { "h", '0', "x" }, { "h", '1', .link = "h" } }, -EINVAL, "itself" },
    { "a hard link to a folder", { { "d", '5' }, { "h", '1', .link = "d" } }, -EINVAL, "not a file" },
    { "a hard link to the top", { { "h", '1', .link = "." } }, -EINVAL, "not a file" },
    { "a link without a target", { { "l", '2', .link = "" } }, -EINVAL, "\"l\"" },
    { "the top as a file", { { ".", '0', "x" } }, -EINVAL, "top" },
    { "the top as a link", { { ".", '2', .link = "/" } }, -EINVAL, "top" },
    { "a whiteout of ..", { { "a/.wh...", '0' } }, -EINVAL, ".wh..." },
    { "a whiteout of .", { { ".wh..", '0' } }, -EINVAL, ".wh.." },
    { "a whiteout of nothing", { { ".wh.", '0' } }, -EINVAL, ".wh." },
    { "a whiteout through a link", { { "l", '2', .link = "/tmp" }, { "l/.wh.x", '0' } }, -EINVAL, "l/.wh.x" },
    { "an opaque mark through a link",
      { { "l", '2', .link = "/tmp" }, { "l/.wh..wh..opq", '0' } },
      -EINVAL,
      "l/.wh..wh..opq" },
    { "a device through a link", { { "l", '2', .link = "/dev" }, { "l/evil", '3' } }, -EINVAL, "l/evil" },
};

TEST(refuses_each_hostile_archive_by_name_and_touches_nothing_outside)
{
    CLEANUP(free_p) char *guard = save_bytes("guard", "safe", 4);
    for (size_t i = 0; i < sizeof(corpus) / sizeof(corpus[0]); i++) {
        struct tar_entry list[5] = { 0 };
        memcpy(list, corpus[i].entries, sizeof(corpus[i].entries));
        CLEANUP(free_p) char *out = NULL;
        struct err err = ERR_INIT;
        int before = count_folder(test_folder, ".");
        int r = unpack_list(list, &out, &err);
        if (r != corpus[i].r || !strstr(err.msg, corpus[i].names))
            printf("# %s: %d, \"%s\"\n", corpus[i].what, r, err.msg);
        CHECK_INT(r, corpus[i].r);
        CHECK(strstr(err.msg, corpus[i].names) != NULL);
        CHECK_INT(count_folder(test_folder, "."), before + 2); /* the archive and its folder, nothing else */
    }
    CHECK(access("/tmp/evil", F_OK) < 0 && access("/etc/evil", F_OK) < 0 && access("/dev/evil", F_OK) < 0);
    CLEANUP(free_p) char *text = read_text_file(test_folder, "guard");
    CHECK_STR(text, "safe");
}

TEST(replaces_a_planted_link_instead_of_writing_through_it)
{
    CLEANUP(free_p) char *victim = save_bytes("victim", "untouched", 9);
    const struct tar_entry list[] = {
        { "f", '2', .link = victim }, { "f", '0', "evil" }, { "d", '2', .link = test_folder },
        { "d", '5', .mode = 0755 },   { "d/x", '0', "in" }, { 0 },
    };
    CLEANUP(free_p) char *out = NULL;
    CHECK_INT(unpack_list(list, &out, NULL), 0);
    CLEANUP(free_p) char *outside = read_text_file(test_folder, "victim");
    CLEANUP(free_p) char *inside = read_text_file(out, "f");
    CLEANUP(free_p) char *below = read_text_file(out, "d/x");
    CHECK_STR(outside, "untouched");
    CHECK_STR(inside, "evil");
    CHECK_STR(below, "in");
}

TEST(a_folder_replaced_by_a_link_is_not_reached_through_the_kept_descriptor)
{
    const struct tar_entry list[] = {
        { "d/a", '0', "1" }, { "d", '2', .link = "/tmp" }, { "d/evil2", '0', "x" }, { 0 }
    };
    CLEANUP(free_p) char *out = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(unpack_list(list, &out, &err), -EINVAL);
    CHECK(strstr(err.msg, "d/evil2") != NULL);
    CHECK(access("/tmp/evil2", F_OK) < 0);
}

TEST(leaves_device_nodes_out)
{
    const struct tar_entry list[] = { { "c", '3' }, { "b", '4' }, { "p", '6' }, { "ok", '0', "x" }, { 0 } };
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    CLEANUP(free_p) char *out = NULL;
    struct unpack_job job = { 0 };
    tar_of(&tar, list);
    CHECK_INT(unpack_bytes(&tar, &out, &job, NULL), 0);
    CHECK_INT(job.skipped, 3);
    CHECK_INT(count_folder(out, "."), 1);
}

TEST(turns_whiteouts_into_those_of_overlayfs)
{
    const struct tar_entry list[] = {
        { "d/.wh.gone", '0' }, { "o/.wh..wh..opq", '0' }, { "o/kept", '0', "k" },
        { "o/.wh.kept", '0' }, { ".wh..wh.aufs", '0' },   { 0 },
    };
    CLEANUP(free_p) char *out = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(unpack_list(list, &out, &err), 0);
    CHECK_STR(err.msg, "");
    CLEANUP(free_p) char *gone = xasprintf("%s/d/gone", out);
    CLEANUP(free_p) char *opaque = xasprintf("%s/o", out);
    struct stat st;
    char value[4] = "";
    CHECK(lstat(gone, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0));
    const char *mark = geteuid() == 0 ? "trusted.overlay.opaque" : "user.overlay.opaque";
    CHECK_INT(getxattr(opaque, mark, value, sizeof(value)), 1);
    CHECK_STR(value, "y");
    CLEANUP(free_p) char *kept = read_text_file(out, "o/kept");
    CHECK_STR(kept, "k"); /* a whiteout hides what is below, not what the layer itself has */
    CHECK_INT(count_folder(out, "."), 2);
}

TEST(keeps_harmless_attributes_and_drops_those_that_steer_overlayfs)
{
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    CLEANUP(free_p) char *out = NULL;
    struct unpack_job job = { 0 };
    tar_add_pax(&tar, "SCHILY.xattr.user.note", "hi");
    tar_add(&tar, &(struct tar_entry){ "a", '0', "x" });
    tar_add_pax(&tar, "SCHILY.xattr.trusted.overlay.redirect", "/etc");
    tar_add(&tar, &(struct tar_entry){ "b", '5', .mode = 0755 });
    tar_add_pax(&tar, "SCHILY.xattr.user.overlay.opaque", "y");
    tar_add(&tar, &(struct tar_entry){ "c", '5', .mode = 0755 });
    tar_add_pax(&tar, "path", "caf\xc3\xa9");
    tar_add(&tar, &(struct tar_entry){ "d", '0', "utf8" });
    tar_end(&tar);
    struct err err = ERR_INIT;
    CHECK_INT(unpack_bytes(&tar, &out, &job, &err), 0);
    char value[8] = "";
    CLEANUP(free_p) char *a = xasprintf("%s/a", out);
    CLEANUP(free_p) char *b = xasprintf("%s/b", out);
    CLEANUP(free_p) char *c = xasprintf("%s/c", out);
    CHECK_INT(getxattr(a, "user.note", value, sizeof(value)), 2);
    CHECK(getxattr(b, "trusted.overlay.redirect", value, sizeof(value)) < 0);
    CHECK(getxattr(c, "user.overlay.opaque", value, sizeof(value)) < 0);
    CLEANUP(free_p) char *text = read_text_file(out, "caf\xc3\xa9");
    CHECK_STR(text, "utf8");
}

TEST(copies_a_hard_link_into_a_layer_below)
{
    const struct tar_entry base[] = { { "bin/tool", '0', "tool", .mode = 0755 }, { "gone", '0', "g" }, { 0 } };
    const struct tar_entry top[] = { { "bin/alias", '1', .link = "bin/tool" }, { 0 } };
    CLEANUP(free_p) char *low = NULL;
    CLEANUP(free_p) char *out = NULL;
    CHECK_INT(unpack_list(base, &low, NULL), 0);
    int fd = open(low, O_PATH | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    tar_of(&tar, top);
    struct unpack_job job = { .lower_fds = &fd, .n_lower = 1 };
    CHECK_INT(unpack_bytes(&tar, &out, &job, NULL), 0);
    CHECK(job.has_lower_links);
    CLEANUP(free_p) char *text = read_text_file(out, "bin/alias");
    CHECK_STR(text, "tool");
    (void)close(fd);
}

static int unpack_limited(const struct tar_entry *list, struct err *err)
{
    CLEANUP(free_p) char *out = NULL;
    return unpack_list(list, &out, err);
}

TEST(each_limit_is_named_when_it_is_passed)
{
    const struct tar_entry list[] = { { "a/b/c", '0', "12345678" }, { "d", '0', "x" }, { 0 } };
    const struct image_limits usual = limits;
    struct err err = ERR_INIT;
    limits.depth = 2;
    CHECK_INT(unpack_limited(list, &err), -E2BIG);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_DEPTH") != NULL);
    limits = usual;
    limits.entries = 1;
    CHECK_INT(unpack_limited(list, &err), -E2BIG);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_ENTRIES") && strstr(err.msg, "\"d\""));
    limits = usual;
    limits.bytes = 2048;
    CHECK_INT(unpack_limited(list, &err), -E2BIG);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_BYTES") != NULL);
    limits = usual;
    limits.name_bytes = 10;
    CHECK_INT(unpack_limited((struct tar_entry[]){ { "elevenbytes", '0' }, { 0 } }, &err), -E2BIG);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_NAME") != NULL);
    limits = usual;
    CHECK_INT(unpack_limited(list, &err), 0);
}

TEST(a_file_larger_than_the_limit_is_refused_before_it_is_written)
{
    CLEANUP(buf_done) struct buf tar = BUF_INIT(TAR_MAX);
    CLEANUP(free_p) char *out = NULL;
    struct unpack_job job = { 0 };
    struct err err = ERR_INIT;
    tar_add_pax(&tar, "GNU.sparse.major", "0");
    tar_add_pax(&tar, "size", "9000000000000");
    tar_add(&tar, &(struct tar_entry){ "huge", '0', "x" });
    tar_end(&tar);
    CHECK_INT(unpack_bytes(&tar, &out, &job, &err), -E2BIG);
    CHECK(strstr(err.msg, "huge") != NULL);
}

TEST(refuses_a_compression_bomb_by_its_ratio)
{
    CLEANUP(free_p) char *plain = xasprintf("%s/bomb", test_folder);
    CLEANUP(free_p) char *command = xasprintf("cd %s && truncate -s 8M bomb && tar czf bomb.tgz bomb", test_folder);
    CHECK_INT(system(command), 0);
    CLEANUP(free_p) char *packed = xasprintf("%s.tgz", plain);
    CLEANUP(free_p) char *out = xasprintf("%s/bombed", test_folder);
    CHECK(mkdir(out, 0755) == 0);
    const struct image_limits usual = limits;
    limits.ratio_floor = 1 << 20;
    limits.ratio = 100;
    struct unpack_job job = { .limits = &limits, .root_fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    int fd = open(packed, O_RDONLY | O_CLOEXEC);
    char hex[DIGEST_HEX];
    struct err err = ERR_INIT;
    const struct tar_stream_source source = { .fd = fd };
    CHECK_INT(unpack_layer(&job, &source, hex, &err), -E2BIG);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_RATIO") != NULL);
    limits = usual;
    (void)close(fd);
    (void)close(job.root_fd);
}

TEST(refuses_what_is_no_tar_and_what_is_cut_short)
{
    CLEANUP(buf_done) struct buf junk = BUF_INIT(TAR_MAX);
    CLEANUP(buf_done) struct buf cut = BUF_INIT(TAR_MAX);
    CLEANUP(free_p) char *a = NULL;
    CLEANUP(free_p) char *b = NULL;
    struct unpack_job job = { 0 };
    struct err err = ERR_INIT;
    (void)buf_add_str(&junk, "<html>not an archive at all, but long enough to be looked at</html>");
    CHECK_INT(unpack_bytes(&junk, &a, &job, &err), -EINVAL);
    tar_add(&cut, &(struct tar_entry){ "file", '0', "some content that will not be there" });
    cut.len = 520;
    CHECK_INT(unpack_bytes(&cut, &b, &job, &err), -EINVAL);
    CHECK(strstr(err.msg, "file") != NULL);
}

TEST(removes_trees_deeper_than_any_path_and_without_permissions)
{
    CLEANUP(free_p) char *top = xasprintf("%s/deep", test_folder);
    CHECK(mkdir(top, 0755) == 0);
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1500; i++) {
        CHECK(mkdirat(fd, "dddddddd", 0755) == 0);
        int next = openat(fd, "dddddddd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)fchmod(fd, i % 7 ? 0755 : 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    CHECK_INT(layer_tree_remove_at(AT_FDCWD, top), 0);
    CHECK(access(top, F_OK) < 0);
    CHECK_INT(layer_tree_remove_at(AT_FDCWD, top), 0);
}

TEST(limits_come_from_the_environment_and_wrong_ones_are_named)
{
    struct image_limits l;
    struct err err = ERR_INIT;
    (void)setenv("III_IMAGE_MAX_ENTRIES", "7", 1);
    CHECK_INT(image_limits_load(&l, &err), 0);
    CHECK_INT(l.entries, 7);
    (void)setenv("III_IMAGE_MAX_ENTRIES", "many", 1);
    CHECK_INT(image_limits_load(&l, &err), -EINVAL);
    CHECK(strstr(err.msg, "III_IMAGE_MAX_ENTRIES") != NULL);
    (void)unsetenv("III_IMAGE_MAX_ENTRIES");
}

int main(void)
{
    if (!mkdtemp(test_folder) || image_limits_load(&limits, NULL) < 0)
        return 1;
    RUN(unpacks_files_folders_links_modes_and_owners);
    RUN(refuses_each_hostile_archive_by_name_and_touches_nothing_outside);
    RUN(replaces_a_planted_link_instead_of_writing_through_it);
    RUN(a_folder_replaced_by_a_link_is_not_reached_through_the_kept_descriptor);
    RUN(leaves_device_nodes_out);
    RUN(turns_whiteouts_into_those_of_overlayfs);
    RUN(keeps_harmless_attributes_and_drops_those_that_steer_overlayfs);
    RUN(copies_a_hard_link_into_a_layer_below);
    RUN(each_limit_is_named_when_it_is_passed);
    RUN(a_file_larger_than_the_limit_is_refused_before_it_is_written);
    RUN(refuses_a_compression_bomb_by_its_ratio);
    RUN(refuses_what_is_no_tar_and_what_is_cut_short);
    RUN(removes_trees_deeper_than_any_path_and_without_permissions);
    RUN(limits_come_from_the_environment_and_wrong_ones_are_named);
    remove_test_folder();
    return tap_done();
}
