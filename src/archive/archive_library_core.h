/* libarchive, loaded when it is first used (os/library.h): libarchive.read_new() is archive_read_new(). Private to
 * archive/. May include: base/, os/. */
#pragma once
#include <archive.h>
#include <archive_entry.h>

#include "archive/archive_library.h"

struct libarchive {
#define FUNCTION(name) __typeof__(archive_##name) *name;
#include "archive/archive_library.def"
#undef FUNCTION
};
extern struct libarchive libarchive;
