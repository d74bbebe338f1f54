/* A layer archive of any bytes: must be unpacked or refused, inside its folder, within its limits. */
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "image/layertree.h"
#include "image/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct image_limits limits = {
        .bytes = 1 << 20, .entries = 200, .depth = 16, .name_bytes = 255, .ratio = 100, .ratio_floor = 1 << 18
    };
    char folder[] = "/tmp/fuzz_tar.XXXXXX";
    CLEANUP(close_fd_p) int fd = memfd_create("tar", MFD_CLOEXEC);
    if (size > (1 << 20) || fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0 ||
        !mkdtemp(folder))
        return 0;
    struct unpack_job job = { .limits = &limits, .is_rootless = geteuid() != 0 };
    job.root_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert(job.root_fd >= 0);
    char hex[DIGEST_HEX];
    struct err err = ERR_INIT;
    const struct tarstream_source source = { .fd = fd };
    int r = unpack_layer(&job, &source, hex, &err);
    assert((r == 0) == (err.code == ERR_NONE)); /* a refusal always says why */
    assert(job.bytes <= limits.bytes);
    (void)close(job.root_fd);
    int removed = layertree_remove_at(AT_FDCWD, folder);
    assert(removed == 0);
    return 0;
}
