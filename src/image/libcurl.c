#include "image/libcurl.h"

#include "os/library.h"

struct libcurl libcurl;

static const struct library_symbol symbols[] = {
#define FUNCTION(name) { "curl_" #name, offsetof(struct libcurl, name) },
#include "image/libcurl.def"
#undef FUNCTION
};

static void global_init(void)
{
    (void)libcurl.global_init(CURL_GLOBAL_DEFAULT); /* on failure easy_init() fails, and is checked */
}

int libcurl_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static struct library library = { .file = "libcurl.so.4",
                                      .package = "libcurl4",
                                      .symbols = symbols,
                                      .n = sizeof(symbols) / sizeof(*symbols),
                                      .functions = &libcurl,
                                      .lock = PTHREAD_MUTEX_INITIALIZER };
    int r = library_load(&library, err);
    if (r == 0)
        (void)pthread_once(&once, global_init);
    return r;
}
