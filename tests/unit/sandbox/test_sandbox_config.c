/* The typed configuration: what it reads, what it writes for the record, defaults and bounds. */
#include <string.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "sandbox/lifecycle/sandbox_config.h"
#include "tap.h"

static json_t *parse(const char *text)
{
    json_t *j = NULL;
    struct err err = ERR_INIT;
    CHECK_INT(json_read(text, strlen(text), &j, &err), 0);
    return j;
}

static struct sandbox_config config_of(const char *text)
{
    struct sandbox_config c = { 0 };
    JSON_OWNED j = parse(text);
    sandbox_config_read(&c, j);
    return c;
}

static void check_writes(const struct sandbox_config *c, const char *text)
{
    JSON_OWNED j = sandbox_config_write(c);
    CLEANUP(free_p) char *written = json_write(j, NULL);
    CHECK_STR(written, text);
}

/* As version 0.1.0 wrote it. */
#define RECORD                                                                                                    \
    "{\"image\":\"python\",\"name\":\"n\",\"network\":true,\"env\":{\"A\":\"1\"},\"metadata\":{\"k\":\"v\"},"     \
    "\"entrypoint\":[\"sleep\",\"9\"],\"timeout\":3600,\"memory\":512,\"cpu\":1.5,\"diskMb\":32,\"inodes\":2048," \
    "\"pids\":256,\"openFiles\":65536,\"shmMb\":256,\"netMbps\":10,\"seccomp\":\"default\",\"workdir\":\"/"       \
    "workspace\"}"

TEST(a_record_is_written_as_it_was_read)
{
    SANDBOX_CONFIG_OWNED c = config_of(RECORD);
    CHECK_STR(c.image, "python");
    CHECK_INT(c.memory_mb, 512);
    CHECK(c.cpu == 1.5 && c.has_network);
    CHECK_STR(c.entrypoint[1], "9");
    CHECK_STR(json_get_str(c.env, "A", ""), "1");
    check_writes(&c, RECORD);
}

TEST(a_record_of_before_a_member_existed_does_not_get_it)
{
    static const char old[] = "{\"image\":\"python\",\"timeout\":60,\"memory\":64,\"cpu\":0.5,\"workdir\":\"/app\"}";
    SANDBOX_CONFIG_OWNED c = config_of(old);
    CHECK_INT(c.disk_mb, 0);
    CHECK(!c.has_network && !c.env && !c.entrypoint && !c.name);
    check_writes(&c, old);
    SANDBOX_CONFIG_OWNED given = config_of("{\"network\":false,\"env\":{},\"entrypoint\":[],\"metadata\":{}}");
    check_writes(&given, "{\"network\":false,\"env\":{},\"metadata\":{},\"entrypoint\":[]}");
}

TEST(a_wrong_type_null_and_an_unknown_member_count_as_absent)
{
    SANDBOX_CONFIG_OWNED c =
        config_of("{\"image\":7,\"memory\":\"64\",\"timeout\":1.5,\"cpu\":\"1\",\"network\":1,\"env\":[],"
                  "\"entrypoint\":\"sh\",\"pids\":null,\"template\":\"t\",\"shmMb\":8.0}");
    check_writes(&c, "{\"shmMb\":8}");
    sandbox_config_read(&c, NULL);
    check_writes(&c, "{\"shmMb\":8}");
}

TEST(a_request_lies_over_its_template)
{
    SANDBOX_CONFIG_OWNED c =
        config_of("{\"image\":\"a\",\"memory\":1,\"metadata\":{\"x\":\"1\"},\"backend\":\"docker\"}");
    check_writes(&c, "{\"image\":\"a\",\"metadata\":{\"x\":\"1\"},\"memory\":1,\"backend\":\"docker\"}");
    JSON_OWNED request = parse("{\"image\":\"b\",\"memory\":null,\"metadata\":{\"y\":\"2\"},\"entrypoint\":[\"ls\"]}");
    sandbox_config_read(&c, request);
    check_writes(
        &c, "{\"image\":\"b\",\"metadata\":{\"y\":\"2\"},\"entrypoint\":[\"ls\"],\"memory\":1,\"backend\":\"docker\"}");
}

TEST(a_copy_stands_alone)
{
    struct sandbox_config c = config_of(RECORD);
    SANDBOX_CONFIG_OWNED copy = sandbox_config_copy(&c);
    (void)json_object_set_new(c.env, "A", json_string("2"));
    sandbox_config_set_text(&c, SANDBOX_CONFIG_NAME, NULL);
    CHECK(!(c.given & SANDBOX_CONFIG_NAME) && c.name == NULL);
    sandbox_config_done(&c);
    CHECK_INT(c.given, 0);
    check_writes(&copy, RECORD);
}

TEST(what_is_not_given_is_the_operators_default)
{
    struct settings set;
    settings_init(&set);
    SANDBOX_CONFIG_OWNED c = config_of("{\"image\":\"python\",\"backend\":\"native\"}");
    sandbox_config_settle(&c, &set, "/srv");
    check_writes(
        &c,
        "{\"image\":\"python\",\"timeout\":3600,\"memory\":512,\"cpu\":1.0,\"diskMb\":0,\"inodes\":0,"
        "\"pids\":256,\"openFiles\":65536,\"shmMb\":256,\"netMbps\":0,\"seccomp\":\"default\",\"workdir\":\"/srv\"}");
    set.default_timeout_s = 61;
    set.default_memory_mb = 65;
    set.default_cpu = 2;
    set.default_disk_mb = 100;
    set.pids_max = 17;
    set.open_files = 65;
    set.shm_mb = 2;
    set.net_mbps = 3;
    SANDBOX_CONFIG_OWNED other = config_of("{\"diskMb\":0,\"workdir\":\"/own\"}"); /* 0 does not beat the default */
    sandbox_config_settle(&other, &set, "/srv");
    check_writes(&other, "{\"timeout\":61,\"memory\":65,\"cpu\":2.0,\"diskMb\":100,\"inodes\":6400,\"pids\":17,"
                         "\"openFiles\":65,\"shmMb\":2,\"netMbps\":3,\"seccomp\":\"default\",\"workdir\":\"/own\"}");
    sandbox_config_settle(&other, &set, "/elsewhere"); /* again changes nothing: clones and restores do it */
    CHECK_INT(other.inodes, 6400);
    CHECK_STR(other.workdir, "/own");
    settings_done(&set);
}

