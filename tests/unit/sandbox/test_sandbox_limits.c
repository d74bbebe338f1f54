/* Limits of a sandbox: what is asked for, within what the operator allows, and what a backend can enforce. */
#include <errno.h>

#include "base/settings.h"
#include "sandbox/lifecycle/limits.h"
#include "tap.h"

static struct settings set;

static void operator_says(void)
{
    settings_done(&set);
    settings_init(&set);
    set.default_disk_mb = 0;
    set.max_disk_mb = 1000;
    set.pids_max = 256;
    set.max_pids = 500;
    set.open_files = 1024;
    set.max_open_files = 2000;
    set.shm_mb = 64;
    set.max_shm_mb = 100;
    set.net_mbps = 0;
    set.max_net_mbps = 0;
    set.disk_reserve_mb = 100;
}

/* Takes the JSON of a configuration. Numbers only, so nothing is left to free. */
static struct sandbox_config config_of(json_t *given)
{
    struct sandbox_config config = { 0 };
    JSON_OWNED owned = given;
    sandbox_config_read(&config, owned);
    return config;
}

static struct sandbox_config settled(json_t *given)
{
    struct sandbox_config config = config_of(given);
    sandbox_config_settle_limits(&config, &set);
    return config;
}

/* What becomes of a wish for one limit. */
static int64_t filled(const char *key, int64_t wish)
{
    struct sandbox_config config = settled(json_pack("{s:I}", key, (json_int_t)wish));
    JSON_OWNED written = sandbox_config_write(&config);
    return json_get_int(written, key, -1);
}

static int64_t inodes_of(int64_t disk_mb, int64_t inodes)
{
    return settled(json_pack("{s:I, s:I}", "diskMb", (json_int_t)disk_mb, "inodes", (json_int_t)inodes)).inodes;
}

TEST(wishes_are_brought_within_the_bounds)
{
    static const struct {
        const char *key;
        int64_t wish, get;
    } rows[] = {
        { "pids", 15, 16 },       { "pids", 16, 16 },          { "pids", 500, 500 }, { "pids", 501, 500 },
        { "openFiles", 63, 64 },  { "openFiles", 2001, 2000 }, { "shmMb", 0, 1 },    { "shmMb", 101, 100 },
        { "diskMb", 0, 0 },       { "diskMb", -5, 0 },         { "diskMb", 1, 16 },  { "diskMb", 17, 17 },
        { "diskMb", 1001, 1000 }, { "netMbps", 0, 0 },         { "netMbps", -1, 0 }, { "netMbps", 7, 7 },
    };
    operator_says();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_INT(filled(rows[i].key, rows[i].wish), rows[i].get);
    struct sandbox_config config = settled(NULL);
    CHECK_INT(config.pids, 256);
    CHECK_INT(config.open_files, 1024);
    CHECK_INT(config.shm_mb, 64);
}

TEST(nobody_escapes_what_the_operator_has_set)
{
    operator_says();
    set.default_disk_mb = 200;
    set.net_mbps = 5;
    set.max_net_mbps = 10;
    CHECK_INT(filled("diskMb", 0), 200);
    CHECK_INT(filled("diskMb", -1), 200);
    CHECK_INT(filled("diskMb", 100), 100);
    CHECK_INT(filled("netMbps", 0), 10);
    CHECK_INT(filled("netMbps", 11), 10);
    CHECK_INT(filled("netMbps", 3), 3);
}

TEST(inodes_follow_the_disk)
{
    operator_says();
    CHECK_INT(inodes_of(0, 5000), 0); /* without a disk of its own there is nothing to count */
    CHECK_INT(inodes_of(100, 0), 6400);
    CHECK_INT(inodes_of(16, 0), 1024);
    CHECK_INT(inodes_of(100, 1), 1024);
    CHECK_INT(inodes_of(100, 25601), 25600);
    CHECK_INT(inodes_of(100, 2000), 2000);
}

TEST(which_limits_are_the_usual_ones)
{
    operator_says();
    const struct sandbox_config empty = { 0 };
    CHECK(limits_are_default(&empty, &set));
    static const char *const keys[] = { "diskMb", "pids", "openFiles", "shmMb" };
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        struct sandbox_config config = config_of(json_pack("{s:i}", keys[i], 99));
        CHECK(!limits_are_default(&config, &set));
    }
    set.default_disk_mb = 100;
    struct sandbox_config more = config_of(json_pack("{s:i}", "inodes", 2000));
    CHECK(!limits_are_default(&more, &set));
    struct sandbox_config same = config_of(json_pack("{s:i, s:i}", "pids", 256, "shmMb", 64));
    CHECK(limits_are_default(&same, &set));
}

