#include "sandbox/lifecycle/limits.h"

#include <errno.h>

#include "base/limits.h"

#define MIB          (1024 * 1024)
#define INODES_USUAL (4 * 1024 * 1024) /* most that a disk gets unasked */

static int64_t within(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* A limit that may be absent (0) unless the operator has set a maximum. */
static int64_t optional(int64_t given, int64_t least, int64_t most)
{
    if (given <= 0)
        return most > 0 ? most : 0;
    return most > 0 ? within(given, least, most) : given < least ? least : given;
}

static void set_int(json_t *config, const char *key, int64_t value)
{
    (void)json_object_set_new(config, key, json_integer((json_int_t)value));
}

void limits_fill(json_t *config, const json_t *given, const struct settings *set)
{
    int64_t disk = json_get_int(given, "diskMb", 0);
    disk = disk > 0 ? disk : set->default_disk_mb; /* nobody asks his way out of the operator's default */
    disk = disk <= 0 ? 0 : within(disk, LIMIT_MIN(DISK_MB), set->max_disk_mb);
    int64_t inodes = json_get_int(given, "inodes", 0);
    if (disk > 0)
        inodes = inodes > 0 ? within(inodes, LIMIT_MIN(INODES), disk * LIMIT_MAX(INODES_PER_MB))
                            : within(disk * LIMIT_DEFAULT(INODES_PER_MB), LIMIT_MIN(INODES), INODES_USUAL);
    set_int(config, "diskMb", disk);
    set_int(config, "inodes", disk > 0 ? inodes : 0);
    set_int(config, "pids", within(json_get_int(given, "pids", set->pids_max), LIMIT_MIN(PIDS), set->max_pids));
    set_int(config, "openFiles",
            within(json_get_int(given, "openFiles", set->open_files), LIMIT_MIN(OPEN_FILES), set->max_open_files));
    set_int(config, "shmMb", within(json_get_int(given, "shmMb", set->shm_mb), LIMIT_MIN(SHM_MB), set->max_shm_mb));
    set_int(config, "netMbps",
            optional(json_get_int(given, "netMbps", set->net_mbps), LIMIT_MIN(NET_MBPS), set->max_net_mbps));
}

int limits_check(const json_t *config, struct runtime *rt, struct err *err)
{
    if (limits_net_kbps(config) && !rt->ops->caps(rt).can_limit_rate)
        return runtime_cannot(rt, "limitRate", "enforce netMbps", err);
    if (json_get_int(config, "diskMb", 0) == 0 || rt->ops->caps(rt).can_limit_disk)
        return 0;
    if (rt->ops->lacks)
        return runtime_cannot(rt, "limitDisk", "enforce diskMb", err);
    return err_set(err, ERR_UNSUPPORTED, 0,
                   "diskMb cannot be enforced here: it needs a server that runs as root, loop devices and mkfs.ext4 "
                   "(iii doctor says what is missing)");
}

void limits_plan(const json_t *config, const struct settings *set, struct box_plan *ret)
{
    JSON_OWNED full = json_object();
    limits_fill(full, config, set);
    ret->disk_mb = (uint32_t)json_get_int(full, "diskMb", 0);
    ret->inodes = (uint32_t)json_get_int(full, "inodes", 0);
    ret->pids_max = (uint32_t)json_get_int(full, "pids", 0);
    ret->nofile = (uint32_t)json_get_int(full, "openFiles", 0);
    ret->shm_mb = (uint32_t)json_get_int(full, "shmMb", 0);
}

bool limits_are_default(const json_t *config, const struct settings *set)
{
    struct box_plan own = { 0 }, usual = { 0 };
    limits_plan(config, set, &own);
    limits_plan(NULL, set, &usual);
    return own.disk_mb == usual.disk_mb && own.inodes == usual.inodes && own.pids_max == usual.pids_max &&
           own.nofile == usual.nofile && own.shm_mb == usual.shm_mb;
}

void limits_metrics(json_t *metrics, const json_t *config, const struct box_stats *st)
{
    static const char *const shown[][2] = { { "pids", "pidsLimit" },     { "diskMb", "diskLimitMb" },
                                            { "inodes", "inodesLimit" }, { "openFiles", "openFilesLimit" },
                                            { "shmMb", "shmLimitMb" },   { "netMbps", "networkLimitMbps" } };
    for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
        set_int(metrics, shown[i][1], json_get_int(config, shown[i][0], 0));
    (void)json_object_set_new(metrics, "cpuLimit", json_real(json_get_num(config, "cpu", 0)));
    set_int(metrics, "diskUsageMb", (int64_t)(st->disk_bytes / MIB));
    set_int(metrics, "oomKills", (int64_t)st->oom_kills);
}

uint32_t limits_net_kbps(const json_t *config)
{
    return (uint32_t)json_get_int(config, "netMbps", 0) * 1000;
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

int limits_check_write(int64_t free_mb, const json_t *config, const struct settings *set, struct err *err)
{
    return json_get_int(config, "diskMb", 0) > 0 ? 0 : limits_check_reserve(free_mb, set, err);
}
