/* Bytes and packets through the network interfaces of a box, as its kernel counts them. May include: base/, runtime/.
 */
#pragma once
#include <sys/types.h>

#include "runtime/runtime.h"

/* Adds to rx_bytes, tx_bytes, rx_packets and tx_packets of *ret what /proc says of the network namespace of pid;
 * nothing when it is gone. but: an interface whose data is counted elsewhere, or NULL. */
void traffic_read(pid_t pid, const char *but, struct box_stats *ret);
/* The same of a box that is behind the interfaces of that name: what came in by them is what it sent. */
void traffic_read_behind(pid_t pid, const char *prefix, const char *but, struct box_stats *ret);
