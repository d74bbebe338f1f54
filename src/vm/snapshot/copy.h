/* Copies between files of VMs. Blocks: for a pool thread. Untrusted: what a VMM wrote, of which only the size is
 * checked. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* Replaces `to` by a copy of `from`; blocks of zeroes are not allocated. -EBADMSG: `from` has less than min or more
 * than max bytes, or is not a regular file. what: for the message. */
int vm_copy_file(int from, int to, uint64_t min, uint64_t max, const char *what, struct err *err);
