#include "ssh/ssh_library.h"

#include "os/library.h"

struct libssh libssh;

static const struct library_symbol symbols[] = {
#define FUNCTION(name) { "ssh_" #name, offsetof(struct libssh, name) },
#include "ssh/ssh_library.def"
#undef FUNCTION
};

int ssh_library_load(struct err *err)
{
    static struct library library = { .file = "libssh.so.4",
                                      .package = "libssh-4",
                                      .symbols = symbols,
                                      .n = sizeof(symbols) / sizeof(*symbols),
                                      .functions = &libssh,
                                      .lock = PTHREAD_MUTEX_INITIALIZER };
    return library_load(&library, err);
}
