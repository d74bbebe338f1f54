/* The S-codes: what each means, and the envelope a failing call answers with. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/audit.h"
#include "api/fn_core.h"
#include "base/alloc.h"
#include "base/log.h"

#define DOCS_URL "docs/errors.md#"

static const struct code {
    const char *code, *type, *note;
    bool is_retryable;
} codes[] = {
    { "S001", "validation", NULL, false },
    { "S002", "validation", "create one first with sandbox::create", false },
    { "S003", "validation",
      "waiting does not help while foreground processes hold the slots: detach long work with `nohup ... >/dev/null "
      "2>&1 &`, "
      "or use sandbox::stop and sandbox::create",
      false },
    { "S004", "validation", "create a new one with sandbox::create", false },
    { "S100", "config", "pick a listed image, or add it to image_allowlist in the configuration", false },
    { "S101", "internal",
      "the operator must pull the image first, or let it be pulled (auto_install: true, III_PULL=missing)", false },
    { "S102", "transient", "retry later", true },
    { "S200", "execution", "raise timeout_ms, or split the work", false },
    { "S210", "filesystem", NULL, false },
    { "S211", "filesystem", NULL, false },
    { "S212", "filesystem", NULL, false },
    { "S213", "filesystem", NULL, false },
    { "S214", "filesystem", "pass recursive: true to remove it with all it holds", false },
    { "S215", "filesystem", NULL, false },
    { "S216", "filesystem", NULL, false },
    { "S217", "filesystem", NULL, false },
    { "S218", "transient", "open a new channel and write again", true },
    { "S219", "filesystem", "create a new sandbox: its agent will be of this version", false },
    { "S300", "platform", "not recoverable by the caller", false },
    { "S400", "config", "stop a sandbox or ask for less; the limits are the operator's", false },
};

static const struct code *find_code(const char *code)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i].code, code) == 0)
            return &codes[i];
    return &codes[0];
}

json_t *fn_fault_json(const struct fn_fault *f)
{
    const struct code *about = find_code(f->code);
    const char *note = f->note ? f->note : f->has_no_note ? NULL : about->note;
    CLEANUP(free_p) char *url = xasprintf(DOCS_URL "%s", f->code);
    json_t *j = json_pack("{s:s, s:s, s:O?, s:s?, s:o, s:b, s:s}", "code", f->code, "docs_url", url, "fix", f->fix,
                          "fix_note", note, "message", json_text(f->message, strlen(f->message)), "retryable",
                          about->is_retryable, "type", about->type);
    if (f->extra)
        (void)json_object_update_missing(j, f->extra);
    return j;
}

static void log_call(const struct fn_call *c, int64_t ms)
{
    char duration[24];
    const struct fn_fault *f = &c->fault;
    (void)snprintf(duration, sizeof(duration), "%lld", (long long)ms);
    if (!f->code) {
        log_event(LOG_INFO, "function.call", "function_id", c->row->id, "sandbox_id", c->sandbox_id, "success", "true",
                  "duration_ms", duration, NULL);
        return;
    }
    const struct code *about = find_code(f->code);
    log_event(LOG_INFO, "function.call", "function_id", c->row->id, "sandbox_id", c->sandbox_id, "success", "false",
              "error_code", f->code, "error_type", about->type, "retryable", about->is_retryable ? "true" : "false",
              "duration_ms", duration, NULL);
}

/* What it did, for the audit log; in strict mode before it is answered. */
static void record(const struct fn_call *c)
{
    json_t *target = json_object();
    if (*c->sandbox_id)
        (void)json_object_set_new(target, "sandboxId", json_string(c->sandbox_id));
    struct audit_line line = { .who = c->who,
                               .remote = engine_call_peer(c->engine_call),
                               .operation = c->row->id,
                               .target = target,
                               .status = c->fault.code ? 400 : 200,
                               .code = c->fault.code };
    (void)audit_add(c->set->audit, &line, NULL); /* fn.c asked before the work began whether it can be written */
}

static void finish(struct fn_call *c, json_t *result)
{
    bool is_good = !c->fault.code;
    if (c->engine_call)
        log_call(c, (loop_now_ms(c->set->manager->loop) * 1000 - c->begun_us) / 1000);
    if (c->engine_call && c->row->is_write)
        record(c);
    if (!c->engine_call) {
        c->done(c->arg, is_good ? result : NULL, is_good ? NULL : &c->fault);
    } else if (is_good) {
        engine_ok(c->engine_call, json_incref(result));
    } else {
        JSON_OWNED envelope = fn_fault_json(&c->fault);
        CLEANUP(free_p) char *json = json_write(envelope, NULL);
        CLEANUP(free_p) char *text = xasprintf("handler error: %s", json);
        engine_fail_text(c->engine_call, "invocation_failed", text);
    }
    json_decref(result);
    json_decref(c->fault.fix);
    json_decref(c->fault.extra);
    json_decref(c->in);
    (void)caller_unref(c->who);
    (void)fn_policy_unref(c->policy);
    free(c);
}

void fn_ok(struct fn_call *c, json_t *result)
{
    c->fault.code = NULL;
    finish(c, result);
}

void fn_fail_fault(struct fn_call *c)
{
    finish(c, NULL);
}

int fn_set_fault(struct fn_call *c, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c->fault.code = code;
    (void)vsnprintf(c->fault.message, sizeof(c->fault.message), fmt, args);
    va_end(args);
    return -EINVAL;
}

void fn_fail(struct fn_call *c, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    c->fault.code = code;
    (void)vsnprintf(c->fault.message, sizeof(c->fault.message), fmt, args);
    va_end(args);
    finish(c, NULL);
}

/* --- files --- */

static const struct {
    int sys;
    const char *code, *text;
} file_codes[] = {
    { ENOENT, "S211", "file not found" },
    { ENOTDIR, "S212", "not a directory or wrong type" },
    { EISDIR, "S212", "not a directory or wrong type" },
    { EINVAL, "S212", "not a directory or wrong type" },
    { ENXIO, "S212", "not a directory or wrong type" },
    { EEXIST, "S213", "already exists" },
    { ENOTEMPTY, "S214", "directory not empty" },
    { EACCES, "S215", "permission denied" },
    { EPERM, "S215", "permission denied" },
    { EBADMSG, "S217", "invalid regex pattern" },
    { ENOSYS, "S219", "the sandbox's agent is too old for this" },
};

void fn_fail_file(struct fn_call *c, const struct sandbox *s, const struct err *err, const char *path)
{
    if (s && s->is_gone) {
        fn_fail(c, "S004", "sandbox already stopped: %s", c->sandbox_id);
        return;
    }
    for (size_t i = 0; i < sizeof(file_codes) / sizeof(file_codes[0]); i++)
        if (file_codes[i].sys == err->sys) {
            fn_fail(c, file_codes[i].code, "%s: %s", file_codes[i].text, path);
            return;
        }
    fn_fail(c, "S216", "fs i/o error: %s: %s", path, err->msg);
}

void fn_fail_start(struct fn_call *c, const struct sandbox *s, int r, const char *path)
{
    if (r == -EINVAL) {
        fn_fail(c, "S210", "the request cannot be sent: \"%.200s\" is too long, or a list has too many entries", path);
        return;
    }
    struct err err = ERR_INIT;
    (void)err_sys(&err, r, "ask the sandbox's agent");
    err.sys = EIO;
    fn_fail_file(c, s, &err, path);
}
