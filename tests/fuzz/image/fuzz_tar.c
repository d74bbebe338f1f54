/* A layer archive of any bytes: must be unpacked or refused, inside its folder, within its limits. A layer that was
 * unpacked, packed and unpacked again is the same layer. */
#include "../feed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "image/layer_digest.h"
#include "image/layer_pack.h"
#include "image/layer_tree.h"
#include "image/unpack.h"

#define INPUT_MAX (1 << 20)

static const struct image_limits limits = {
    .bytes = 1 << 20, .entries = 200, .depth = 16, .name_bytes = 255, .ratio = 100, .ratio_floor = 1 << 18
};

/* Unpacks from fd into a new folder. */
static int unpack(int fd, char folder[40], struct unpack_job *job, struct err *err)
{
    char hex[DIGEST_HEX];
    const struct tar_stream_source source = { .fd = fd };
    (void)snprintf(folder, 40, "/dev/shm/fuzz_tar.XXXXXX");
    MUST(lseek(fd, 0, SEEK_SET) == 0 && mkdtemp(folder));
    job->limits = &limits;
    job->is_rootless = geteuid() != 0;
    job->root_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    MUST(job->root_fd >= 0);
    int r = unpack_layer(job, &source, hex, err);
    MUST((r == 0) == (err->code == ERR_NONE)); /* a refusal always says why */
    MUST(job->bytes <= limits.bytes && job->entries <= limits.entries);
    return r;
}

static void done(const char *folder, struct unpack_job *job)
{
    (void)close(job->root_fd);
    MUST(layer_tree_remove_at(AT_FDCWD, folder) == 0);
}

static void sum_of(char *folder, char ret[DIGEST_HEX])
{
    char *folders[] = { folder, NULL };
    struct err err = ERR_INIT;
    MUST(layer_digest_of(folders, NULL, ret, &err) == 0);
}

static void pack_again(char *folder, const struct unpack_job *job)
{
    CLEANUP(close_fd_p) int fd = memfd_create("again", MFD_CLOEXEC);
    char again[40], hex[DIGEST_HEX], first[DIGEST_HEX], second[DIGEST_HEX];
    int64_t bytes = 0;
    struct unpack_job job2 = { 0 };
    struct err err = ERR_INIT;
    MUST(fd >= 0 && layer_pack_write(job->root_fd, job->is_rootless, fd, hex, &bytes, &err) == 0);
    if (unpack(fd, again, &job2, &err) == 0) {
        sum_of(folder, first);
        sum_of(again, second);
        MUST(strcmp(first, second) == 0);
    } else {
        MUST(err.code == ERR_TOO_LARGE || err.code == ERR_INVALID); /* a sparse file has its holes as bytes now */
    }
    done(again, &job2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[40];
    CLEANUP(close_fd_p) int fd = memfd_create("tar", MFD_CLOEXEC);
    struct unpack_job job = { 0 };
    struct err err = ERR_INIT;
    if (size > INPUT_MAX || fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    if (unpack(fd, folder, &job, &err) == 0)
        pack_again(folder, &job);
    done(folder, &job);
    return 0;
}
