#include "runtime/native/traffic.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Of an interface's numbers the first counts the bytes received and the ninth those sent. */
static void add_counters(char *text, struct box_stats *ret)
{
    unsigned long long counters[9];
    for (int i = 0; i < 9; i++) {
        char *end;
        counters[i] = strtoull(text, &end, 10);
        if (end == text)
            return;
        text = end;
    }
    ret->rx_bytes += counters[0];
    ret->tx_bytes += counters[8];
}

/* Sums every interface but the loopback: "  eth0: rx_bytes 7 more tx_bytes ...". */
void traffic_read(pid_t pid, struct box_stats *ret)
{
    char path[48], text[8192];
    snprintf(path, sizeof(path), "/proc/%d/net/dev", (int)pid);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        line += strspn(line, " ");
        char *colon = strchr(line, ':');
        if (!colon || (end && colon > end) || strncmp(line, "lo:", 3) == 0)
            continue;
        add_counters(colon + 1, ret);
    }
}
