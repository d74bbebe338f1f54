#include "archive/archive_library_core.h"

#include "os/library.h"

struct libarchive libarchive;

static const struct library_symbol symbols[] = {
#define FUNCTION(name) { "archive_" #name, offsetof(struct libarchive, name) },
#include "archive/archive_library.def"
#undef FUNCTION
};

int archive_library_load(struct err *err)
{
    static struct library library = { .file = "libarchive.so.13",
                                      .package = "libarchive13",
                                      .symbols = symbols,
                                      .n = sizeof(symbols) / sizeof(*symbols),
                                      .functions = &libarchive,
                                      .lock = PTHREAD_MUTEX_INITIALIZER };
    return library_load(&library, err);
}
