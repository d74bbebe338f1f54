/* Shared by text*.c: one request over a tree. */
#pragma once
#include "agent/rows.h"
#include "guest/proto_regex.h"

struct agent_text {
    struct agent_rows rows;
    uint32_t flags;
    const char *pattern;
    const char **include, **exclude, **paths; /* NULL-terminated; include and exclude may be NULL */
    struct proto_regex *regex;
    uint64_t max_matches, n_matches;
    uint32_t max_line;
    const uint8_t *replacement;
    size_t replacement_len;
    bool is_full; /* no more rows are wanted */
};

/* One regular file: its descriptor, which the caller closes, and the path to report. */
typedef void agent_text_file_fn(struct agent_text *t, int fd, const char *path);

/* Calls fn for each regular file below root (a file, a directory, or a link to either) that the globs match, in
 * order of names; links below root are skipped. -errno of the root: ENOENT …; -EISDIR for a directory when not
 * recursive. */
int agent_text_walk(struct agent_text *t, const char *root, agent_text_file_fn *fn);

void agent_text_grep(struct agent_text *t); /* both send their rows or their error, and free them */
void agent_text_sed(struct agent_text *t);
