#include "agent/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads at most size bytes and ends them with a NUL behind. */
static size_t read_text(int fd, char *text, size_t size)
{
    size_t len = 0;

    while (len < size) {
        ssize_t n = read(fd, text + len, size - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
    return len;
}

char *agent_file_text(const char *path, size_t max)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0)
        return calloc(1, 1);
    bool is_good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 && (size_t)st.st_size <= max;
    size_t size = is_good ? (size_t)st.st_size : 0;
    char *text = malloc(size + 1);
    if (text)
        (void)read_text(fd, text, size);
    (void)close(fd);
    return text;
}

int agent_file_proc(int dirfd, const char *path, char *buf, size_t size)
{
    int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    size_t len = read_text(fd, buf, size - 1);
    (void)close(fd);
    return (int)len;
}
