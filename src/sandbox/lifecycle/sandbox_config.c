#include "sandbox/lifecycle/sandbox_config.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/strlist.h"

#define INODES_USUAL (4 * 1024 * 1024) /* most that a disk gets unasked */

enum kind { TEXT, INT, NUM, BOOL, MAP, LIST };

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
        if (!json_is_object(value))
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
        else if (members[i].kind == MAP)
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
        c->net_mbps = most > 0 ? within(rate, LIMIT_MIN(NET_MBPS), most) : rate;
    c->given |= SANDBOX_CONFIG_DISK | SANDBOX_CONFIG_INODES | SANDBOX_CONFIG_NET_RATE;
}

int64_t sandbox_config_max_cpus(const struct settings *set)
{
    static int64_t host; /* asked once: the C library reads files for it, and every create needs it */
    if (host == 0)
        host = sysconf(_SC_NPROCESSORS_ONLN);
    return set->max_cpus ? set->max_cpus : host > LIMIT_MAX(CPU) ? host : LIMIT_MAX(CPU);
}

int64_t sandbox_config_max_memory_mb(const struct settings *set)
{
    static int64_t host;
    if (host == 0)
        host = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / (1024 * 1024);
    return set->max_memory_mb ? set->max_memory_mb : host > LIMIT_MAX(MEMORY_MB) ? host : LIMIT_MAX(MEMORY_MB);
}

void sandbox_config_settle(struct sandbox_config *c, const struct settings *set, const char *workdir)
{
    settle_int(c, SANDBOX_CONFIG_TIMEOUT, &c->timeout_s, set->default_timeout_s, LIMIT_MIN(TIMEOUT_S),
               LIMIT_MAX(TIMEOUT_S));
    settle_int(c, SANDBOX_CONFIG_MEMORY, &c->memory_mb, set->default_memory_mb, LIMIT_MIN(MEMORY_MB),
               sandbox_config_max_memory_mb(set));
    double cpu = c->given & SANDBOX_CONFIG_CPU ? c->cpu : (double)set->default_cpu;
    c->cpu = fmin(fmax(cpu, LIMIT_MIN(CPU)), (double)sandbox_config_max_cpus(set));
    c->given |= SANDBOX_CONFIG_CPU;
    sandbox_config_settle_limits(c, set);
    if (!(c->given & SANDBOX_CONFIG_WORKDIR))
        sandbox_config_set_text(c, SANDBOX_CONFIG_WORKDIR, workdir);
    sandbox_config_set_text(c, SANDBOX_CONFIG_BACKEND, NULL);
}
