/* Small text files of the user's project that a command edits: read and replaced as a whole. May include: base/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

#define PROJECT_FILE_MAX (1u << 20)

/* Adds the file's text to out (with at least that maximum); a missing file is empty. */
int project_file_read(const char *path, struct buf *out, struct err *err);
/* Replaces the file atomically: a server may read it at any moment. Keeps its mode, and its owner if possible; replaces
 * the target of a link. */
int project_file_write(const char *path, const struct buf *text, struct err *err);
