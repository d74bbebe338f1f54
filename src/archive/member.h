/* One member of an archive, as it is read and written. May include: nothing. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

struct archive_member {
    const char *path;               /* when read: NULL if it cannot be represented */
    const char *hardlink, *symlink; /* the target, or NULL */
    mode_t mode;                    /* type and permissions; a hard link's type means nothing */
    int64_t uid, gid, size;
    struct timespec mtime;
    unsigned major, minor; /* of a device node; not read */
};
