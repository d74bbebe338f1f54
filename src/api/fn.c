/* The set of functions: registration, and one call from the engine to its handler. */
#include "api/fn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/access.h"
#include "api/api_core.h"
#include "api/engine_entry.h"
#include "api/fn_args.h"
#include "api/fn_handlers.h"
#include "api/fn_schema.h"
#include "base/alloc.h"
#include "base/log.h"
#include "sandbox/lifecycle/idle.h"

struct fn_entry {
    struct fn_set *set;
    const struct fn_row *row;
};

#define EXEC_FIELDS   "cmd:string args:list argv:list stdin:string env:any timeout_ms:integer workdir:string"
#define CREATE_FIELDS "cpus:integer memory_mb:integer name:string network:boolean idle_timeout_secs:integer"
#define EXEC_ANSWER                                                                             \
    "stdout:string! stderr:string! exit_code:integer! timed_out:boolean! duration_ms:integer! " \
    "success:boolean! stdout_truncated:boolean! stderr_truncated:boolean!"
#define ENTRY_ANSWER "name:string! is_dir:boolean! size:integer! mode:string! mtime:integer! is_symlink:boolean!"
#define TEXT_FIELDS  "recursive:boolean ignore_case:boolean include_glob:list exclude_glob:list"

const struct fn_row fn_rows[] = {
    { "sandbox::run", fn_run_start, true, "Create a sandbox, write files, run code in it and stop it, in one call",
      "image:string! code:string! lang:string files:list env:any stdin:string timeout_ms:integer keep_sandbox:boolean "
      "workdir:string " CREATE_FIELDS,
      EXEC_ANSWER " sandbox_id:string" },
    { "sandbox::create", fn_life_create, true, "Boot a sandbox and return its id",
      "image:string! env:any " CREATE_FIELDS, "sandbox_id:string! image:string!" },
    { "sandbox::exec", fn_exec_start, true, "Run one command in a sandbox",
      "sandbox_id:string! " EXEC_FIELDS " stream:object", EXEC_ANSWER " streamed:boolean" },
    { "sandbox::stop", fn_life_stop, true, "Destroy a sandbox", "sandbox_id:string! wait:boolean",
      "sandbox_id:string! stopped:boolean!" },
    { "sandbox::list", fn_life_list, false, "List live sandboxes", "", "sandboxes:list!" },
    { "sandbox::catalog::list", fn_life_catalog, false, "List the images that can be named", "", "images:list!" },
    { "sandbox::fs::write", fn_write_start, true, "Write a file: text, base64 or a channel",
      "sandbox_id:string! path:string! content:any content_b64:string mode:string parents:boolean",
      "bytes_written:integer! path:string!" },
    { "sandbox::fs::read", fn_read_start, false, "Read a file through a channel, and at once when it is small text",
      "sandbox_id:string! path:string!", "content:object! body:string size:integer! mode:string! mtime:integer!" },
    { "sandbox::fs::ls", fn_files_ls, false, "List a directory", "sandbox_id:string! path:string!", "entries:list!" },
    { "sandbox::fs::stat", fn_files_stat, false, "Describe a file, directory or link",
      "sandbox_id:string! path:string!", ENTRY_ANSWER },
    { "sandbox::fs::mkdir", fn_files_mkdir, true, "Make a directory",
      "sandbox_id:string! path:string! mode:string parents:boolean", "created:boolean!" },
    { "sandbox::fs::rm", fn_files_rm, true, "Remove a file or directory",
      "sandbox_id:string! path:string! recursive:boolean", "removed:boolean!" },
    { "sandbox::fs::mv", fn_files_mv, true, "Rename a file or directory",
      "sandbox_id:string! src:string! dst:string! overwrite:boolean", "moved:boolean!" },
    { "sandbox::fs::chmod", fn_files_chmod, true, "Change mode and owner",
      "sandbox_id:string! path:string! mode:string! uid:integer gid:integer recursive:boolean", "updated:integer!" },
    { "sandbox::fs::grep", fn_text_grep, false, "Find lines that match a regular expression",
      "sandbox_id:string! path:string! pattern:string! max_matches:integer max_line_bytes:integer " TEXT_FIELDS,
      "matches:list! truncated:boolean!" },
    { "sandbox::fs::sed", fn_text_sed, true, "Replace what matches a regular expression",
      "sandbox_id:string! files:list path:string pattern:string! replacement:string! regex:boolean "
      "first_only:boolean " TEXT_FIELDS,
      "results:list! total_replacements:integer!" },
    { 0 },
};

/* --- sandboxes --- */

struct sandbox *fn_find(struct fn_call *c)
{
    struct err err = ERR_INIT;
    struct sandbox *s = access_sandbox(c->set->manager, c->who, c->sandbox_id, &err);
    if (!s) {
        (void)fn_set_fault(c, "S002", "sandbox not found: %s", c->sandbox_id);
        return NULL;
    }
    if (s->status == SANDBOX_PAUSED) {
        (void)fn_set_fault(c, "S004", "sandbox is paused: %s: resume it first", c->sandbox_id);
        return NULL;
    }
    if (s->is_ending || sandbox_need_running(s, &err) < 0) {
        (void)fn_set_fault(c, "S004", "sandbox already stopped: %s", c->sandbox_id);
        return NULL;
    }
    idle_touch(s);
    return s;
}

