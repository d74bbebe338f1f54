/* The way to a file through its links: the folder of each name on it. A file is replaced by rename as often as it is
 * written, and a mounted Kubernetes volume is a chain of two links, so what is watched and allowed is folders. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define LINK_CHAIN_MAX 8

struct link_chain {
    size_t n; /* folders; 0: the first is not there */
    char dirs[LINK_CHAIN_MAX][PATH_MAX];
    struct {
        dev_t dev;
        ino_t ino;
    } ids[LINK_CHAIN_MAX];
};

/* Somebody who must not be able to say which file is read with other people's rights. */
struct link_chain_guest {
    uid_t uid;
    gid_t gid;
    const char *home; /* a folder that is his whatever its owner */
};

void link_chain_find(const char *path, struct link_chain *ret);
bool link_chain_is_same(const struct link_chain *a, const struct link_chain *b);
/* Whether the guest can put something else in the place of a name on the way. */
bool link_chain_is_open_to(const struct link_chain *w, const struct link_chain_guest *guest);
