/* The native driver: namespaces, overlayfs, cgroups, seccomp, made by a launcher process. May include: base/, os/,
 * loop/, runtime/. */
#pragma once
#include "runtime/runtime.h"

struct native_options {
    const char *data_dir;  /* run/ and boxes/ live below it; must exist */
    const char *image_dir; /* every layer lies below it; NULL = data_dir */
    unsigned blank_pool;   /* blanks kept ready; 0 = none */
};

/* Starts the launcher (a child made from this same binary, see native_launcher_main) and waits until it is ready. */
int native_new(struct loop *l, const struct native_options *opt, struct runtime **ret, struct err *err);

/* main() of the launcher process: `iii --launcher`, control socket on fd 3. Returns the exit code. */
int native_launcher_main(int argc, char **argv);

/* What this host lets the driver do, for `iii doctor` and GET /health: [{name, ok, detail}]. Caller owns. */
json_t *native_doctor(const char *data_dir);
