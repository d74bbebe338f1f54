/* The path to a file through its symbolic links: the folder of each name on it. A file is usually replaced by rename,
 * and a mounted Kubernetes volume is a chain of two links, so folders are what is watched and allowed. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LINK_CHAIN_MAX 8

struct link_chain {
    size_t n; /* folders; 0: the first is missing */
    char dirs[LINK_CHAIN_MAX][PATH_MAX];
    struct {
        dev_t dev;
        ino_t ino;
    } ids[LINK_CHAIN_MAX];
};

/* A user who must not be able to choose which file is read with another user's privileges. */
struct link_chain_guest {
    uid_t uid;
    gid_t gid;
    const char *home; /* a folder that counts as this user's, whoever owns it */
};

void link_chain_find(const char *path, struct link_chain *ret);
bool link_chain_is_same(const struct link_chain *a, const struct link_chain *b);
/* Whether that user can replace a name on the path. */
bool link_chain_is_open_to(const struct link_chain *w, const struct link_chain_guest *guest);
