#include "base/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/limits.h"

#define TYPE_STR  's'
#define TYPE_INT  'i'
#define TYPE_BOOL 'b'
#define TYPE_JSON 'j'

const struct settings_row settings_rows[] = {
#define S(field, type, env, flag, yaml, def, min, max, help) \
    { #field, env, flag, yaml, def, help, TYPE_##type, min, max, offsetof(struct settings, field) },
#include "base/settings.def"
#undef S
    { 0 },
};

static int64_t within(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static bool is_text(const struct settings_row *row)
{
    return row->type == TYPE_STR || row->type == TYPE_JSON;
}

static void *slot_of(struct settings *s, const struct settings_row *row)
{
    return (char *)s + row->offset;
}

void settings_init(struct settings *s)
{
    memset(s, 0, sizeof(*s));
    for (const struct settings_row *row = settings_rows; row->field; row++)
        (void)settings_set(s, row, row->fallback, NULL); /* defaults are valid: a test checks each */
}

void settings_done(struct settings *s)
{
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        if (is_text(row)) {
            char **slot = slot_of(s, row);
            free(*slot);
            *slot = NULL;
        }
    }
}

static size_t size_of(const struct settings_row *row)
{
    return is_text(row) ? sizeof(char *) : row->type == TYPE_INT ? sizeof(int64_t) : sizeof(bool);
}

void settings_copy(struct settings *to, const struct settings *from)
{
    memcpy(to, from, sizeof(*to));
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        char **slot = slot_of(to, row);
        if (is_text(row))
            *slot = xstrdup(*slot);
    }
}

bool settings_is_same(const struct settings *a, const struct settings *b, const struct settings_row *row)
{
    const char *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
    if (is_text(row))
        return strcmp(*(char *const *)x, *(char *const *)y) == 0;
    return memcmp(x, y, size_of(row)) == 0;
}

void settings_swap(struct settings *a, struct settings *b, const struct settings_row *row)
{
    char kept[sizeof(int64_t)];
    memcpy(kept, slot_of(a, row), size_of(row));
    memcpy(slot_of(a, row), slot_of(b, row), size_of(row));
    memcpy(slot_of(b, row), kept, size_of(row));
}

/* "host" for this row: what the host has, within the limits of its kind; -1: the row has no such value. */
static int64_t host_value(const struct settings_row *row)
{
    int64_t memory_mb = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 1048576;
    if (row->offset == offsetof(struct settings, max_memory_mb))
        return within(memory_mb, LIMIT_MIN(HOST_MEMORY_MB), LIMIT_MAX(HOST_MEMORY_MB));
    if (row->offset == offsetof(struct settings, max_cpus))
        return within(sysconf(_SC_NPROCESSORS_ONLN), LIMIT_MIN(HOST_CPUS), LIMIT_MAX(HOST_CPUS));
    if (row->offset == offsetof(struct settings, max_body_mb))
        return within(memory_mb / 256, LIMIT_MIN(HOST_BODY_MB), LIMIT_MAX(HOST_BODY_MB));
    if (row->offset == offsetof(struct settings, volume_mb) || row->offset == offsetof(struct settings, shared_disk_mb))
        return SETTINGS_BY_DISK;
    return -1;
}

int settings_set(struct settings *s, const struct settings_row *row, const char *text, struct err *err)
{
    void *slot = slot_of(s, row);
    if (is_text(row)) {
        size_t n = strlen(text);
        if (n < (size_t)row->min || n > (size_t)row->max)
            return err_set(err, ERR_INVALID, 0, "%s: %zu bytes long, allowed are %lld to %lld", row->field, n,
                           (long long)row->min, (long long)row->max);
        free(*(char **)slot);
        *(char **)slot = xstrdup(text);
        return 0;
    }
    if (row->type == TYPE_BOOL) {
        bool is_on = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
        if (!is_on && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
            return err_set(err, ERR_INVALID, 0, "%s: \"%s\" is neither true nor false", row->field, text);
        *(bool *)slot = is_on;
        return 0;
    }
    char *end;
    errno = 0;
    long long v = strcmp(text, "host") == 0 ? host_value(row) : -1;
    if (v >= 0) {
        *(int64_t *)slot = v;
        return 0;
    }
    v = strtoll(text, &end, 10);
    if (errno || end == text || *end || isspace((unsigned char)*text))
        return err_set(err, ERR_INVALID, 0, "%s: \"%s\" is not a whole number", row->field, text);
    if (v < row->min || v > row->max)
        return err_set(err, ERR_INVALID, 0, "%s: %lld is not between %lld and %lld", row->field, v, (long long)row->min,
                       (long long)row->max);
    *(int64_t *)slot = v;
    return 0;
}

void settings_from_env(struct settings *s, void (*warn)(void *arg, const char *text), void *arg)
{
    for (const struct settings_row *row = settings_rows; row->field; row++) {
        const char *text = getenv(row->env);
        struct err err = ERR_INIT;
        if (!text || !*text)
            continue;
        if (settings_set(s, row, text, &err) < 0 && warn) {
            (void)err_wrap(&err, 0, "%s", row->env);
            warn(arg, err.msg);
        }
    }
}
