/* `iii sandbox upload` and `download`: files of any size through channels, in constant memory. May include: base/,
 * cli/. */
#pragma once
#include "cli/verbs.h"

int sandbox_copy_upload(const struct verbs_args *a);
int sandbox_copy_download(const struct verbs_args *a);
