/* A folder to a tar archive and back: what is kept, what is refused, what never leaves the folder. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "tar/tar_header.h"
#include "tar/tar_unpack.h"

/* An archive in memory. */
struct bytes {
    uint8_t *data;
    size_t len, at, step; /* step: most bytes of one read; 0: any */
};

static int to_memory(void *arg, const void *data, size_t len)
{
    struct bytes *b = arg;
    b->data = realloc(b->data, b->len + len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return 0;
}

static ssize_t from_memory(void *arg, void *data, size_t len)
{
    struct bytes *b = arg;
    size_t n = b->len - b->at < len ? b->len - b->at : len;
    if (b->step && n > b->step)
        n = b->step;
    if (n > 0)
        memcpy(data, b->data + b->at, n);
    b->at += n;
    return (ssize_t)n;
}

static void add(struct bytes *b, const struct tar_entry *e, const char *content)
{
    uint8_t head[TAR_HEAD_MAX];
    static const uint8_t zeroes[TAR_BLOCK];
    size_t n = tar_header_write(e, head);
    (void)to_memory(b, head, n);
    (void)to_memory(b, content, strlen(content));
    (void)to_memory(b, zeroes, tar_padding(strlen(content)));
}

static void add_file(struct bytes *b, const char *path, const char *content)
{
    add(b, &(struct tar_entry){ .type = TAR_FILE, .mode = 0644, .size = strlen(content), .path = path }, content);
}

static void add_link(struct bytes *b, enum tar_type type, const char *path, const char *target)
{
    add(b, &(struct tar_entry){ .type = type, .mode = 0777, .path = path, .link = target }, "");
}

static char home[] = "/tmp/tar-XXXXXX";

/* A new folder below ours, opened. */
static int folder(const char *name)
{
    CHECK(mkdir(name, 0755) == 0);
    return open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int unpack_at(int fd, struct bytes *b, struct tar_unpacked *ret, bool has_inner_links_only)
{
    const struct tar_unpack_plan plan = {
        .folder = fd, .source = from_memory, .arg = b, .has_inner_links_only = has_inner_links_only
    };
    b->at = 0;
    return tar_unpack(&plan, ret);
}

static int unpack_into(const char *name, struct bytes *b, struct tar_unpacked *ret)
{
    int fd = folder(name);
    int r = unpack_at(fd, b, ret, false);
    (void)close(fd);
    return r;
}

static bool has_content(const char *path, const char *want)
{
    char got[512] = "";
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);
    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)strlen(want) && memcmp(got, want, (size_t)n) == 0;
}

