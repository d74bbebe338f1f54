/* The allow list of the profile "strict" (os/filter.h). May include: base/. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>

#include "base/err.h"

#define FILTER_STRICT_MAX 1024 /* instructions */

/* Instructions to stand before the deny list: they load the number of the call and answer an error, or continue behind
 * the last one. -ENOENT: libseccomp does not know a name of the list. */
int filter_strict_head(struct sock_filter insns[FILTER_STRICT_MAX], size_t *ret_count, struct err *err);
const char *filter_strict_row(size_t i); /* the names, for documentation and tests; NULL past the end */
