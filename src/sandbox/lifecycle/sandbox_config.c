#include "sandbox/lifecycle/sandbox_config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"
#include "base/warnings.h"

#define INODES_USUAL (4 * 1024 * 1024) /* most that a disk gets unasked */

enum kind { TEXT, INT, NUM, BOOL, MAP, LIST, ROWS };

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} members[SANDBOX_CONFIG_COUNT] = {
#define MEMBER(bit, json, kind, member) { json, kind, offsetof(struct sandbox_config, member) },
    SANDBOX_CONFIG_MEMBERS(MEMBER)
#undef MEMBER
};

static void *slot_of(const struct sandbox_config *c, size_t at)
{
    return (char *)(uintptr_t)c + members[at].offset;
}

static void clear_member(struct sandbox_config *c, size_t at)
{
    void *slot = slot_of(c, at);
    switch (members[at].kind) {
    case TEXT:
        free(*(char **)slot);
        *(char **)slot = NULL;
        break;
    case INT:
        *(int64_t *)slot = 0;
        break;
    case NUM:
        *(double *)slot = 0;
        break;
    case BOOL:
        *(bool *)slot = false;
        break;
    case MAP:
    case ROWS:
        *(json_t **)slot = json_unref(*(json_t **)slot);
        break;
    case LIST:
        *(char ***)slot = strlist_free(*(char ***)slot);
        break;
    }
    c->given &= ~(1u << at);
}

/* Whether value is of the member's kind; then the member has it. Whole numbers may be written as reals. */
static bool set_member(struct sandbox_config *c, size_t at, json_t *value)
{
    void *slot = slot_of(c, at);
    switch (members[at].kind) {
    case TEXT:
        if (!json_is_string(value))
            return false;
        free(*(char **)slot);
        *(char **)slot = xstrdup(json_string_value(value));
        return true;
    case INT:
        if (json_is_integer(value))
            *(int64_t *)slot = json_integer_value(value);
        else if (json_is_real(value) && json_real_value(value) == floor(json_real_value(value)) &&
                 fabs(json_real_value(value)) <= LIMIT_MAX(WHOLE))
            *(int64_t *)slot = (int64_t)json_real_value(value);
        else
            return false;
        return true;
    case NUM:
        if (json_is_number(value))
            *(double *)slot = json_number_value(value);
        return json_is_number(value);
    case BOOL:
        if (json_is_boolean(value))
            *(bool *)slot = json_is_true(value);
        return json_is_boolean(value);
    case MAP:
    case ROWS:
        if (members[at].kind == MAP ? !json_is_object(value) : !json_is_array(value))
            return false;
        json_decref(*(json_t **)slot);
        *(json_t **)slot = json_incref(value);
        return true;
    case LIST:
        if (!json_is_array(value))
            return false;
        strlist_free(*(char ***)slot);
        *(char ***)slot = strlist_from_json(value);
        return true;
    }
    return false;
}

static json_t *show(const struct sandbox_config *c, size_t at)
{
    const void *slot = slot_of(c, at);
    switch (members[at].kind) {
    case TEXT:
        return json_string(*(char *const *)slot);
    case INT:
        return json_integer((json_int_t) * (const int64_t *)slot);
    case NUM:
        return json_real(*(const double *)slot);
    case BOOL:
        return json_boolean(*(const bool *)slot);
    case MAP:
    case ROWS:
        return json_incref(*(json_t *const *)slot);
    case LIST:
        return strlist_to_json(*(char **const *)slot);
    }
    return NULL;
}

void sandbox_config_read(struct sandbox_config *c, const json_t *obj)
{
    for (size_t i = 0; i < SANDBOX_CONFIG_COUNT; i++)
        if (set_member(c, i, json_object_get(obj, members[i].name)))
            c->given |= 1u << i;
}

json_t *sandbox_config_write(const struct sandbox_config *c)
{
    json_t *obj = json_object();
    for (size_t i = 0; i < SANDBOX_CONFIG_COUNT; i++)
        if (c->given & 1u << i)
            (void)json_object_set_new_nocheck(obj, members[i].name, show(c, i));
    return obj;
}

