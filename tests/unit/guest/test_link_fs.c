/* Files through a real agent: names, changes, and streams of any size in both directions. */
#include "agent_rig.h"

#include <sys/stat.h>

#include "guest/proto.h"

static char names[4096]; /* of the last list, joined by commas */
static struct guest_stat last;
static size_t last_count;

static void on_stats(void *arg, const struct guest_stat *st, size_t n, const struct err *err)
{
    size_t at = 0;
    names[0] = 0;
    last_count = n;
    for (size_t i = 0; i < n && at < sizeof(names) - 300; i++)
        at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? "," : "", st[i].path);
    if (n)
        last = st[0];
    rig_on_done(arg, err);
}

static int put(struct rig *r, const char *name, const char *text)
{
    return rig_result(r, guest_fs_put(r->g, rig_path(r, name), text, strlen(text), 0644, rig_on_done, r));
}

TEST(a_small_file_is_put_with_its_mode_and_parents)
{
    struct rig r;
    struct stat st;
    rig_init(&r);
    CHECK_INT(put(&r, "a/b/file", "text"), 0);
    CHECK_INT(stat(rig_path(&r, "a/b/file"), &st), 0);
    CHECK_INT(st.st_size, 4);
    CHECK_INT(st.st_mode & 07777, 0644);
    CHECK_INT(put(&r, "a/b", "text"), ERR_INVALID);
    rig_done(&r);
}

TEST(a_put_of_one_mebibyte_arrives_whole)
{
    static char data[PROTO_PUT_MAX];
    struct rig r;
    struct stat st;
    rig_init(&r);
    memset(data, 'y', sizeof(data));
    CHECK_INT(rig_result(&r, guest_fs_put(r.g, rig_path(&r, "big"), data, sizeof(data), 0, rig_on_done, &r)), 0);
    CHECK_INT(stat(rig_path(&r, "big"), &st), 0);
    CHECK_INT(st.st_size, PROTO_PUT_MAX);
    rig_done(&r);
}

TEST(stat_and_list_tell_what_is_there)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(put(&r, "b", "22"), 0);
    CHECK_INT(put(&r, "a", "1"), 0);
    CHECK_INT(rig_result(&r, guest_fs_mkdir(r.g, rig_path(&r, "d/e"), true, 0750, rig_on_done, &r)), 0);
    CHECK_INT(symlink("/nowhere", rig_path(&r, "l")), 0);
    CHECK_INT(rig_result(&r, guest_fs_list(r.g, r.dir, on_stats, &r)), 0);
    CHECK_STR(names, "a,b,d,l");
    const char *path = rig_path(&r, "b");
    CHECK_INT(rig_result(&r, guest_fs_stat(r.g, &path, 1, on_stats, &r)), 0);
    CHECK_STR(names, path);
    CHECK_INT(last.size, 2);
    CHECK(S_ISREG(last.mode) && last.mtime_ms > 1500000000000);
    path = rig_path(&r, "l");
    CHECK_INT(rig_result(&r, guest_fs_stat(r.g, &path, 1, on_stats, &r)), 0);
    CHECK(S_ISLNK(last.mode));
    path = rig_path(&r, "absent");
    CHECK_INT(rig_result(&r, guest_fs_stat(r.g, &path, 1, on_stats, &r)), ERR_NOT_FOUND);
    CHECK_INT(rig_result(&r, guest_fs_list(r.g, path, on_stats, &r)), ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(a_long_list_comes_whole)
{
    struct rig r;
    char name[200];
    rig_init(&r);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(name, sizeof(name), "%s/a-name-that-is-long-enough-to-need-many-frames-%060d", r.dir, i);
        int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        CHECK(fd >= 0);
        close(fd);
    }
    CHECK_INT(rig_result(&r, guest_fs_list(r.g, r.dir, on_stats, &r)), 0);
    CHECK_INT(last_count, 3000);
    rig_done(&r);
}

TEST(search_finds_by_base_name)
{
    struct rig r;
    char want[256];
    rig_init(&r);
    CHECK_INT(put(&r, "x/one.txt", ""), 0);
    CHECK_INT(put(&r, "x/one.c", ""), 0);
    CHECK_INT(rig_result(&r, guest_fs_search(r.g, r.dir, "*.txt", on_stats, &r)), 0);
    (void)snprintf(want, sizeof(want), "%s/x/one.txt", r.dir);
    CHECK_STR(names, want);
    rig_done(&r);
}

