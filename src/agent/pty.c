#include "agent/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

#define PTS_MAJOR 136

/* Opens it by number, for kernels that cannot open it through the master (gVisor). The file at that path must be
 * that terminal: it could be covered by a mount. */
static int open_by_number(int master)
{
    char path[32];
    unsigned number;
    struct stat st;
    if (ioctl(master, TIOCGPTN, &number) < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/dev/pts/%u", number);
    int fd = open(path, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) != PTS_MAJOR || minor(st.st_rdev) != number) {
        (void)close(fd);
        errno = ENXIO;
        return -1;
    }
    return fd;
}

int agent_pty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave)
{
    int unlocked = 0;
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (master < 0)
        return -errno;
    /* Opens the slave through the master itself: no path under /dev/pts that could be swapped. */
    int slave = -1;
    if (ioctl(master, TIOCSPTLCK, &unlocked) == 0)
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 && errno == ENOTTY)
        slave = open_by_number(master);
    if (slave < 0) {
        int error = errno;
        (void)close(master);
        return -error;
    }
    agent_pty_resize(master, cols ? cols : 80, rows ? rows : 24);
    *ret_master = master;
    *ret_slave = slave;
    return 0;
}

void agent_pty_resize(int master, uint16_t cols, uint16_t rows)
{
    struct winsize size = { .ws_col = cols, .ws_row = rows };

    (void)ioctl(master, TIOCSWINSZ, &size); /* fails only when the terminal is gone */
}
