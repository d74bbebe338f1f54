/* The audit log of a data folder: audit/current.jsonl, one JSON object per line, each with the digest of the one before
 * it, so that a changed, removed or inserted line is detected. Full files are renamed to audit/NNNNNNNNNNNNNNNN.jsonl
 * by the number of their first line; the chain continues across them. audit/head names the last line written, so that a
 * truncated end is detected too. Whoever may write the folder can make a new chain: keep a copy of the head elsewhere
 * to detect that. All calls touch the disk. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"

#define AUDIT_FILE_FOLDER   "audit"
#define AUDIT_FILE_HEX      65 /* a digest as text, and NUL */
#define AUDIT_FILE_LINE_MAX 16384

struct audit_file;

/* Opens the log of a data folder to append, and creates it if needed. max_bytes: of one file; keep: number of full
 * files to keep, 0: all. Resumes after the last complete line: a torn one (a crash) is cut off and reported in
 * *ret_torn. */
struct audit_file_options {
    const char *dir;
    int64_t max_bytes, keep;
};
int audit_file_open(const struct audit_file_options *o, struct audit_file **ret, bool *ret_torn, struct err *err);
struct audit_file *audit_file_close(struct audit_file *f);
/* Adds seq, prev and hash to entry (borrowed, changed) and queues its line. */
void audit_file_add(struct audit_file *f, json_t *entry);
size_t audit_file_waiting(const struct audit_file *f); /* bytes queued */
/* Writes the queued lines with one write. On failure they stay queued and the chain is unchanged. */
int audit_file_flush(struct audit_file *f, struct err *err);

/* Walks every line of every file, oldest first; stops when fn returns false. line has no newline. */
typedef bool audit_file_line_fn(void *arg, const char *line, size_t len);
int audit_file_each(const char *dir, audit_file_line_fn *fn, void *arg, struct err *err);

struct audit_file_verdict {
    int64_t lines, first, last; /* numbers of the first and the last line */
    char head[AUDIT_FILE_HEX];  /* digest of the last */
    bool is_trimmed;            /* older files were removed: the chain starts in the middle */
};
/* 0: the chain is intact. -EBADMSG with err naming the first line that breaks it. */
int audit_file_verify(const char *dir, struct audit_file_verdict *ret, struct err *err);