TEST(files_are_moved_changed_and_removed)
{
    struct rig r;
    struct stat st;
    char to[128];
    rig_init(&r);
    CHECK_INT(put(&r, "a", "1"), 0);
    (void)snprintf(to, sizeof(to), "%s/b", r.dir);
    CHECK_INT(rig_result(&r, guest_fs_move(r.g, rig_path(&r, "a"), to, rig_on_done, &r)), 0);
    CHECK_INT(rig_result(&r, guest_fs_chmod(r.g, to, "u+x", NULL, false, rig_on_done, &r)), 0);
    CHECK_INT(stat(to, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0744);
    CHECK_INT(rig_result(&r, guest_fs_chmod(r.g, to, "600", NULL, false, rig_on_done, &r)), 0);
    CHECK_INT(stat(to, &st), 0);
    CHECK_INT(st.st_mode & 07777, 0600);
    CHECK_INT(rig_result(&r, guest_fs_chmod(r.g, to, "nonsense", NULL, false, rig_on_done, &r)), ERR_INVALID);
    CHECK_INT(rig_result(&r, guest_fs_remove(r.g, to, false, false, rig_on_done, &r)), 0);
    CHECK_INT(rig_result(&r, guest_fs_remove(r.g, to, false, false, rig_on_done, &r)), ERR_NOT_FOUND);
    CHECK_INT(rig_result(&r, guest_fs_remove(r.g, to, false, true, rig_on_done, &r)), 0);
    CHECK_INT(put(&r, "t/u/v", "1"), 0);
    CHECK(rig_result(&r, guest_fs_remove(r.g, rig_path(&r, "t"), false, false, rig_on_done, &r)) != 0);
    CHECK_INT(rig_result(&r, guest_fs_remove(r.g, rig_path(&r, "t"), true, false, rig_on_done, &r)), 0);
    CHECK(access(rig_path(&r, "t"), F_OK) < 0);
    rig_done(&r);
}

/* --- streams --- */

static void on_open(void *arg, const struct guest_stat *st)
{
    struct rig *r = arg;
    last.size = st->size;
    r->opens++;
}

static void on_data(void *arg, const char *data, size_t len)
{
    struct rig *r = arg;
    CHECK_INT(buf_add(&r->out, data, len), 0);
    if (r->does_credit)
        guest_reader_credit(r->reader, len);
    rig_wake(r);
}

static const struct guest_read_events read_events = { .on_open = on_open, .on_data = on_data, .on_done = rig_on_done };

#define BIG 5000000u

static char pattern_at(size_t i)
{
    return (char)(i * 7 + i / 251);
}

static void send_more(void *arg)
{
    static char chunk[100000];
    struct rig *r = arg;
    for (size_t n = 1; n && (size_t)r->eofs < BIG;) {
        size_t want = BIG - (size_t)r->eofs < sizeof(chunk) ? BIG - (size_t)r->eofs : sizeof(chunk);
        for (size_t i = 0; i < want; i++)
            chunk[i] = pattern_at((size_t)r->eofs + i);
        n = guest_writer_send(r->writer, chunk, want);
        r->eofs += (int)n;
    }
    if ((size_t)r->eofs == BIG)
        guest_writer_end(r->writer);
}

TEST(a_large_file_goes_out_and_back_unchanged)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_fs_write(r.g, rig_path(&r, "new/big"), 0640, true, rig_on_done, &r, &r.writer), 0);
    guest_writer_on_writable(r.writer, send_more, &r);
    send_more(&r);
    CHECK(access(r.path, F_OK) < 0); /* beside the target until its end */
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, 0);
    struct stat st;
    CHECK_INT(stat(r.path, &st), 0);
    CHECK_INT(st.st_size, BIG);
    CHECK_INT(st.st_mode & 07777, 0640);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, r.path, 0, 0, &read_events, &r, &r.reader)), 0);
    CHECK_INT(r.opens, 1);
    CHECK_INT(last.size, BIG);
    CHECK_INT(r.out.len, BIG);
    size_t bad = 0;
    for (size_t i = 0; i < r.out.len; i++)
        bad += r.out.data[i] != pattern_at(i);
    CHECK_INT(bad, 0);
    rig_done(&r);
}

