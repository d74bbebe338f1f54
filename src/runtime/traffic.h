/* Bytes and packets through the network interfaces of a box, as its kernel counts them. May include: base/,
 * runtime/. */
#pragma once
#include <sys/types.h>

#include "runtime/runtime.h"

/* Adds the counters in /proc of pid's network namespace to rx_bytes, tx_bytes, rx_packets and tx_packets of *ret;
 * nothing when it is gone. but: an interface that is counted elsewhere, or NULL. */
void traffic_read(pid_t pid, const char *but, struct box_stats *ret);
/* The same for a box behind the interfaces of that name: what they received is what the box sent. */
void traffic_read_behind(pid_t pid, const char *prefix, const char *but, struct box_stats *ret);
