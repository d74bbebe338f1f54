#include "main/config/link_chain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void link_chain_find(const char *path, struct link_chain *ret)
{
    char at[PATH_MAX], next[PATH_MAX];
    ret->n = 0;
    (void)snprintf(at, sizeof(at), "%s", path);
    while (ret->n < LINK_CHAIN_MAX) {
        struct stat st;
        const char *slash = strrchr(at, '/');
        char *dir = ret->dirs[ret->n];
        (void)snprintf(dir, PATH_MAX, "%.*s", !slash || slash == at ? 1 : (int)(slash - at), slash ? at : ".");
        if (stat(dir, &st) < 0)
            return;
        ret->ids[ret->n].dev = st.st_dev;
        ret->ids[ret->n++].ino = st.st_ino;
        ssize_t n = readlink(at, next, sizeof(next) - 1);
        if (n <= 0)
            return; /* not a link, or missing */
        next[n] = '\0';
        n = *next == '/' ? snprintf(at, sizeof(at), "%s", next) : snprintf(at, sizeof(at), "%s/%s", dir, next);
        if (n >= (ssize_t)sizeof(at))
            return;
    }
}

bool link_chain_is_same(const struct link_chain *a, const struct link_chain *b)
{
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (a->ids[i].dev != b->ids[i].dev || a->ids[i].ino != b->ids[i].ino)
            return false;
    return a->n == b->n;
}

/* In a sticky folder names belong to their owners, which is enough for every folder but the last. */
static bool is_open(const char *dir, bool is_last, const struct link_chain_guest *guest)
{
    struct stat st, home;
    if (stat(dir, &st) < 0)
        return true;
    if (stat(guest->home, &home) == 0 && st.st_dev == home.st_dev && st.st_ino == home.st_ino)
        return true;
    bool is_writable = (st.st_mode & S_IWOTH) || ((st.st_mode & S_IWGRP) && st.st_gid == guest->gid && guest->gid);
    return (guest->uid && st.st_uid == guest->uid) || (is_writable && (is_last || !(st.st_mode & S_ISVTX)));
}

static bool is_open_above(char *dir, const struct link_chain_guest *guest)
{
    if (is_open(dir, true, guest))
        return true;
    for (char *slash; (slash = strrchr(dir, '/')) && slash != dir;) {
        *slash = '\0';
        if (is_open(dir, false, guest))
            return true;
    }
    return is_open("/", false, guest);
}

bool link_chain_is_open_to(const struct link_chain *w, const struct link_chain_guest *guest)
{
    char dir[PATH_MAX];
    for (size_t i = 0; i < w->n; i++) {
        (void)snprintf(dir, sizeof(dir), "%s", w->dirs[i]);
        if (is_open_above(dir, guest) || !realpath(w->dirs[i], dir) || is_open_above(dir, guest))
            return true;
    }
    return false;
}
