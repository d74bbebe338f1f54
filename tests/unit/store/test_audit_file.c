#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "scrapfolder.h"
#include "store/audit_file.h"
#include "tap.h"

static char folder[] = "/tmp/test_auditfile.XXXXXX";
static int count;

static char *new_dir(void)
{
    char *path = xasprintf("%s/%d", folder, ++count);
    CHECK_INT(mkdir(path, 0700), 0);
    return path;
}

static struct audit_file *open_at(const char *dir, int64_t max_bytes, int64_t keep, bool *ret_torn)
{
    struct audit_file *f = NULL;
    struct err err = ERR_INIT;
    bool is_torn = false;
    struct audit_file_options o = { .dir = dir, .max_bytes = max_bytes, .keep = keep };
    CHECK_INT(audit_file_open(&o, &f, ret_torn ? ret_torn : &is_torn, &err), 0);
    return f;
}

static void add(struct audit_file *f, int n)
{
    struct err err = ERR_INIT;
    for (int i = 0; i < n; i++) {
        JSON_OWNED j = json_pack("{s:s, s:i}", "operation", "a::b", "status", 200);
        audit_file_add(f, j);
    }
    CHECK_INT(audit_file_flush(f, &err), 0);
    CHECK_INT((int)audit_file_waiting(f), 0);
}

static int verify(const char *dir, struct audit_file_verdict *v)
{
    struct err err = ERR_INIT;
    return audit_file_verify(dir, v, &err);
}

TEST(the_chain_goes_on_over_opens)
{
    CLEANUP(free_p) char *dir = new_dir();
    struct audit_file_verdict v = { 0 };
    for (int i = 0; i < 3; i++) {
        struct audit_file *f = open_at(dir, 1 << 20, 0, NULL);
        add(f, 4);
        audit_file_close(f);
    }
    CHECK_INT(verify(dir, &v), 0);
    CHECK(v.lines == 12 && v.first == 1 && v.last == 12 && !v.is_trimmed);
}

TEST(full_files_are_renamed_and_the_oldest_go)
{
    CLEANUP(free_p) char *dir = new_dir();
    struct audit_file_verdict v = { 0 };
    struct audit_file *f = open_at(dir, 512, 2, NULL);
    for (int i = 0; i < 20; i++)
        add(f, 2);
    audit_file_close(f);
    CHECK_INT(verify(dir, &v), 0);
    CHECK(v.is_trimmed && v.last == 40 && v.lines < 20);
    f = open_at(dir, 512, 2, NULL); /* right after a rotation the current file is empty: the number goes on */
    add(f, 1);
    audit_file_close(f);
    CHECK_INT(verify(dir, &v), 0);
    CHECK(v.last == 41);
}

TEST(a_torn_line_is_cut_off)
{
    CLEANUP(free_p) char *dir = new_dir();
    CLEANUP(free_p) char *path = xasprintf("%s/audit/current.jsonl", dir);
    struct audit_file_verdict v = { 0 };
    bool is_torn = false;
    struct audit_file *f = open_at(dir, 1 << 20, 0, NULL);
    add(f, 2);
    audit_file_close(f);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    CHECK(fd >= 0 && write(fd, "{\"ti", 4) == 4);
    (void)close(fd);
    CHECK(verify(dir, &v) < 0);
    f = open_at(dir, 1 << 20, 0, &is_torn);
    CHECK(is_torn);
    add(f, 1);
    audit_file_close(f);
    CHECK_INT(verify(dir, &v), 0);
    CHECK(v.last == 3);
}

TEST(every_byte_counts)
{
    CLEANUP(free_p) char *dir = new_dir();
    CLEANUP(free_p) char *path = xasprintf("%s/audit/current.jsonl", dir);
    struct audit_file_verdict v = { 0 };
    struct stat st;
    struct audit_file *f = open_at(dir, 1 << 20, 0, NULL);
    add(f, 2);
    audit_file_close(f);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    int missed = 0;
    for (off_t at = 0; at < st.st_size; at++) {
        char was, is;
        CHECK(pread(fd, &was, 1, at) == 1);
        is = (char)(was ^ 1);
        CHECK(pwrite(fd, &is, 1, at) == 1);
        missed += verify(dir, &v) == 0;
        CHECK(pwrite(fd, &was, 1, at) == 1);
    }
    (void)close(fd);
    CHECK_INT(missed, 0);
    CHECK_INT(verify(dir, &v), 0);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    RUN(the_chain_goes_on_over_opens);
    RUN(full_files_are_renamed_and_the_oldest_go);
    RUN(a_torn_line_is_cut_off);
    RUN(every_byte_counts);
    scrapfolder_remove(folder);
    return tap_done();
}
