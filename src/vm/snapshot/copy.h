/* Copies between files of machines. Blocks: for a pool thread. Untrusted: what a monitor wrote, of which only the size
 * is looked at. May include: base/. */
#pragma once
#include <stdint.h>

#include "base/err.h"

/* All of `from` becomes all of `to`; blocks of zeroes become holes. -EBADMSG: it has less than min or more than max
 * bytes, or is no file. what: for the message. */
int vm_copy_file(int from, int to, uint64_t min, uint64_t max, const char *what, struct err *err);
