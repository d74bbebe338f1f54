/* The server's settings as one struct, made from settings.def. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SETTINGS_TYPE_STR  char *
#define SETTINGS_TYPE_INT  int64_t
#define SETTINGS_TYPE_BOOL bool
#define SETTINGS_TYPE_JSON char * /* text; a configuration file may also have it as a mapping */

/* The value of "host" where it comes from the disk of the data folder, which is not known yet: limits_by_disk(). */
#define SETTINGS_BY_DISK INT64_MAX

struct settings {
#define S(field, type, env, flag, yaml, def, min, max, help) SETTINGS_TYPE_##type field;
#include "base/settings.def"
#undef S
};

struct settings_row {
    const char *field, *env, *flag, *yaml, *fallback, *help;
    char type; /* 's', 'i', 'b', 'j' */
    int64_t min, max;
    size_t offset;
};
extern const struct settings_row settings_rows[]; /* ended by field NULL */

void settings_init(struct settings *s); /* defaults */
void settings_done(struct settings *s);
void settings_copy(struct settings *to, const struct settings *from); /* to is taken as empty */
bool settings_is_same(const struct settings *a, const struct settings *b, const struct settings_row *row);
void settings_swap(struct settings *a, struct settings *b, const struct settings_row *row); /* one row's values */
/* Sets one row from text. -EINVAL: unchanged, err names the row, the value and what is allowed. */
int settings_set(struct settings *s, const struct settings_row *row, const char *text, struct err *err);
/* All rows from the environment: an empty string counts as unset; values that do not parse are left at the default and
 * reported one by one through warn (may be NULL). */
void settings_from_env(struct settings *s, void (*warn)(void *arg, const char *text), void *arg);
