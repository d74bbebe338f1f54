/* File name patterns: * and ? do not match a slash, ** does; a leading "**" and slash also matches no directory at
 * all. No classes, no braces. libc only. */
#pragma once
#include <stdbool.h>

/* A pattern with a slash is matched against the whole relative path, one without against its last name. */
bool proto_glob_match(const char *pattern, const char *path);
