/* Archives into a folder, in pieces. The first byte is the most bytes of one piece. Nothing appears beside the folder,
 * and what was unpacked can be packed and unpacked again. */
#include "../feed.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tar/tar_unpack.h"

struct input {
    const uint8_t *data;
    size_t len, step;
};

static ssize_t give(void *arg, void *to, size_t len)
{
    struct input *in = arg;
    size_t n = in->len < len ? in->len : len;
    n = n < in->step ? n : in->step;
    memcpy(to, in->data, n);
    in->data += n;
    in->len -= n;
    return (ssize_t)n;
}

static int count(void *arg, const void *data, size_t len)
{
    (void)data;
    *(size_t *)arg += len;
    return 0;
}

static char home[] = "/tmp/fuzz-tar-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path) < 0 && chmod(path, 0700) < 0; /* continues: what is left is removed with the next input */
}

static void leave(void)
{
    (void)nftw(home, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tar_unpacked done;
    struct tar_packed packed;
    char path[64];
    if (size < 1)
        return 0;
    static bool is_made;
    if (!is_made) {
        MUST(mkdtemp(home));
        is_made = true;
        (void)atexit(leave);
    }
    (void)snprintf(path, sizeof(path), "%s/in", home);
    MUST(mkdir(path, 0700) == 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(fd >= 0);
    struct input in = { data + 1, size - 1, data[0] ? data[0] : 1 };
    const struct tar_unpack_plan plan = {
        .folder = fd, .is_folder_old = true, .has_inner_links_only = true, .source = give, .arg = &in
    };
    int r = tar_unpack(&plan, &done);
    MUST(r == 0 || done.why[0]);
    size_t total = 0;
    r = tar_pack(&(struct tar_pack_plan){ fd, "x", true, count, &total }, &packed);
    MUST(r < 0 || total % 512 == 0);
    (void)close(fd);
    struct stat st;
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); /* folders without rights were opened by the first */
    MUST(lstat(path, &st) < 0);
    MUST(stat(home, &st) == 0 && st.st_nlink == 2); /* no folder beside it */
    return 0;
}
