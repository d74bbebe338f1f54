#include "sandbox/lifecycle/limits.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define MIB (1024 * 1024)

static void set_int(json_t *metrics, const char *key, int64_t value)
{
    (void)json_object_set_new(metrics, key, json_integer((json_int_t)value));
}

int limits_check(const struct sandbox_config *config, struct runtime *rt, struct err *err)
{
    if (limits_net_kbps(config) && !rt->ops->caps(rt).can_limit_rate)
        return runtime_cannot(rt, "limitRate", "enforce netMbps", err);
    enum filter_profile profile = FILTER_DEFAULT;
    if (config->seccomp && filter_profile_find(config->seccomp, &profile) && profile != FILTER_DEFAULT &&
        !rt->ops->caps(rt).can_seccomp)
        return runtime_cannot(rt, "seccomp", "use the seccomp profile strict", err);
    return config->disk_mb == 0 ? 0 : limits_check_disk(rt, "diskMb", err);
}

int limits_check_disk(struct runtime *rt, const char *field, struct err *err)
{
    char what[64];
    if (rt->ops->caps(rt).can_limit_disk)
        return 0;
    (void)snprintf(what, sizeof(what), "enforce %s", field);
    if (runtime_lack(rt, "limitDisk"))
        return runtime_cannot(rt, "limitDisk", what, err);
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "%s cannot be enforced here: it needs a server that runs as root, loop devices and mkfs.ext4 "
                   "(iii doctor says what is missing)",
                   field);
}

bool limits_are_default(const struct sandbox_config *config, const struct settings *set)
{
    struct sandbox_config own = *config, usual = { 0 }; /* only numbers change, so nothing is owned */
    sandbox_config_settle_limits(&own, set);
    sandbox_config_settle_limits(&usual, set);
    return own.disk_mb == usual.disk_mb && own.inodes == usual.inodes && own.pids == usual.pids &&
           own.open_files == usual.open_files && own.shm_mb == usual.shm_mb &&
           sandbox_config_profile(&own, set) == sandbox_config_profile(&usual, set);
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

int64_t limits_by_disk(int64_t value, int64_t disk_mb)
{
    if (value != SETTINGS_BY_DISK)
        return value;
    int64_t part = disk_mb / 8;
    return part < LIMIT_MIN(HOST_DISK_MB)   ? LIMIT_MIN(HOST_DISK_MB)
           : part > LIMIT_MAX(HOST_DISK_MB) ? LIMIT_MAX(HOST_DISK_MB)
                                            : part;
}

size_t limits_relays(const struct settings *set)
{
    struct rlimit files = { .rlim_cur = 1024 };
    if (set->relay_connections)
        return (size_t)set->relay_connections;
    (void)getrlimit(RLIMIT_NOFILE, &files); /* else it is what systems allow at least */
    return files.rlim_cur / 8;
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
