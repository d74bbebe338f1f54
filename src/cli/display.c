#include "cli/display.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"

enum { BAR_WIDTH = 30, BAR_EVERY_US = 100000 };

bool display_is_terminal(FILE *to)
{
    const char *term = getenv("TERM"), *none = getenv("NO_COLOR");
    return isatty(fileno(to)) && !(none && *none) && !(term && strcmp(term, "dumb") == 0);
}

const char *display_on(FILE *to, enum display_colour colour)
{
    static const char *const sequences[] = { "", "\033[1m", "\033[2m", "\033[32m", "\033[31m" };
    return display_is_terminal(to) ? sequences[colour] : "";
}

const char *display_off(FILE *to)
{
    return display_is_terminal(to) ? "\033[0m" : "";
}

/* Control characters (C0, DEL, C1) and those that reorder text on the screen. */
static bool is_harmful(const unsigned char *p, size_t len)
{
    if (len == 1)
        return p[0] < 0x20 || p[0] == 0x7f;
    if (len == 2)
        return (p[0] == 0xc2 && p[1] < 0xa0) || (p[0] == 0xd8 && p[1] == 0x9c); /* C1; Arabic letter mark */
    if (len == 3 && p[0] == 0xe2 && p[1] == 0x80)                               /* 200e 200f 2028-202e */
        return p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae);
    return len == 3 && p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9; /* 2066-2069 */
}

char *display_clean(const char *text)
{
    struct buf out = BUF_INIT(SIZE_MAX / 2);
    size_t left = strlen(text);
    while (left > 0) {
        size_t step = utf8_step(text, left);
        size_t n = step ? step : 1;
        if (*text == '\n' || *text == '\t')
            (void)buf_add_char(&out, ' ');
        else if (step && !is_harmful((const unsigned char *)text, step))
            (void)buf_add(&out, text, step);
        text += n;
        left -= n;
    }
    return buf_steal(&out, NULL);
}

const char *display_size(int64_t bytes, char ret[16])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(ret, 16, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return ret;
}

const char *display_span(int64_t ms, const char *ending, char ret[32])
{
    static const struct {
        const char *unit;
        int64_t s;
    } units[] = { { "second", 1 }, { "minute", 60 }, { "hour", 3600 }, { "day", 86400 } };
    size_t i = 0;
    while (i + 1 < sizeof(units) / sizeof(*units) && ms / 1000 >= 2 * units[i + 1].s)
        i++;
    int64_t n = ms / 1000 / units[i].s;
    (void)snprintf(ret, 32, n > 0 ? "%lld %s%s%s" : "now", (long long)n, units[i].unit, n == 1 ? "" : "s", ending);
    return ret;
}

void display_bar_start(struct display_bar *b, const char *label, int64_t total)
{
    *b = (struct display_bar){
        .label = label, .total = total, .is_shown = isatty(STDERR_FILENO), .last_us = clock_mono_us()
    };
}

void display_bar_move(struct display_bar *b, int64_t done)
{
    int64_t now = clock_mono_us();
    char size[16], whole[16], bar[BAR_WIDTH + 1];
    if (!b->is_shown || now - b->last_us < BAR_EVERY_US)
        return;
    b->last_us = now;
    b->is_drawn = true;
    if (b->total <= 0) {
        (void)fprintf(stderr, "\r\033[K%s  %s", b->label, display_size(done, size));
        return;
    }
    int64_t capped = done < b->total ? done : b->total;
    size_t full = (size_t)(capped * BAR_WIDTH / b->total);
    memset(bar, '#', full);
    memset(bar + full, '.', BAR_WIDTH - full);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r\033[K%s  [%s] %3d%%  %s of %s", b->label, bar, (int)(capped * 100 / b->total),
                  display_size(done, size), display_size(b->total, whole));
}

void display_bar_end(struct display_bar *b)
{
    if (b->is_drawn)
        (void)fprintf(stderr, "\r\033[K");
    b->is_drawn = false;
}

void display_warnings(const json_t *warnings)
{
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *text = json_string_value(json_array_get(warnings, i));
        CLEANUP(free_p) char *clean = display_clean(text ? text : "");
        (void)fprintf(stderr, "%swarning:%s %s\n", display_on(stderr, DISPLAY_BOLD), display_off(stderr), clean);
    }
}

void display_json(const json_t *value, FILE *to)
{
    (void)json_dumpf(value, to, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    (void)fputc('\n', to);
}