TEST(a_part_of_a_file_is_read)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(put(&r, "f", "0123456789"), 0);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, rig_path(&r, "f"), 3, 4, &read_events, &r, &r.reader)), 0);
    CHECK_STR(buf_text(&r.out), "3456");
    buf_clear(&r.out);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, rig_path(&r, "f"), 30, 4, &read_events, &r, &r.reader)), 0);
    CHECK_INT(r.out.len, 0);
    rig_done(&r);
}

TEST(what_is_no_regular_file_is_refused_without_blocking)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(mkfifo(rig_path(&r, "fifo"), 0600), 0);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, rig_path(&r, "fifo"), 0, 0, &read_events, &r, &r.reader)), ERR_INVALID);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, r.dir, 0, 0, &read_events, &r, &r.reader)), ERR_INVALID);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, "/dev/zero", 0, 0, &read_events, &r, &r.reader)), ERR_INVALID);
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, rig_path(&r, "absent"), 0, 0, &read_events, &r, &r.reader)),
              ERR_NOT_FOUND);
    rig_done(&r);
}

TEST(a_reader_without_credit_gets_one_window)
{
    static char data[PROTO_PUT_MAX];
    struct rig r;
    rig_init(&r);
    CHECK_INT(rig_result(&r, guest_fs_put(r.g, rig_path(&r, "big"), data, sizeof(data), 0, rig_on_done, &r)), 0);
    r.does_credit = false;
    CHECK_INT(guest_fs_read(r.g, r.path, 0, 0, &read_events, &r, &r.reader), 0);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    rig_wait_window(&r);
    guest_reader_drop(r.reader);
    CHECK_INT(rig_result(&r, guest_ping(r.g, rig_on_done, &r)), 0);
    CHECK_INT(r.out.len, GUEST_WINDOW);
    rig_done(&r);
}

TEST(a_dropped_write_leaves_the_old_file_and_nothing_else)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(put(&r, "f", "old"), 0);
    CHECK_INT(guest_fs_write(r.g, rig_path(&r, "f"), 0, false, rig_on_done, &r, &r.writer), 0);
    CHECK_INT(guest_writer_send(r.writer, "new", 3), 3);
    guest_writer_drop(r.writer);
    CHECK_INT(rig_result(&r, guest_fs_list(r.g, r.dir, on_stats, &r)), 0);
    CHECK_STR(names, "f");
    CHECK_INT(rig_result(&r, guest_fs_read(r.g, rig_path(&r, "f"), 0, 0, &read_events, &r, &r.reader)), 0);
    CHECK_STR(buf_text(&r.out), "old");
    rig_done(&r);
}

TEST(a_write_that_cannot_be_says_so)
{
    struct rig r;
    rig_init(&r);
    CHECK_INT(guest_fs_write(r.g, rig_path(&r, "no/parent"), 0, false, rig_on_done, &r, &r.writer), 0);
    rig_wait(&r, &r.done, 1);
    CHECK_INT(r.err.code, ERR_NOT_FOUND);
    rig_done(&r);
}

int main(void)
{
    if (!rig_program()) {
        printf("1..0 # SKIP III_GUEST names no agent program\n");
        return 0;
    }
    RUN(a_small_file_is_put_with_its_mode_and_parents);
    RUN(a_put_of_one_mebibyte_arrives_whole);
    RUN(stat_and_list_tell_what_is_there);
    RUN(a_long_list_comes_whole);
    RUN(search_finds_by_base_name);
    RUN(files_are_moved_changed_and_removed);
    RUN(a_large_file_goes_out_and_back_unchanged);
    RUN(a_part_of_a_file_is_read);
    RUN(what_is_no_regular_file_is_refused_without_blocking);
    RUN(a_reader_without_credit_gets_one_window);
    RUN(a_dropped_write_leaves_the_old_file_and_nothing_else);
    RUN(a_write_that_cannot_be_says_so);
    return tap_done();
}
