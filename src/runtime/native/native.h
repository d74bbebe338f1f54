/* The native driver: namespaces, overlayfs, cgroups, seccomp, made by a launcher process. May include: base/, os/,
 * loop/, runtime/. */
#pragma once
#include "os/cgroup.h"
#include "os/keeper.h"
#include "runtime/runtime.h"

struct native_options {
    const char *data_dir;              /* run/ and boxes/ are below it; must exist */
    const char *image_dir;             /* all layers are below it; NULL = data_dir */
    unsigned prepared_pool;            /* prepared boxes kept ready; 0 = none */
    unsigned boxes_max;                /* boxes at the same time, which share the host's counters; 0 = one */
    struct keeper *keeper;             /* starts the launcher, borrowed; NULL: one of its own */
    unsigned launcher_job;             /* the keeper's job that is the launcher */
    const struct cgroup_host *cgroups; /* found while we had the privilege for it, borrowed; NULL: search */
};

/* The launcher as a job of a keeper. Valid until native_job_done(); the keeper has its own copy. */
struct native_job {
    struct keeper_job job;
    char *data_dir, *image_dir;
    char pool[16], boxes[16];
};
void native_job(const struct native_options *opt, struct native_job *ret);
char *native_job_path(const char *path); /* links resolved; unchanged when it does not exist. Caller frees */
void native_job_done(struct native_job *job);

/* Starts the launcher (this same binary, see native_launcher_main) and waits until it is ready. */
int native_new(struct loop *l, const struct native_options *opt, struct runtime **ret, struct err *err);

/* main() of the launcher process: `iii --launcher`, control socket on fd 3. Returns the exit code. */
int native_launcher_main(int argc, char **argv);

/* What this host allows the driver to do, for `iii doctor`: [{name, ok, detail}]. Caller owns. boxes, pids: how many
 * boxes are to run at the same time, and how many processes each may have. */
json_t *native_doctor(const char *data_dir, unsigned boxes, unsigned pids);
