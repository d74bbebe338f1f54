#include "main/config/reload.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "main/config/config_keeper.h"
#include "main/config/config_reader.h"
#include "main/privilege/privilege.h"

#define NAMES_MAX 16384u /* of all rows together */

struct reload {
    const struct config *from;
    struct settings *settings;
    struct engine_port *engine;
    struct config_keeper *keep;
    struct buf seen;    /* the text that was last applied or rejected */
    struct buf waiting; /* keys already reported to need a restart */
};

static bool is_live(const struct settings_row *row)
{
    return strncmp(row->yaml, "functions.", strlen("functions.")) == 0;
}

/* Lists the keys in which two settings differ, separated by commas. */
static void list_changes(const struct settings *a, const struct settings *b, bool is_live_wanted, struct buf *out)
{
    for (const struct settings_row *row = settings_rows; row->field; row++)
        if (is_live(row) == is_live_wanted && !settings_is_same(a, b, row))
            (void)buf_addf(out, "%s%s", out->len ? "," : "", row->yaml); /* all of them fit */
}

static void reload_file(void *arg, const char *text, size_t len, bool is_asked)
{
    struct reload *r = arg;
    bool is_seen = len == r->seen.len && memcmp(text, buf_text(&r->seen), len) == 0;
    if (is_seen && !is_asked)
        return;
    buf_clear(&r->seen);
    (void)buf_add(&r->seen, text, len); /* the reader limits its size */
    CLEANUP(buf_done) struct buf names = BUF_INIT(NAMES_MAX);
    struct err err = ERR_INIT;
    struct settings next;
    int result = config_again(r->from, text, len, &next, &err);
    if (result == 0 && (result = engine_port_reload(r->engine, &next, &err)) < 0)
        settings_done(&next);
    if (result < 0) {
        log_event(LOG_ERROR, "config.refused", "at", r->from->path, "error", err.msg, "then",
                  "the previous settings stay in effect", NULL);
        return;
    }
    list_changes(r->settings, &next, true, &names);
    for (const struct settings_row *row = settings_rows; row->field; row++)
        if (is_live(row))
            settings_swap(r->settings, &next, row); /* nothing keeps a pointer to them: fn_policy.h */
    log_event(LOG_INFO, "config.reloaded", "at", r->from->path, "changed", names.len ? buf_text(&names) : "nothing",
              NULL);
    struct buf waiting = BUF_INIT(NAMES_MAX);
    list_changes(&r->from->started, &next, false, &waiting);
    if (waiting.len && strcmp(buf_text(&waiting), buf_text(&r->waiting)) != 0)
        log_event(LOG_WARN, "config.restart", "at", r->from->path, "keys", buf_text(&waiting), "msg",
                  "changed; a restart is needed", NULL);
    buf_done(&r->waiting);
    r->waiting = waiting;
    settings_done(&next);
}

static void reload_trouble(void *arg, const char *text)
{
    const struct reload *r = arg;
    log_event(LOG_WARN, "config.reader", "at", r->from->path, "msg", text, "then",
              "the previous settings stay in effect", NULL);
}

struct reload *reload_new(struct loop *l, const struct config *from, struct settings *s, struct engine_port *engine,
                          struct keeper *keeper)
{
    CLEANUP(buf_done) struct buf changed = BUF_INIT(NAMES_MAX);
    struct reload *r = xzalloc(sizeof(*r));
    const struct config_keeper_events events = { .on_file = reload_file, .on_trouble = reload_trouble, .arg = r };
    *r = (struct reload){ .from = from,
                          .settings = s,
                          .engine = engine,
                          .seen = BUF_INIT(CONFIG_READER_FILE_MAX),
                          .waiting = BUF_INIT(NAMES_MAX) };
    list_changes(&from->started, s, true, &changed);
    if (changed.len == 0) /* otherwise a handover has failed after a change: check the file again */
        (void)buf_add(&r->seen, from->text, from->len);
    r->keep = config_keeper_new(l, keeper, PRIVILEGE_CONFIG, &events);
    return r;
}

void reload_ask(struct reload *r)
{
    config_keeper_ask(r->keep);
}

struct reload *reload_free(struct reload *r)
{
    if (r) {
        (void)config_keeper_free(r->keep);
        buf_done(&r->seen);
        buf_done(&r->waiting);
        free(r);
    }
    return NULL;
}
