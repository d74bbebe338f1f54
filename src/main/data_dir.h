/* The data folder: its path, and a lock so that only one server uses it. May include: base/. */
#pragma once
#include "base/err.h"

/* given: --data-dir, or empty for the default of this user. Creates it (0700) when missing. Caller frees. */
int data_dir_make(const char *given, char **ret, struct err *err);
/* Exclusive lock for the life of the fd; ERR_CONFLICT names the folder when another server holds it. */
int data_dir_lock(const char *dir, int *ret_fd, struct err *err);
/* The data folder, or the nearest existing folder above it: what `iii doctor` checks without creating anything. Caller
 * frees. */
char *data_dir_nearest(const char *given);
