#include "runtime/native/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"

int native_plan_check(const struct box_plan *plan, size_t *ret_bytes, struct err *err)
{
    size_t bytes = 0;
    if (!wire_is_id(plan->id))
        return err_set(err, ERR_INVALID, 0, "sandbox id must be 1 to %d letters, digits, '-' or '_'", IDENT_MAX - 1);
    if (plan->n_layers == 0 || plan->n_layers > WIRE_LAYERS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "image has %zu layers; 1 to %d can be stacked", plan->n_layers,
                       WIRE_LAYERS_MAX);
    for (size_t i = 0; i < plan->n_layers; i++)
        bytes += strlen(plan->layers[i]) + 1;
    if (bytes > WIRE_EXTRA_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "paths of the image's layers take %zu bytes, more than %u", bytes,
                       WIRE_EXTRA_MAX);
    if (plan->workdir &&
        (plan->workdir[0] != '/' || strlen(plan->workdir) >= sizeof(((struct wire_request *)0)->workdir)))
        return err_set(err, ERR_INVALID, 0, "working folder must be an absolute path of at most 1023 bytes");
    *ret_bytes = bytes;
    return 0;
}

/* overlayfs takes the topmost layer first. */
void native_plan_put_layers(char *to, const char *const *layers, size_t n)
{
    while (n-- > 0) {
        size_t len = strlen(layers[n]) + 1;
        memcpy(to, layers[n], len);
        to += len;
    }
}

void native_plan_put(const struct box_plan *plan, struct wire_request *q)
{
    snprintf(q->id, sizeof(q->id), "%s", plan->id);
    snprintf(q->hostname, sizeof(q->hostname), "%s", plan->hostname[0] ? plan->hostname : plan->id);
    snprintf(q->workdir, sizeof(q->workdir), "%s", plan->workdir ? plan->workdir : "/workspace");
    q->memory_mb = plan->memory_mb;
    q->cpu_milli = plan->cpu_milli;
    q->pids_max = plan->pids_max;
    q->disk_mb = plan->disk_mb;
    q->inodes = plan->inodes;
    q->nofile = plan->nofile ? plan->nofile : LIMIT_DEFAULT(OPEN_FILES);
    q->shm_mb = plan->shm_mb ? plan->shm_mb : LIMIT_DEFAULT(SHM_MB);
    q->is_host = plan->is_host;
    native_plan_put_layers((char *)(q + 1), plan->layers, plan->n_layers);
}
