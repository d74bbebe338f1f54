/* The Docker driver: containers through the Engine API (1.41 or newer), our agent as their first process, images
 * that the engine keeps. May include: base/, os/, loop/, http/, runtime/. */
#pragma once
#include "runtime/runtime.h"

struct docker_tls {
    char *ca, *cert, *key; /* PEM files; NULL: the system's CAs, no client certificate */
};

struct docker_options {
    const char *data_dir;  /* docker/ is below it; the engine must see it under the same path */
    const char *host;      /* "unix:///PATH" or "tcp://HOST:PORT" */
    bool is_tls;           /* with tcp: */
    struct docker_tls tls; /* borrowed */
    const char *runtime;   /* "" is the engine's default */
};

/* Does not contact the engine yet: it may be down now and up later. ERR_INVALID: not an address. */
int docker_new(struct loop *l, const struct docker_options *opt, struct runtime **ret, struct err *err);

/* Where the engine is and whether it responds, for `iii doctor`: [{name, ok, required, detail, fix}]. Blocks up to
 * two seconds. Caller owns. */
json_t *docker_doctor(const struct docker_options *opt);
