#include "agent/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_whole(int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t len = 0;

    if (!text)
        return NULL;
    while (len < size) {
        ssize_t n = read(fd, text + len, size - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
    return text;
}

char *agent_file_text(const char *path, size_t max)
{
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return calloc(1, 1);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 && (size_t)st.st_size <= max)
        text = read_whole(fd, (size_t)st.st_size);
    else
        text = calloc(1, 1);
    (void)close(fd);
    return text;
}

int agent_file_proc(int dirfd, const char *path, char *buf, size_t size)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    size_t len = 0;
    while (len < size - 1) {
        ssize_t n = read(fd, buf + len, size - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    buf[len] = '\0';
    (void)close(fd);
    return (int)len;
}
