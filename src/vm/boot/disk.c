#include "vm/boot/disk.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/mkext4.h"

#define COPY_MAX (1u << 30) /* bytes at once */

static int check_size(uint64_t mb, struct err *err)
{
    if (mb < VM_DISK_MB_MIN || mb > VM_DISK_MB_MAX)
        return err_set(err, ERR_INVALID, 0, "a disk has %u to %u MB, not %llu", VM_DISK_MB_MIN, VM_DISK_MB_MAX,
                       (unsigned long long)mb);
    return 0;
}

int vm_disk_make(int fd, uint64_t mb, struct err *err)
{
    static const char *const folders[] = { "upper", "work", NULL };
    int r = check_size(mb, err);
    if (r >= 0 && ftruncate(fd, (off_t)mkext4_bytes(mb, mkext4_inodes(mb))) < 0)
        r = err_sys(err, -errno, "make a disk of %llu MB", (unsigned long long)mb);
    if (r >= 0)
        r = mkext4_format(fd, mkext4_inodes(mb), false, err);
    return r < 0 ? r : mkext4_folders(fd, folders, err);
}

int vm_disk_make_volume(int fd, uint64_t mb, struct err *err)
{
    int r = check_size(mb, err);
    return r < 0 ? r : mkext4_volume(fd, mb, err);
}

static int copy_data(int from, int to, off_t size)
{
    for (off_t at = 0; at < size;) {
        off_t in = lseek(from, at, SEEK_DATA), out = in;
        if (in < 0)
            return errno == ENXIO ? 0 : -errno; /* no data is left */
        at = lseek(from, in, SEEK_HOLE);
        if (at < 0)
            return -errno;
        for (off_t end = at > size ? size : at; in < end;) {
            size_t want = end - in > (off_t)COPY_MAX ? COPY_MAX : (size_t)(end - in);
            ssize_t n = copy_file_range(from, &in, to, &out, want, 0);
            if (n <= 0 && !(n < 0 && errno == EINTR))
                return n < 0 ? -errno : -EIO; /* the file shrank meanwhile */
        }
    }
    return 0;
}

int vm_disk_copy(int from, int to, struct err *err)
{
    struct stat st;
    if (ioctl(to, FICLONE, from) == 0)
        return 0;
    if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
        return err_sys(err, -errno, "copy a disk");
    int r = copy_data(from, to, st.st_size);
    return r < 0 ? err_sys(err, r, "copy a disk of %lld bytes", (long long)st.st_size) : 0;
}
