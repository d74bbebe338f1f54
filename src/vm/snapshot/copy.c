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

static bool is_zero(const char *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}

/* The offset of the next data at or after `at`; size when there is none. */
static int64_t next_data(int from, int64_t at, int64_t size)
{
    off_t data = lseek(from, at, SEEK_DATA);
    if (data >= 0)
        return data;
    return errno == ENXIO ? size : -errno;
}

static int copy_data(int from, int to, int64_t size)
{
    CLEANUP(free_p) char *block = malloc(BLOCK);
    if (!block)
        return -ENOMEM;
    for (int64_t at = 0; at < size;) {
        at = next_data(from, at, size);
        if (at < 0)
            return (int)at;
        if (at >= size)
            return 0;
        size_t want = size - at < (int64_t)BLOCK ? (size_t)(size - at) : BLOCK;
        ssize_t n = pread(from, block, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG; /* the file shrank meanwhile */
        int r = is_zero(block, (size_t)n) ? 0 : write_all_pwrite(to, block, (size_t)n, at);
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
