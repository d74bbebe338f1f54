#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

static enum log_level max_level = LOG_INFO;
static int as_json;

static const char *const level_names[] = { "error", "warn", "info", "debug" };

void log_setup(enum log_level max, int is_json)
{
    max_level = max;
    as_json = is_json;
}

int log_level_parse(const char *name, enum log_level *ret)
{
    for (unsigned i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *ret = (enum log_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

static bool is_plain(const char *v)
{
    if (!*v)
        return false;
    for (; *v; v++)
        if ((unsigned char)*v <= ' ' || *v == '"' || *v == '=' || *v == '\\' || *v == 0x7f)
            return false;
    return true;
}

static void add_quoted(struct buf *b, const char *v)
{
    (void)buf_add_char(b, '"');
    for (; *v; v++) {
        unsigned char c = (unsigned char)*v;
        if (c == '"' || c == '\\')
            (void)buf_addf(b, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)buf_addf(b, "\\u%04x", c);
        else
            (void)buf_add_char(b, (char)c);
    }
    (void)buf_add_char(b, '"');
}

static void add_pair(struct buf *b, const char *k, const char *v)
{
    if (!v)
        v = "-";
    if (as_json) {
        (void)buf_addf(b, "%s\"%s\":", b->len > 1 ? "," : "", k);
        add_quoted(b, v);
    } else {
        (void)buf_addf(b, "%s%s=", b->len ? " " : "", k);
        if (is_plain(v))
            (void)buf_add_str(b, v);
        else
            add_quoted(b, v);
    }
}

static void line_begin(struct buf *b, enum log_level level, const char *evt)
{
    struct timespec now;
    struct tm tm;
    char ts[40], ms[8];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    (void)strftime(ts, sizeof(ts) - sizeof(ms), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(ms, sizeof(ms), ".%03dZ", (int)(now.tv_nsec / 1000000));
    strncat(ts, ms, sizeof(ts) - strlen(ts) - 1);
    if (as_json)
        (void)buf_add_char(b, '{');
    add_pair(b, "ts", ts);
    add_pair(b, "level", level_names[level]);
    add_pair(b, "evt", evt);
}

static void line_finish(struct buf *b)
{
    if (as_json)
        (void)buf_add_char(b, '}');
    (void)buf_add_char(b, '\n');
    if (b->data)
        (void)!write(STDERR_FILENO, b->data, b->len); /* a log that cannot be written is dropped */
    buf_done(b);
}

void log_event(enum log_level level, const char *evt, ...)
{
    if (level > max_level)
        return;
    struct buf b = BUF_INIT(16384);
    line_begin(&b, level, evt);
    va_list ap;
    va_start(ap, evt);
    for (const char *k = va_arg(ap, const char *); k; k = va_arg(ap, const char *))
        add_pair(&b, k, va_arg(ap, const char *));
    va_end(ap);
    line_finish(&b);
}

void log_msg(enum log_level level, const char *evt, const char *fmt, ...)
{
    if (level > max_level)
        return;
    char msg[2048];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    struct buf b = BUF_INIT(16384);
    line_begin(&b, level, evt);
    add_pair(&b, "msg", msg);
    line_finish(&b);
}
