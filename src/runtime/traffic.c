#include "runtime/traffic.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct sum {
    uint64_t in, out, packets_in, packets_out;
};

/* Of an interface's numbers the first two count the bytes and packets received, the ninth and tenth those sent. */
static void add_counters(char *text, struct sum *ret)
{
    unsigned long long counters[10];
    for (int i = 0; i < 10; i++) {
        char *end;
        counters[i] = strtoull(text, &end, 10);
        if (end == text)
            return;
        text = end;
    }
    ret->in += counters[0];
    ret->out += counters[8];
    ret->packets_in += counters[1];
    ret->packets_out += counters[9];
}

static bool is_named(const char *line, const char *name)
{
    size_t len = strlen(name);
    return strncmp(line, name, len) == 0 && line[len] == ':';
}

/* Sums every interface with that prefix except the loopback and one more: " eth0: rx_bytes 7 more tx_bytes ...". */
static struct sum counters_read(pid_t pid, const char *prefix, const char *but)
{
    char path[48], text[8192];
    struct sum sum = { 0 };
    (void)snprintf(path, sizeof(path), "/proc/%d/net/dev", (int)pid);
    CLEANUP(close_fd_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return sum;
    text[n] = '\0';
    for (char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        end = strchr(line, '\n');
        line += strspn(line, " ");
        char *colon = strchr(line, ':');
        if (!colon || (end && colon > end) || is_named(line, "lo") || (but && is_named(line, but)) ||
            strncmp(line, prefix, strlen(prefix)) != 0)
            continue;
        add_counters(colon + 1, &sum);
    }
    return sum;
}

void traffic_read(pid_t pid, const char *but, struct box_stats *ret)
{
    struct sum sum = counters_read(pid, "", but);
    ret->rx_bytes += sum.in;
    ret->tx_bytes += sum.out;
    ret->rx_packets += sum.packets_in;
    ret->tx_packets += sum.packets_out;
}

void traffic_read_behind(pid_t pid, const char *prefix, const char *but, struct box_stats *ret)
{
    struct sum sum = counters_read(pid, prefix, but);
    ret->rx_bytes += sum.out;
    ret->tx_bytes += sum.in;
    ret->rx_packets += sum.packets_out;
    ret->tx_packets += sum.packets_in;
}
