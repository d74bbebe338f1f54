/* Inside agent_text*.c: one request over a tree. */
#pragma once
#include "agent/rows.h"
#include "guest/proto_regex.h"

struct agent_text {
    struct agent_rows rows;
    uint32_t flags;
    const char *pattern;
    const char **include, **exclude, **paths; /* NULL-ended; include and exclude may be NULL */
    struct proto_regex *regex;
    uint64_t max_matches, n_matches;
    uint32_t max_line;
    const uint8_t *replacement;
    size_t replacement_len;
    bool is_full; /* no more rows wanted */
};

/* One regular file: open, its path as it is told. fd stays the caller's. */
typedef void agent_text_file_fn(struct agent_text *t, int fd, const char *path);

/* Below root (a file, a directory, or a link to either): fn for each regular file that the globs let through, in order
 * of names; links below root are passed over. -errno of the root: ENOENT …; -EISDIR for a directory when not recursive.
 */
int agent_text_walk(struct agent_text *t, const char *root, agent_text_file_fn *fn);

void agent_text_grep(struct agent_text *t); /* both send their rows or their error, and free them */
void agent_text_sed(struct agent_text *t);
