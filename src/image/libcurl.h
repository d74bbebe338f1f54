/* libcurl, loaded when it is first used (os/library.h): libcurl.easy_init() is curl_easy_init(). Private to image/. May
 * include: base/, os/. */
#pragma once
#define CURL_DISABLE_TYPECHECK /* the checks are macros with the names of functions */
#include <curl/curl.h>

#include "base/err.h"

struct libcurl {
#define FUNCTION(name) __typeof__(curl_##name) *name;
#include "image/libcurl.def"
#undef FUNCTION
};
extern struct libcurl libcurl;

int libcurl_load(struct err *err); /* as library_load(); also initializes it */
