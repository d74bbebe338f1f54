#include "engine/cron_trigger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/trigger.h"
#include "loop/crontimer.h"

#define STAMP_MAX 40

struct job {
    struct engine *engine;
    struct binding *binding;
    struct cron when;
    struct crontimer *timer;
    int64_t due_ms; /* scheduled time of the next call */
};

static void stamp(int64_t ms, char out[STAMP_MAX])
{
    time_t s = (time_t)(ms / 1000);
    struct tm tm;
    char text[32];
    (void)gmtime_r(&s, &tm);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, STAMP_MAX, "%s.%03dZ", text, (int)(ms % 1000));
}

static void cron_fire(void *arg)
{
    struct job *j = arg;
    char meant[STAMP_MAX], actual[STAMP_MAX];
    int64_t now = clock_wall_ms();
    stamp(j->due_ms, meant);
    stamp(now, actual);
    j->due_ms = cron_next(&j->when, now);
    JSON_OWNED payload = json_pack("{s:s, s:s, s:s, s:s}", "trigger", "cron", "job_id", j->binding->id,
                                   "scheduled_time", meant, "actual_time", actual);
    trigger_fire(j->engine, j->binding, payload, NULL, NULL); /* last: it may unbind this binding */
}

/* The contract's expressions start with seconds and may end with a year, of which only * is supported. */
static int cron_parse_contract(const char *text, struct cron *ret, struct err *err)
{
    CLEANUP(free_p) char *copy = xstrdup(text);
    size_t fields = 0;
    char *end = copy + strlen(copy);
    for (char *at = copy; *at;) {
        at += strspn(at, " \t");
        if (*at && ++fields == 7)
            end = at;
        at += strcspn(at, " \t");
    }
    if (fields == 7 && strcmp(end, "*") != 0)
        return err_set(err, ERR_INVALID, 0, "cron expression \"%.64s\": the year (seventh field) can only be *", text);
    *end = '\0';
    return cron_parse(copy, ret, err);
}

static int cron_bind(struct engine *e, struct binding *b, struct err *err)
{
    struct cron when;
    const char *text = trigger_config_str(b, "expression", NULL);
    if (!text)
        return err_set(err, ERR_INVALID, 0, "a cron trigger needs config.expression, seconds first: \"0 */5 * * * *\"");
    int r = cron_parse_contract(text, &when, err);
    if (r < 0)
        return r;
    struct job *j = xzalloc(sizeof(*j));
    *j = (struct job){ .engine = e, .binding = b, .when = when, .due_ms = cron_next(&when, clock_wall_ms()) };
    j->timer = crontimer_new(e->loop, &when, cron_fire, j);
    b->state = j;
    return 0;
}

static void cron_unbind(struct engine *e, struct binding *b)
{
    struct job *j = STEAL(b->state);
    (void)e;
    crontimer_free(j->timer);
    free(j);
}

static const struct trigger_provider cron_type = {
    .type = "cron",
    .description = "Calls at the times of a cron expression (seconds first, UTC)",
    .bind = cron_bind,
    .unbind = cron_unbind,
};

void cron_trigger_init(struct engine *e)
{
    trigger_add_provider(e, &cron_type);
}
