#include "guest/agent/ag_pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

int ag_pty_open(uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave)
{
    int unlocked = 0;
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (master < 0)
        return -errno;
    /* The other end through the master itself: no path under /dev/pts that somebody could have swapped. */
    int slave = -1;
    if (ioctl(master, TIOCSPTLCK, &unlocked) == 0)
        slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) {
        int error = errno;
        (void)close(master);
        return -error;
    }
    ag_pty_resize(master, cols ? cols : 80, rows ? rows : 24);
    *ret_master = master;
    *ret_slave = slave;
    return 0;
}

void ag_pty_resize(int master, uint16_t cols, uint16_t rows)
{
    struct winsize size = { .ws_col = cols, .ws_row = rows };

    (void)ioctl(master, TIOCSWINSZ, &size); /* only fails when the terminal is gone */
}