struct sandbox_config sandbox_config_copy(const struct sandbox_config *c)
{
    struct sandbox_config copy = *c;
    for (size_t i = 0; i < SANDBOX_CONFIG_COUNT; i++) {
        void *slot = slot_of(&copy, i);
        if (members[i].kind == TEXT)
            *(char **)slot = xstrdup(*(char **)slot);
        else if (members[i].kind == MAP || members[i].kind == ROWS)
            *(json_t **)slot = json_deep_copy(*(json_t **)slot);
        else if (members[i].kind == LIST)
            *(char ***)slot = strlist_copy(*(char ***)slot);
    }
    return copy;
}

void sandbox_config_done(struct sandbox_config *c)
{
    for (size_t i = 0; i < SANDBOX_CONFIG_COUNT; i++)
        clear_member(c, i);
}

void sandbox_config_set_text(struct sandbox_config *c, enum sandbox_config_bit bit, const char *text)
{
    size_t at = (size_t)__builtin_ctz(bit);
    clear_member(c, at);
    if (!text)
        return;
    *(char **)slot_of(c, at) = xstrdup(text);
    c->given |= bit;
}

void sandbox_config_set_map(struct sandbox_config *c, enum sandbox_config_bit bit, json_t *map)
{
    size_t at = (size_t)__builtin_ctz(bit);
    clear_member(c, at);
    *(json_t **)slot_of(c, at) = map;
    c->given |= bit;
}

/* --- the effective configuration --- */