static void write_file(const char *path, const char *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    CHECK(fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    (void)close(fd);
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    return lstat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_mode == y.st_mode && x.st_mtim.tv_sec == y.st_mtim.tv_sec &&
           x.st_mtim.tv_nsec == y.st_mtim.tv_nsec && (S_ISDIR(x.st_mode) || x.st_size == y.st_size);
}

TEST(a_folder_survives_the_way_there_and_back)
{
    static const char *const names[] = { "plain", "with space", "new\nline", "gr\xc3\xbc\xc3\x9f",
                                         "not\xff"
                                         "utf8" };
    struct bytes b = { 0 };
    struct tar_packed packed;
    struct tar_unpacked done;
    char from[300], to[300];
    int fd = folder("from");
    CHECK(mkdir("from/sub", 0750) == 0 && mkdir("from/sub/empty", 0700) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(from, sizeof from, "from/sub/%s", names[i]);
        write_file(from, names[i]);
    }
    char name[256] = "";
    memset(name, 'n', 255);
    (void)snprintf(from, sizeof from, "from/%s", name);
    write_file(from, "long name");
    CHECK(symlink("sub/plain", "from/link") == 0 && symlink("/etc/passwd", "from/out") == 0);
    CHECK(link("from/sub/plain", "from/second") == 0 && mkfifo("from/fifo", 0600) == 0);
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = 1234567890, .tv_nsec = 987654321 } };
    CHECK(utimensat(AT_FDCWD, "from/sub/plain", times, 0) == 0 && utimensat(AT_FDCWD, "from/sub", times, 0) == 0);
    CHECK(chmod("from/sub", 0555) == 0);

    CHECK_INT(tar_pack(&(struct tar_pack_plan){ fd, "x", false, to_memory, &b }, &packed), 0);
    (void)close(fd);
    CHECK_INT(b.len % TAR_BLOCK, 0);
    for (size_t step = 0; step < 2; step++) { /* however the input is cut */
        b.step = step ? 7 : 0;
        const char *target = step ? "to2" : "to1";
        CHECK_INT(unpack_into(target, &b, &done), 0);
        CHECK_INT(done.entries, 12);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            (void)snprintf(from, sizeof from, "from/sub/%s", names[i]);
            (void)snprintf(to, sizeof to, "%s/sub/%s", target, names[i]);
            CHECK(is_same(from, to) && has_content(to, names[i]));
        }
        static const char *const others[] = { "sub", "sub/empty", "link", "out", "fifo", "second" };
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            (void)snprintf(from, sizeof from, "from/%s", others[i]);
            (void)snprintf(to, sizeof to, "%s/%s", target, others[i]);
            CHECK(is_same(from, to));
        }
        struct stat x, y;
        (void)snprintf(from, sizeof from, "%s/second", target);
        (void)snprintf(to, sizeof to, "%s/sub/plain", target);
        CHECK(stat(from, &x) == 0 && stat(to, &y) == 0 && x.st_ino == y.st_ino);
    }
    free(b.data);
}

TEST(one_file_is_an_archive_of_itself)
{
    struct bytes b = { 0 };
    struct tar_packed packed;
    struct tar_unpacked done;
    write_file("single", "alone");
    int fd = open("single", O_RDONLY | O_CLOEXEC);
    CHECK_INT(tar_pack(&(struct tar_pack_plan){ fd, "name", false, to_memory, &b }, &packed), 0);
    (void)close(fd);
    CHECK_INT(unpack_into("one", &b, &done), 0);
    CHECK(has_content("one/name", "alone") && done.bytes == 5);
    free(b.data);
}

TEST(names_that_lead_out_are_refused)
{
    static const char *const names[] = { "/abs", "../up", "a/../../up", "..", "a/..", "" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes b = { 0 };
        struct tar_unpacked done;
        char target[32];
        (void)snprintf(target, sizeof target, "lead%zu", i);
        add_file(&b, names[i], "x");
        CHECK_INT(unpack_into(target, &b, &done), -EINVAL);
        CHECK(done.why[0] && access("up", F_OK) < 0);
        free(b.data);
        b = (struct bytes){ 0 };
        add_link(&b, TAR_HARDLINK, "hard", names[i]);
        (void)snprintf(target, sizeof target, "hard%zu", i);
        CHECK(unpack_into(target, &b, &done) < 0);
        free(b.data);
    }
}

TEST(no_link_is_followed)
{
    struct bytes b = { 0 };
    struct tar_unpacked done;
    CHECK(mkdir("outside", 0755) == 0);
    write_file("outside/kept", "kept");
    add_link(&b, TAR_SYMLINK, "way", "../outside");
    add_file(&b, "way/new", "x");
    CHECK_INT(unpack_into("follow", &b, &done), -EEXIST);
    CHECK(access("outside/new", F_OK) < 0 && strstr(done.why, "way/new"));
    free(b.data);

    b = (struct bytes){ 0 }; /* a link as the last name is replaced */
    add_link(&b, TAR_SYMLINK, "kept", "../outside/kept");
    add_file(&b, "kept", "mine");
    CHECK_INT(unpack_into("last", &b, &done), 0);
    CHECK(has_content("outside/kept", "kept") && has_content("last/kept", "mine"));
    free(b.data);

    b = (struct bytes){ 0 }; /* a hard link through a link, and one to a link */
    add_link(&b, TAR_SYMLINK, "way", "../outside");
    add_link(&b, TAR_HARDLINK, "stolen", "way/kept");
    CHECK_INT(unpack_into("hardway", &b, &done), -EEXIST);
    CHECK(access("hardway/stolen", F_OK) < 0);
    free(b.data);

    b = (struct bytes){ 0 }; /* writing to a second name does not change the first */
    add_file(&b, "first", "first");
    add_link(&b, TAR_HARDLINK, "second", "first");
    add_file(&b, "second", "second");
    CHECK_INT(unpack_into("second", &b, &done), 0);
    CHECK(has_content("second/first", "first") && has_content("second/second", "second"));
    free(b.data);
}

