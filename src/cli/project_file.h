/* Small text files of the user's project that a command edits: read whole, replaced whole. May include: base/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define PROJECT_FILE_MAX (1u << 20)

/* Adds the file's text to out (with at least that maximum); a file that is not there is empty. */
int project_file_read(const char *path, struct buf *out, struct err *err);
/* Whole or not at all: a server may read it at any moment. Its mode stays, and its owner if that can be; where it is a
 * link, what that leads to is replaced. */
int project_file_write(const char *path, const struct buf *text, struct err *err);
