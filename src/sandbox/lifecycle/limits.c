#include "sandbox/lifecycle/limits.h"

#include <errno.h>

#define MIB (1024 * 1024)

static void set_int(json_t *metrics, const char *key, int64_t value)
{
    (void)json_object_set_new(metrics, key, json_integer((json_int_t)value));
}

int limits_check(const struct sandbox_config *config, struct runtime *rt, struct err *err)
{
    if (limits_net_kbps(config) && !rt->ops->caps(rt).can_limit_rate)
        return runtime_cannot(rt, "limitRate", "enforce netMbps", err);
    if (config->disk_mb == 0 || rt->ops->caps(rt).can_limit_disk)
        return 0;
    if (rt->ops->lacks)
        return runtime_cannot(rt, "limitDisk", "enforce diskMb", err);
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "diskMb cannot be enforced here: it needs a server that runs as root, loop devices and mkfs.ext4 "
                   "(iii doctor says what is missing)");
}

bool limits_are_default(const struct sandbox_config *config, const struct settings *set)
{
    struct sandbox_config own = *config, usual = { 0 }; /* only numbers change, so nothing is owned */
    sandbox_config_settle_limits(&own, set);
    sandbox_config_settle_limits(&usual, set);
    return own.disk_mb == usual.disk_mb && own.inodes == usual.inodes && own.pids == usual.pids &&
           own.open_files == usual.open_files && own.shm_mb == usual.shm_mb;
}

void limits_metrics(json_t *metrics, const struct sandbox_config *config, const struct box_stats *st)
{
    set_int(metrics, "pidsLimit", config->pids);
    set_int(metrics, "diskLimitMb", config->disk_mb);
    set_int(metrics, "inodesLimit", config->inodes);
    set_int(metrics, "openFilesLimit", config->open_files);
    set_int(metrics, "shmLimitMb", config->shm_mb);
    set_int(metrics, "networkLimitMbps", config->net_mbps);
    (void)json_object_set_new(metrics, "cpuLimit", json_real(config->cpu));
    set_int(metrics, "diskUsageMb", (int64_t)(st->disk_bytes / MIB));
    set_int(metrics, "oomKills", (int64_t)st->oom_kills);
}

uint32_t limits_net_kbps(const struct sandbox_config *config)
{
    return (uint32_t)config->net_mbps * 1000;
}

int limits_check_reserve(int64_t free_mb, const struct settings *set, struct err *err)
{
    if (free_mb < 0 || free_mb >= set->disk_reserve_mb)
        return 0;
    return err_set(err, ERR_NO_SPACE, ENOSPC,
                   "the data folder's file system has %lld MB free, less than the reserve of %lld: remove sandboxes, "
                   "snapshots or images, or change III_DISK_RESERVE_MB",
                   (long long)free_mb, (long long)set->disk_reserve_mb);
}

int limits_check_write(int64_t free_mb, const struct sandbox_config *config, const struct settings *set,
                       struct err *err)
{
    return config->disk_mb > 0 ? 0 : limits_check_reserve(free_mb, set, err);
}