static bool can_disk, can_rate;

static struct runtime_caps caps(struct runtime *rt)
{
    return (struct runtime_caps){ .can_limit_disk = can_disk, .can_limit_rate = can_rate };
}

static int checked(const char *key, const struct runtime_lack *lacks, struct err *err)
{
    struct runtime_ops ops = { .name = "plain", .lacks = lacks, .caps = caps };
    struct runtime rt = { .ops = &ops };
    struct sandbox_config config = config_of(key ? json_pack("{s:i}", key, 50) : NULL);
    return limits_check(&config, &rt, err);
}

TEST(what_a_backend_cannot_enforce_is_refused)
{
    static const struct runtime_lack lacks[] = { { "limitDisk", "no disks here" }, { "limitRate", "no rates" }, { 0 } };
    struct err err = ERR_INIT;
    can_disk = can_rate = false;
    CHECK_INT(checked(NULL, NULL, &err), 0);
    CHECK(checked("diskMb", NULL, &err) < 0 && err.code == ERR_UNSUPPORTED && strstr(err.msg, "loop devices"));
    CHECK(checked("diskMb", lacks, &err) < 0 && strstr(err.msg, "enforce diskMb: no disks here"));
    CHECK(checked("netMbps", lacks, &err) < 0 && strstr(err.msg, "enforce netMbps: no rates"));
    can_rate = true;
    CHECK_INT(checked("netMbps", lacks, &err), 0);
    CHECK(checked("diskMb", lacks, &err) < 0);
    can_disk = true;
    CHECK_INT(checked("diskMb", lacks, &err), 0);
}

TEST(the_reserve_is_kept_free)
{
    struct err err = ERR_INIT;
    operator_says();
    CHECK_INT(limits_check_reserve(100, &set, &err), 0);
    CHECK_INT(limits_check_reserve(99, &set, &err), -ENOSPC);
    CHECK_INT(err.code, ERR_NO_SPACE);
    CHECK_INT(limits_check_reserve(0, &set, &err), -ENOSPC);
    CHECK_INT(limits_check_reserve(-1, &set, &err), 0); /* nobody knows */
    struct sandbox_config own = config_of(json_pack("{s:i}", "diskMb", 16)), none = { 0 };
    CHECK_INT(limits_check_write(0, &own, &set, &err), 0); /* its disk was counted when it was made */
    CHECK_INT(limits_check_write(0, &none, &set, &err), -ENOSPC);
}

TEST(figures_name_limit_and_use)
{
    struct sandbox_config config =
        config_of(json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:f}", "pids", 1, "diskMb", 2, "inodes", 3, "openFiles", 4,
                            "shmMb", 5, "netMbps", 6, "cpu", 1.5));
    JSON_OWNED m = json_object();
    limits_metrics(m, &config, &(struct box_stats){ .disk_bytes = 3u << 20, .oom_kills = 7 });
    static const char *const names[] = { "pidsLimit",      "diskLimitMb", "inodesLimit",
                                         "openFilesLimit", "shmLimitMb",  "networkLimitMbps" };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        CHECK_INT(json_get_int(m, names[i], -1), (int)i + 1);
    CHECK_INT(json_get_int(m, "diskUsageMb", -1), 3);
    CHECK_INT(json_get_int(m, "oomKills", -1), 7);
    CHECK(json_get_num(m, "cpuLimit", 0) == 1.5 && json_object_size(m) == 9);
    CHECK_INT(limits_net_kbps(&config), 6000);
}

int main(void)
{
    RUN(wishes_are_brought_within_the_bounds);
    RUN(nobody_escapes_what_the_operator_has_set);
    RUN(inodes_follow_the_disk);
    RUN(which_limits_are_the_usual_ones);
    RUN(what_a_backend_cannot_enforce_is_refused);
    RUN(the_reserve_is_kept_free);
    RUN(figures_name_limit_and_use);
    settings_done(&set);
    return tap_done();
}
