/* A folder of one test program, removed with all that is in it. */
#pragma once
#include <ftw.h>
#include <stdio.h>

static inline int scrapfolder_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void scrapfolder_remove(const char *path)
{
    (void)nftw(path, scrapfolder_entry, 16, FTW_DEPTH | FTW_PHYS);
}