TEST(links_that_lead_out_can_be_left_out)
{
    static const struct {
        const char *path, *target;
        bool is_kept;
    } links[] = { { "a", "b", true },        { "d/a", "../b", true },      { "d/b", "../../b", false },
                  { "abs", "/etc", false },  { "d/e/f", "../../x", true }, { "d/x", "e/../../../y", false },
                  { "dot", "./././b", true } };
    struct bytes b = { 0 };
    struct tar_unpacked done;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        add_link(&b, TAR_SYMLINK, links[i].path, links[i].target);
    int fd = folder("inner");
    CHECK_INT(unpack_at(fd, &b, &done, true), 0);
    CHECK_INT(done.skipped, 3);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct stat st;
        CHECK((fstatat(fd, links[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0) == links[i].is_kept);
    }
    (void)close(fd);
    free(b.data);
}

TEST(what_is_in_the_way_is_replaced_or_named)
{
    struct bytes b = { 0 };
    struct tar_unpacked done;
    add_file(&b, "a", "new");
    int fd = folder("way");
    write_file("way/a", "old");
    CHECK_INT(unpack_at(fd, &b, &done, false), 0);
    CHECK(has_content("way/a", "new"));
    CHECK(unlink("way/a") == 0 && mkdir("way/a", 0755) == 0);
    CHECK_INT(unpack_at(fd, &b, &done, false), -EISDIR);
    free(b.data);
    b = (struct bytes){ 0 };
    add(&b, &(struct tar_entry){ .type = TAR_FOLDER, .mode = 0700, .path = "f/" }, "");
    write_file("way/f", "file");
    CHECK_INT(unpack_at(fd, &b, &done, false), -EEXIST);
    CHECK(has_content("way/f", "file"));
    (void)close(fd);
    free(b.data);
}

TEST(setuid_bits_are_dropped_and_the_folder_keeps_its_mode)
{
    struct bytes b = { 0 };
    struct stat st;
    struct tar_unpacked done;
    add(&b, &(struct tar_entry){ .type = TAR_FOLDER, .mode = 0700, .path = "./" }, "");
    add(&b, &(struct tar_entry){ .type = TAR_FILE, .mode = 06755, .path = "suid" }, "");
    int fd = folder("suid");
    const struct tar_unpack_plan plan = { .folder = fd, .is_folder_old = true, .source = from_memory, .arg = &b };
    CHECK_INT(tar_unpack(&plan, &done), 0);
    CHECK(stat("suid/suid", &st) == 0 && (st.st_mode & 07777) == 0755);
    CHECK(stat("suid", &st) == 0 && (st.st_mode & 07777) == 0755);
    CHECK_INT(unpack_at(fd, &b, &done, false), 0); /* a folder that was made for it gets the mode */
    CHECK(stat("suid", &st) == 0 && (st.st_mode & 07777) == 0700);
    (void)close(fd);
    free(b.data);
}

TEST(what_is_not_an_archive_is_named)
{
    struct bytes b = { 0 };
    struct tar_unpacked done;
    add_file(&b, "whole", "x");
    add_file(&b, "cut", "0123456789");
    size_t len = b.len;
    b.len = len - TAR_BLOCK + 4; /* in the middle of the content */
    CHECK_INT(unpack_into("cut1", &b, &done), -EINVAL);
    CHECK(has_content("cut1/whole", "x") && access("cut1/cut", F_OK) < 0 && strstr(done.why, "cut"));
    b.len = len - TAR_BLOCK - 100; /* in the middle of a head */
    CHECK_INT(unpack_into("cut2", &b, &done), -EINVAL);
    b.len = len;
    b.data[TAR_BLOCK * 2] ^= 1; /* a wrong sum */
    CHECK_INT(unpack_into("sum", &b, &done), -EINVAL);
    free(b.data);

    b = (struct bytes){ 0 };
    (void)to_memory(&b, "this is no archive", 18);
    CHECK_INT(unpack_into("text", &b, &done), -EINVAL);
    free(b.data);
    b = (struct bytes){ 0 };
    CHECK_INT(unpack_into("nothing", &b, &done), 0);

    b = (struct bytes){ 0 };
    add(&b, &(struct tar_entry){ .type = (enum tar_type)'3', .mode = 0600, .path = "null" }, "");
    CHECK_INT(unpack_into("device", &b, &done), -EINVAL);
    CHECK(strstr(done.why, "device") && access("device/null", F_OK) < 0);
    free(b.data);
}

TEST(extended_headers_have_bounds)
{
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {
        { "12 path=abc\n", true },
        { "12 path=abc\n19 mtime=12345.678\n", true },
        { "11 path=abc\n", false },
        { "13 path=abc\n", false },
        { "12 path=abcd", false },
        { "99999999999999999999 path=a\n", false },
        { "path=a\n", false },
        { "8 patha\n", false },
        { "0 path=a\n", false },
        { "-9 path=a\n", false },
        { "10 size=-\n", false },
        { "11 size=12\n", true },
        { "12 mtime=-1\n", true },
        { "13 mtime=1.x\n", false },
        { "18 SCHILY.x=\xff\xfe"
          "abc\n",
          true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tar_head h = { 0 };
        CHECK(tar_header_records(&h, cases[i].text, strlen(cases[i].text)) == cases[i].is_good);
    }
    struct tar_head h = { 0 };
    CHECK(tar_header_records(&h, "23 mtime=-1.700000000\n", 22) == false);
    CHECK(tar_header_records(&h, "22 mtime=-1.700000000\n", 22));
    CHECK(h.entry.mtime.tv_sec == -2 && h.entry.mtime.tv_nsec == 300000000);
    CHECK(!tar_header_records(&h, "10 path=a\0\n", 11));
}

TEST(numbers_beyond_ustar_are_kept)
{
    uint8_t head[TAR_HEAD_MAX];
    struct tar_head h = { 0 };
    struct tar_entry e = { .type = TAR_FILE,
                           .mode = 0600,
                           .uid = 70000000,
                           .size = 1ull << 40,
                           .mtime = { .tv_sec = -1, .tv_nsec = 300000000 },
                           .path = "big" };
    size_t n = tar_header_write(&e, head);
    CHECK(n == 3 * TAR_BLOCK);
    CHECK(tar_header_read(&h, head) == TAR_BLOCK_RECORDS);
    CHECK(tar_header_records(&h, (const char *)head + TAR_BLOCK, (size_t)h.extra));
    CHECK(tar_header_read(&h, head + 2 * TAR_BLOCK) == TAR_BLOCK_ENTRY);
    CHECK(h.entry.size == e.size && h.entry.mtime.tv_sec == -1 && h.entry.mtime.tv_nsec == 300000000);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    if (!mkdtemp(home) || chdir(home) < 0)
        return 1;
    (void)umask(022);
    RUN(a_folder_survives_the_way_there_and_back);
    RUN(one_file_is_an_archive_of_itself);
    RUN(names_that_lead_out_are_refused);
    RUN(no_link_is_followed);
    RUN(links_that_lead_out_can_be_left_out);
    RUN(what_is_in_the_way_is_replaced_or_named);
    RUN(setuid_bits_are_dropped_and_the_folder_keeps_its_mode);
    RUN(what_is_not_an_archive_is_named);
    RUN(extended_headers_have_bounds);
    RUN(numbers_beyond_ustar_are_kept);
    (void)nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return tap_done();
}