TEST(every_number_is_moved_into_its_bounds)
{
    struct settings set;
    settings_init(&set);
    SANDBOX_CONFIG_OWNED low = config_of("{\"timeout\":59,\"memory\":63,\"cpu\":0.4,\"diskMb\":15,\"inodes\":1023,"
                                         "\"pids\":15,\"openFiles\":63,\"shmMb\":0,\"netMbps\":0}");
    sandbox_config_settle(&low, &set, "/w");
    check_writes(&low, "{\"timeout\":60,\"memory\":64,\"cpu\":0.5,\"diskMb\":16,\"inodes\":1024,\"pids\":16,"
                       "\"openFiles\":64,\"shmMb\":1,\"netMbps\":0,\"seccomp\":\"default\",\"workdir\":\"/w\"}");
    set.max_memory_mb = 4096; /* else this host decides */
    set.max_cpus = 4;
    SANDBOX_CONFIG_OWNED high =
        config_of("{\"timeout\":86401,\"memory\":4097,\"cpu\":4.1,\"diskMb\":102401,\"inodes\":999999999999,"
                  "\"pids\":4097,\"openFiles\":1048577,\"shmMb\":4097,\"netMbps\":1000}");
    sandbox_config_settle(&high, &set, "/w");
    check_writes(&high, "{\"timeout\":86400,\"memory\":4096,\"cpu\":4.0,\"diskMb\":102400,\"inodes\":26214400,"
                        "\"pids\":4096,\"openFiles\":1048576,\"shmMb\":4096,\"netMbps\":1000,\"seccomp\":\"default\","
                        "\"workdir\":\"/w\"}");
    set.max_net_mbps = 100; /* a maximum also holds for who asks for none */
    SANDBOX_CONFIG_OWNED fast = config_of("{\"netMbps\":101}"), any = config_of("{\"netMbps\":0}");
    sandbox_config_settle(&fast, &set, "/w");
    sandbox_config_settle(&any, &set, "/w");
    CHECK_INT(fast.net_mbps, 100);
    CHECK_INT(any.net_mbps, 100);
    SANDBOX_CONFIG_OWNED huge = config_of("{\"diskMb\":100000}"); /* 64 for each MB, up to 4 Mi unasked */
    sandbox_config_settle(&huge, &set, "/w");
    CHECK_INT(huge.inodes, 4 * 1024 * 1024);
    settings_done(&set);
}

/* Compact text of the warnings, or "none". */
static void check_bound(const char *text, const struct settings *set, const char *expected)
{
    SANDBOX_CONFIG_OWNED c = config_of(text);
    JSON_OWNED warnings = NULL;
    sandbox_config_bound(&c, set, &warnings);
    CLEANUP(free_p) char *got = warnings ? json_write(warnings, NULL) : xstrdup("none");
    CHECK_STR(got, expected);
    CHECK(c.idle_timeout_s <= set->max_timeout_s);
}

TEST(what_is_not_possible_is_a_warning)
{
    struct settings set;
    settings_init(&set);
    set.max_memory_mb = 4096;
    check_bound("{\"image\":\"x\",\"memory\":4096,\"cpu\":0.5,\"timeout\":60,\"diskMb\":0,\"netMbps\":1000000}", &set,
                "none");
    check_bound("{\"memory\":4097,\"idleTimeout\":86401}", &set,
                "[\"memory: 4097 is out of range, the nearest possible value is 4096 (64 to III_MAX_MEMORY)\","
                "\"idleTimeout: 86401 is out of range, the nearest possible value is 86400 (1 to III_MAX_TIMEOUT)\"]");
    check_bound(
        "{\"inodes\":5000,\"netMbps\":1000001}", &set,
        "[\"inodes: 5000 is out of range, the nearest possible value is 0 (1024 to 256 for each MB of diskMb)\","
        "\"netMbps: 1000001 is out of range, the nearest possible value is 1000000 (1 to III_MAX_NET_MBPS)\"]");
    set.default_disk_mb = 100;
    check_bound("{\"diskMb\":0}", &set,
                "[\"diskMb: 0 is out of range, the nearest possible value is 100 (III_DEFAULT_DISK, or 16 to "
                "III_MAX_DISK)\"]");
    settings_done(&set);
}

int main(void)
{
    RUN(what_is_not_possible_is_a_warning);
    RUN(a_record_is_written_as_it_was_read);
    RUN(a_record_of_before_a_member_existed_does_not_get_it);
    RUN(a_wrong_type_null_and_an_unknown_member_count_as_absent);
    RUN(a_request_lies_over_its_template);
    RUN(a_copy_stands_alone);
    RUN(what_is_not_given_is_the_operators_default);
    RUN(every_number_is_moved_into_its_bounds);
    return tap_done();
}
