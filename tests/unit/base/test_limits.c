/* Rows of limits.def make sense, and the settings that share a number with one have that number. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/settings.h"
#include "tap.h"

static const struct {
    const char *name, *min, *max, *usual, *what;
} rows[] = {
#define ROW(row, min, max, usual, unit, what) { #row, #min, #max, #usual, what },
    LIMITS_EACH(ROW)
#undef ROW
};

static bool is_number(const char *text)
{
    char *end;
    (void)strtod(text, &end);
    return end != text && *end == '\0';
}

TEST(every_row_has_a_largest_value_and_a_default_inside_its_bounds)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double min = strtod(rows[i].min, NULL), max = strtod(rows[i].max, NULL), usual = strtod(rows[i].usual, NULL);
        bool is_good = is_number(rows[i].max) && (!*rows[i].min || (is_number(rows[i].min) && min < max)) &&
                       (!*rows[i].usual || (is_number(rows[i].usual) && usual <= max && (usual == 0 || usual >= min)));
        if (!is_good)
            printf("# %s: %s to %s, default %s\n", rows[i].name, rows[i].min, rows[i].max, rows[i].usual);
        CHECK(is_good);
        CHECK(rows[i].what[0] >= 'A' && rows[i].what[0] <= 'Z');
    }
}

TEST(a_row_is_read_by_its_name)
{
    CHECK_INT(LIMIT_MIN(MEMORY_MB), 64);
    CHECK_INT(LIMIT_MAX(MEMORY_MB), 16777216);
    CHECK_INT(LIMIT_DEFAULT(MEMORY_MB), 512);
    CHECK_STR(LIMIT_DEFAULT_TEXT(MEMORY_MB), "512");
    CHECK(LIMIT_MIN(CPU) == 0.5);
}

int main(void)
{
    RUN(every_row_has_a_largest_value_and_a_default_inside_its_bounds);
    RUN(a_row_is_read_by_its_name);
    return tap_done();
}
