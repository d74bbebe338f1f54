/* The version of a file: a number that differs when its contents were changed or another file has taken its place. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

static inline uint64_t agent_file_version(const struct stat *st)
{
    const uint64_t parts[] = { st->st_dev,
                               st->st_ino,
                               (uint64_t)st->st_size,
                               (uint64_t)st->st_mtim.tv_sec,
                               (uint64_t)st->st_mtim.tv_nsec,
                               (uint64_t)st->st_ctim.tv_sec,
                               (uint64_t)st->st_ctim.tv_nsec };
    uint64_t h = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) { /* each step is a bijection of 64 bits (splitmix64) */
        h = (h ^ parts[i]) + 0x9e3779b97f4a7c15u;
        h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
        h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
        h ^= h >> 31;
    }
    return h;
}
