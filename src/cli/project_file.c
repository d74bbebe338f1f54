#include "cli/project_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/write_all.h"

int project_file_read(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char piece[4096];
    ssize_t n = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, ERR_INVALID, errno, "open %s", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(out, piece, (size_t)n) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "%s: larger than %u bytes", path, PROJECT_FILE_MAX);
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "read %s", path);
    if (out->len > 0 && memchr(out->data, '\0', out->len))
        return err_set(err, ERR_INVALID, 0, "%s: not a text file", path);
    return 0;
}

int project_file_write(const char *path, const struct buf *text, struct err *err)
{
    CLEANUP(free_p) char *real = realpath(path, NULL);
    const char *target = real ? real : path; /* a new file */
    CLEANUP(free_p) char *draft = xasprintf("%s.new", target);
    struct stat st;
    bool is_new = stat(target, &st) < 0;
    CLEANUP(close_fd_p)
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, is_new ? 0644 : st.st_mode & 0777);
    if (fd < 0)
        return err_set(err, ERR_INVALID, errno, "write %s", draft);
    int r = write_all_write(fd, buf_text(text), text->len);
    if (r == 0 && !is_new) { /* root edits other users' files; whoever may not change the owner keeps the file */
        (void)(fchown(fd, st.st_uid, st.st_gid) < 0);
        r = fchmod(fd, st.st_mode & 0777) < 0 ? -errno : 0;
    }
    if (r == 0 && (fsync(fd) < 0 || rename(draft, target) < 0))
        r = -errno;
    if (r == 0)
        return 0;
    (void)unlink(draft); /* it may not exist any more */
    return err_set(err, ERR_INVALID, -r, "write %s", path);
}
