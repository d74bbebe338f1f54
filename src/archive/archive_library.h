/* Loads libarchive. The calls of this room do it themselves; who confines itself first, does it before. May include:
 * base/. */
#pragma once
#include "base/err.h"

int archive_library_load(struct err *err); /* as library_load() */