static int64_t within(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* What is given, or usual, moved into low to high. */
static void settle_int(struct sandbox_config *c, enum sandbox_config_bit bit, int64_t *v, int64_t usual, int64_t low,
                       int64_t high)
{
    *v = within(c->given & bit ? *v : usual, low, high);
    c->given |= bit;
}

void sandbox_config_settle_limits(struct sandbox_config *c, const struct settings *set)
{
    int64_t disk = c->disk_mb > 0 ? c->disk_mb : set->default_disk_mb; /* 0 does not ask for less than the default */
    c->disk_mb = disk <= 0 ? 0 : within(disk, LIMIT_MIN(DISK_MB), set->max_disk_mb);
    if (c->disk_mb == 0)
        c->inodes = 0;
    else if (c->inodes > 0)
        c->inodes = within(c->inodes, LIMIT_MIN(INODES), c->disk_mb * LIMIT_MAX(INODES_PER_MB));
    else
        c->inodes = within(c->disk_mb * LIMIT_DEFAULT(INODES_PER_MB), LIMIT_MIN(INODES), INODES_USUAL);
    settle_int(c, SANDBOX_CONFIG_PIDS, &c->pids, set->pids_max, LIMIT_MIN(PIDS), set->max_pids);
    settle_int(c, SANDBOX_CONFIG_OPEN_FILES, &c->open_files, set->open_files, LIMIT_MIN(OPEN_FILES),
               set->max_open_files);
    settle_int(c, SANDBOX_CONFIG_SHM, &c->shm_mb, set->shm_mb, LIMIT_MIN(SHM_MB), set->max_shm_mb);
    int64_t rate = c->given & SANDBOX_CONFIG_NET_RATE ? c->net_mbps : set->net_mbps, most = set->max_net_mbps;
    if (rate <= 0) /* a rate may be absent (0), unless the operator has set a maximum */
        c->net_mbps = most > 0 ? most : 0;
    else
        c->net_mbps = within(rate, LIMIT_MIN(NET_MBPS), most > 0 ? most : LIMIT_MAX(NET_MBPS));
    c->given |= SANDBOX_CONFIG_DISK | SANDBOX_CONFIG_INODES | SANDBOX_CONFIG_NET_RATE;
}

/* Every number but the idle time, which sandboxes of sandbox:: functions have another range for. */
void sandbox_config_settle_numbers(struct sandbox_config *c, const struct settings *set)
{
    settle_int(c, SANDBOX_CONFIG_TIMEOUT, &c->timeout_s, set->default_timeout_s, LIMIT_MIN(TIMEOUT_S),
               set->max_timeout_s);
    settle_int(c, SANDBOX_CONFIG_MEMORY, &c->memory_mb, set->default_memory_mb, LIMIT_MIN(MEMORY_MB),
               set->max_memory_mb);
    double cpu = c->given & SANDBOX_CONFIG_CPU ? c->cpu : (double)set->default_cpu;
    c->cpu = fmin(fmax(cpu, LIMIT_MIN(CPU)), (double)set->max_cpus);
    c->given |= SANDBOX_CONFIG_CPU;
    sandbox_config_settle_limits(c, set);
}

enum filter_profile sandbox_config_profile(const struct sandbox_config *c, const struct settings *set)
{
    enum filter_profile given = FILTER_DEFAULT, least = FILTER_DEFAULT;
    (void)filter_profile_find(set->seccomp, &least); /* manager_new() has checked it */
    if (c->seccomp && !filter_profile_find(c->seccomp, &given))
        given = FILTER_STRICT; /* a record of a later version: no less than what we know */
    return given > least ? given : least;
}

void sandbox_config_settle(struct sandbox_config *c, const struct settings *set, const char *workdir)
{
    sandbox_config_settle_numbers(c, set);
    if (!(c->given & SANDBOX_CONFIG_WORKDIR))
        sandbox_config_set_text(c, SANDBOX_CONFIG_WORKDIR, workdir);
    sandbox_config_set_text(c, SANDBOX_CONFIG_SECCOMP, filter_profile_name(sandbox_config_profile(c, set)));
    sandbox_config_set_text(c, SANDBOX_CONFIG_BACKEND, NULL);
}

void sandbox_config_bound(struct sandbox_config *c, const struct settings *set, json_t **warnings)
{
    static const char *const ranges[SANDBOX_CONFIG_COUNT] = {
        [SANDBOX_CONFIG_AT_TIMEOUT] = LIMIT_MIN_TEXT(TIMEOUT_S) " to III_MAX_TIMEOUT",
        [SANDBOX_CONFIG_AT_MEMORY] = LIMIT_MIN_TEXT(MEMORY_MB) " to III_MAX_MEMORY",
        [SANDBOX_CONFIG_AT_CPU] = LIMIT_MIN_TEXT(CPU) " to III_MAX_CPUS",
        [SANDBOX_CONFIG_AT_DISK] = "III_DEFAULT_DISK, or " LIMIT_MIN_TEXT(DISK_MB) " to III_MAX_DISK",
        [SANDBOX_CONFIG_AT_INODES] =
            LIMIT_MIN_TEXT(INODES) " to " LIMIT_MAX_TEXT(INODES_PER_MB) " for each MB of diskMb",
        [SANDBOX_CONFIG_AT_PIDS] = LIMIT_MIN_TEXT(PIDS) " to III_MAX_PIDS",
        [SANDBOX_CONFIG_AT_OPEN_FILES] = LIMIT_MIN_TEXT(OPEN_FILES) " to III_MAX_OPEN_FILES",
        [SANDBOX_CONFIG_AT_SHM] = LIMIT_MIN_TEXT(SHM_MB) " to III_MAX_SHM_MB",
        [SANDBOX_CONFIG_AT_NET_RATE] = LIMIT_MIN_TEXT(NET_MBPS) " to III_MAX_NET_MBPS",
        [SANDBOX_CONFIG_AT_IDLE_TIMEOUT] = "1 to III_MAX_TIMEOUT",
    };
    struct sandbox_config moved = *c; /* only numbers change, so nothing is owned */
    sandbox_config_settle_numbers(&moved, set);
    if (c->given & SANDBOX_CONFIG_IDLE_TIMEOUT)
        moved.idle_timeout_s = within(c->idle_timeout_s, 1, set->max_timeout_s);
    for (size_t i = 0; i < SANDBOX_CONFIG_COUNT; i++) {
        if (!ranges[i] || !(c->given & 1u << i))
            continue;
        bool is_real = members[i].kind == NUM;
        double asked = is_real ? *(double *)slot_of(c, i) : (double)*(int64_t *)slot_of(c, i);
        double got = is_real ? *(double *)slot_of(&moved, i) : (double)*(int64_t *)slot_of(&moved, i);
        if (asked != got)
            warnings_add(warnings, "%s: %.16g is out of range, the nearest possible value is %.16g (%s)",
                         members[i].name, asked, got, ranges[i]);
    }
    const char *profile = filter_profile_name(sandbox_config_profile(c, set));
    if (c->seccomp && strcmp(c->seccomp, profile) != 0)
        warnings_add(warnings, "seccomp: \"%s\" is not possible here, the sandbox has \"%s\" (III_SECCOMP)", c->seccomp,
                     profile);
    c->idle_timeout_s = moved.idle_timeout_s; /* the others are moved when the sandbox is made */
}
