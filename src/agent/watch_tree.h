/* The helper process of a file watch: inotify on a folder and all folders below it. */
#pragma once
#include <stdbool.h>

#define AGENT_WATCH_TREE_BATCH 32768 /* most bytes of one message */

struct agent_watch_tree_plan {
    const char *path; /* absolute */
    const char *const *exclude;
    unsigned n_exclude;
    bool is_recursive;
};

/* Runs in a process of its own with the rights of the sandbox's user, until it is killed or out_fd is closed. Each
 * message to out_fd (SOCK_SEQPACKET) is a payload of FS_CHANGES. root_fd: the folder. Returns the errno of a failure to
 * begin, of which out_fd has not heard. */
int agent_watch_tree_run(const struct agent_watch_tree_plan *plan, int root_fd, int out_fd);
