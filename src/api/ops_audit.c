/* Handlers of the audit log. A pool thread reads its files: they may hold as much as the settings allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_core.h"
#include "api/audit.h"
#include "api/call.h"
#include "api/handlers.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "sandbox/lifecycle/offload.h"
#include "store/audit_file.h"

#define READERS_MAX 8 /* at the same time: each may read all files */
#define TRIES       3 /* the server writes while it is checked: what is torn then is whole the next time */

struct reading {
    struct call *c;
    int (*work)(struct reading *r);
    char *dir, *operation, *by, *tenant; /* all but dir may be NULL */
    int64_t status, since, before;       /* -1: any */
    char **kept;                         /* ring of the last `most` lines that match */
    size_t most, n;
    json_t *answer;
    int result;
    struct err err;
};

static void reading_free(struct reading *r)
{
    for (size_t i = 0; i < r->most; i++)
        free(r->kept[i]);
    free(r->kept);
    free(r->dir);
    free(r->operation);
    free(r->by);
    free(r->tenant);
    json_decref(r->answer);
    free(r);
}

static bool is_or_any(const char *wanted, const json_t *j, const char *name)
{
    return !wanted || strcmp(json_get_str(j, name, ""), wanted) == 0;
}

static bool is_wanted(const struct reading *r, const json_t *j)
{
    const char *operation = json_get_str(j, "operation", "");
    return (!r->operation || strncmp(operation, r->operation, strlen(r->operation)) == 0) &&
           (is_or_any(r->by, j, "token") || is_or_any(r->by, j, "name")) && is_or_any(r->tenant, j, "tenant") &&
           (r->status < 0 || json_get_int(j, "status", -1) == r->status) && json_get_int(j, "time", 0) >= r->since &&
           (r->before < 0 || json_get_int(j, "seq", 0) < r->before);
}

static bool take_line(void *arg, const char *line, size_t len)
{
    struct reading *r = arg;
    JSON_OWNED j = NULL;
    if (json_read(line, len, &j, NULL) < 0 || !is_wanted(r, j))
        return true; /* not whole yet, or damaged: audit_verify reports it */
    if (r->most) {   /* a limit of 0: only their number */
        char **slot = &r->kept[r->n % r->most];
        free(*slot);
        *slot = xstrndup(line, len);
    }
    r->n++;
    return true;
}

static int work_list(struct reading *r)
{
    int e = audit_file_each(r->dir, take_line, r, &r->err);
    if (e < 0)
        return e;
    json_t *lines = json_array();
    for (size_t i = 0; i < r->n && i < r->most; i++) {
        const char *line = r->kept[(r->n - 1 - i) % r->most];
        json_t *j = NULL;
        if (json_read(line, strlen(line), &j, NULL) == 0)
            (void)json_array_append_new(lines, j);
    }
    r->answer = json_pack("{s:o, s:I}", "lines", lines, "total", (json_int_t)r->n);
    return 0;
}

static int work_verify(struct reading *r)
{
    struct audit_file_verdict v = { 0 };
    int e = -1;
    for (int i = 0; e < 0 && i < TRIES; i++) {
        r->err = (struct err)ERR_INIT;
        e = audit_file_verify(r->dir, &v, &r->err);
    }
    r->answer =
        e < 0 ? json_pack("{s:b, s:s}", "intact", 0, "problem", r->err.msg)
              : json_pack("{s:b, s:I, s:I, s:I, s:s, s:b}", "intact", 1, "lines", (json_int_t)v.lines, "first",
                          (json_int_t)v.first, "last", (json_int_t)v.last, "head", v.head, "trimmed", v.is_trimmed);
    return 0;
}

static void on_work(void *arg)
{
    struct reading *r = arg;
    r->result = r->work(r);
}

static void on_read(void *arg)
{
    struct reading *r = arg;
    call_api(r->c)->n_audit_readers--;
    if (r->result < 0)
        call_fail(r->c, &r->err);
    else
        call_ok(r->c, STEAL(r->answer));
    reading_free(r);
}

static void reading_start(struct reading *r)
{
    struct api *a = call_api(r->c);
    if (!a->audit || !keyring_dir(a->keys))
        call_error(r->c, ERR_UNSUPPORTED, "this server keeps no audit log: set III_AUDIT=true (audit.enabled)");
    else if (a->n_audit_readers >= READERS_MAX)
        call_error(r->c, ERR_CAPACITY, "limit of %d calls that read the audit log reached: try again", READERS_MAX);
    else if (offload_run(call_manager(r->c), on_work, on_read, r) < 0)
        call_error(r->c, ERR_CAPACITY, "no worker thread to read the audit log: try again");
    else {
        a->n_audit_readers++;
        return;
    }
    reading_free(r);
}

static struct reading *reading_new(struct call *c, int (*work)(struct reading *r), size_t most)
{
    struct reading *r = xzalloc(sizeof(*r));
    r->c = c;
    r->work = work;
    r->dir = xstrdup(keyring_dir(call_api(c)->keys));
    r->most = most;
    r->kept = xzalloc((most + 1) * sizeof(*r->kept));
    return r;
}

void api_audit_list(struct call *c)
{
    struct reading *r = reading_new(c, work_list, (size_t)call_int(c, "limit", LIMIT_DEFAULT(ENTRIES)));
    r->operation = xstrdup(call_str(c, "operation", NULL));
    r->by = xstrdup(call_str(c, "by", NULL));
    r->tenant = xstrdup(call_str(c, "tenant", NULL));
    r->status = call_int(c, "status", -1);
    r->since = call_int(c, "since", 0);
    r->before = call_int(c, "before", -1);
    reading_start(r);
}

void api_audit_verify(struct call *c)
{
    reading_start(reading_new(c, work_verify, 0));
}
