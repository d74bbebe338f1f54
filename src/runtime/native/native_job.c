#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/native/native.h"

char *native_job_path(const char *path)
{
    char *full = realpath(path, NULL);
    return full ? full : xstrdup(path);
}

/* The launcher's arguments are fixed before the server drops its privileges. */
void native_job(const struct native_options *opt, struct native_job *ret)
{
    ret->data_dir = native_job_path(opt->data_dir);
    ret->image_dir = native_job_path(opt->image_dir ? opt->image_dir : opt->data_dir);
    snprintf(ret->pool, sizeof(ret->pool), "%u", opt->prepared_pool);
    snprintf(ret->boxes, sizeof(ret->boxes), "%u", opt->boxes_max);
    static const char *const kept[] = { KEEPER_KEPT, NULL };
    ret->job = (struct keeper_job){
        .args = { "--launcher", ret->data_dir, ret->image_dir, ret->pool, ret->boxes },
        .kept = kept,
    };
}

void native_job_done(struct native_job *job)
{
    free(job->data_dir);
    free(job->image_dir);
}
