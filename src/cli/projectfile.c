#include "cli/projectfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "os/whole.h"

int projectfile_read(const char *path, struct buf *out, struct err *err)
{
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char piece[4096];
    ssize_t n = 0;
    if (fd < 0)
        return errno == ENOENT ? 0 : err_set(err, ERR_INVALID, errno, "open %s", path);
    while ((n = read(fd, piece, sizeof(piece))) > 0)
        if (buf_add(out, piece, (size_t)n) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "%s: larger than %u bytes", path, PROJECTFILE_MAX);
    if (n < 0)
        return err_set(err, ERR_INVALID, errno, "read %s", path);
    if (out->len > 0 && memchr(out->data, '\0', out->len))
        return err_set(err, ERR_INVALID, 0, "%s: not a text file", path);
    return 0;
}

int projectfile_write(const char *path, const struct buf *text, struct err *err)
{
    CLEANUP(free_p) char *draft = xasprintf("%s.new", path);
    struct stat st;
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0644;
    CLEANUP(close_fd_p) int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0)
        return err_set(err, ERR_INVALID, errno, "write %s", draft);
    int r = whole_write(fd, buf_text(text), text->len);
    if (r == 0 && (fsync(fd) < 0 || rename(draft, path) < 0))
        r = -errno;
    if (r == 0)
        return 0;
    (void)unlink(draft); /* it may not be there any more */
    return err_set(err, ERR_INVALID, -r, "write %s", path);
}