struct sandbox *fn_take_sandbox(struct fn_call *c)
{
    struct sandbox *s = fn_find(c);
    if (!s)
        fn_fail_fault(c);
    return s;
}

/* Sandboxes of the functions carry {"engine": {image, name}} in their record. */
static void on_enter(void *arg, struct sandbox *s)
{
    struct fn_set *f = arg;
    f->n_made += json_get(s->extra, "engine") != NULL;
}

static void on_leave(void *arg, struct sandbox *s)
{
    struct fn_set *f = arg;
    f->n_made -= json_get(s->extra, "engine") != NULL;
}

/* --- calls --- */

static struct fn_call *call_new(struct fn_set *f, const struct fn_row *row, json_t *in, struct caller *who,
                                struct fn_policy *policy)
{
    struct fn_call *c = xzalloc(sizeof(*c));
    *c = (struct fn_call){ .set = f, .row = row, .in = in, .begun_us = loop_now_ms(f->manager->loop) * 1000 };
    c->who = who ? caller_ref(who) : NULL;
    c->policy = fn_policy_ref(policy);
    return c;
}

/* In strict mode the log has it before it is done. */
static int begin_record(const struct fn_call *c, struct err *err)
{
    struct audit_line line = { .who = c->who, .remote = engine_call_peer(c->engine_call), .operation = c->row->id };
    return c->row->is_write && audit_is_strict(c->set->audit) ? audit_add(c->set->audit, &line, err) : 0;
}

static void on_call(void *arg, struct engine_call *ec, json_t *payload)
{
    const struct fn_entry *d = arg;
    bool is_object = json_is_object(payload);
    struct err err = ERR_INIT;
    CLEANUP(caller_unref_p) struct caller *who = NULL;
    bool is_in = engine_entry_admit(d->set->api, ec, &who, &err) == 0;
    struct fn_call *c = call_new(d->set, d->row, is_object ? json_copy(payload) : json_object(), who, d->set->policy);
    c->engine_call = ec;
    if (!is_in)
        fn_fail(c, err.code == ERR_RATE_LIMITED ? "S400" : "S001", "%s", err.msg);
    else if (access_need(who, d->row->is_write, false, d->row->id, &err) < 0)
        fn_fail(c, "S001", "%s", err.msg);
    else if (begin_record(c, &err) < 0)
        fn_fail(c, "S300", "%s", err.msg);
    else if (payload && !is_object && !json_is_null(payload))
        fn_fail(c, "S001", "invalid request: the payload must be an object");
    else
        d->row->fn(c);
}

void fn_step(struct fn_call *of, const char *id, json_t *in, fn_done_fn *done, void *arg)
{
    const struct fn_row *row = fn_rows;
    while (strcmp(row->id, id) != 0)
        row++;
    struct fn_call *c = call_new(of->set, row, in, of->who, of->policy);
    c->done = done;
    c->arg = arg;
    row->fn(c);
}

static void warn_no_slot(const struct settings *s)
{
    if (s->fn_max_execs == 0)
        log_event(LOG_WARN, "config", "msg", "max_concurrent_exec_per_sandbox is 0: 1 is used", NULL);
}

int fn_reload(struct fn_set *f, const struct settings *s, struct err *err)
{
    struct fn_policy *next = NULL;
    int r = fn_policy_new(s, &next, err);
    if (r < 0)
        return r;
    if (next->idle_scan_ms != f->policy->idle_scan_ms)
        idle_scan_every(f->manager->idle, next->idle_scan_ms);
    warn_no_slot(s);
    (void)fn_policy_unref(f->policy);
    f->policy = next;
    return 0;
}

int fn_new(struct engine *e, struct manager *m, struct api *a, struct fn_set **ret, struct err *err)
{
    struct fn_set *f = xzalloc(sizeof(*f));
    int r = fn_policy_new(m->settings, &f->policy, err);
    if (r < 0) {
        free(f);
        return r;
    }
    f->engine = e;
    f->manager = m;
    f->api = a;
    f->audit = a->audit;
    f->entries = xzalloc(sizeof(fn_rows) / sizeof(fn_rows[0]) * sizeof(*f->entries));
    for (size_t i = 0; fn_rows[i].id; i++) {
        JSON_OWNED request = fn_schema_make(fn_rows[i].fields);
        JSON_OWNED answer = fn_schema_make(fn_rows[i].answer);
        struct engine_about about = {
            .description = fn_rows[i].help, .request_schema = request, .response_schema = answer, .checks_caller = true
        };
        f->entries[i] = (struct fn_entry){ f, &fn_rows[i] };
        engine_add_function(e, fn_rows[i].id, &about, on_call, &f->entries[i]);
    }
    manager_on_enter(m, on_enter, f);
    manager_on_leave(m, on_leave, f);
    warn_no_slot(m->settings);
    *ret = f;
    return 0;
}

struct fn_set *fn_free(struct fn_set *f)
{
    if (!f)
        return NULL;
    (void)fn_policy_unref(f->policy);
    free(f->entries);
    free(f);
    return NULL;
}
