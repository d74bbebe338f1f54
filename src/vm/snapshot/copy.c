#include "vm/snapshot/copy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/write_all.h"

#define BLOCK (64u * 1024)

static int copy_data(int from, int to, int64_t size)
{
    CLEANUP(free_p) char *block = malloc(BLOCK);
    if (!block)
        return -ENOMEM;
    for (int64_t at = 0; at < size;) {
        at = lseek(from, at, SEEK_DATA);
        if (at < 0 || at >= size)
            return at >= 0 || errno == ENXIO ? 0 : -errno; /* no more data */
        size_t want = size - at < (int64_t)BLOCK ? (size_t)(size - at) : BLOCK;
        ssize_t n = pread(from, block, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG; /* the file shrank meanwhile */
        bool is_zero = block[0] == 0 && memcmp(block, block + 1, (size_t)n - 1) == 0;
        int r = is_zero ? 0 : write_all_pwrite(to, block, (size_t)n, at);
        if (r < 0)
            return r;
        at += n;
    }
    return 0;
}

int vm_copy_file(int from, int to, uint64_t min, uint64_t max, const char *what, struct err *err)
{
    struct stat st;
    int r = fstat(from, &st) < 0 ? -errno : 0;
    if (r == 0 && (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < min || (uint64_t)st.st_size > max))
        return err_set(err, ERR_UPSTREAM, EBADMSG, "%s has %lld bytes, allowed are %llu to %llu", what,
                       (long long)st.st_size, (unsigned long long)min, (unsigned long long)max);
    if (r == 0 && (ftruncate(to, 0) < 0 || ftruncate(to, st.st_size) < 0))
        r = -errno;
    if (r == 0)
        r = copy_data(from, to, st.st_size);
    return r < 0 ? err_sys(err, r, "copy %s", what) : 0;
}
