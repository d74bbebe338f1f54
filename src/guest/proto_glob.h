/* File name patterns: * and ? do not cross a slash, ** does; a leading "**" and slash also stands for no directory at
 * all. No classes, no braces. libc only. */
#pragma once
#include <stdbool.h>

/* A pattern with a slash is compared to the whole relative path, one without to its last name. */
bool proto_glob_match(const char *pattern, const char *path);
