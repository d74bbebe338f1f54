/* The S-codes: what each means, and the envelope a failing call answers with. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/docs.h"
#include "api/fn.h"
#include "base/alloc.h"
#include "base/log.h"

static const struct code {
    const char *code, *type, *note;
    enum err_code kind; /* for records and traces */
    bool is_retryable;
} codes[] = {
    { "S001", "validation", NULL, ERR_INVALID, false },
    { "S002", "validation", "create one first with sandbox::create", ERR_NOT_FOUND, false },
    { "S003", "validation",
      "waiting does not help while foreground processes hold the slots: detach long work with `nohup ... >/dev/null "
      "2>&1 &`, "
      "use sandbox::stop and sandbox::create, or run it in a clone (the fix: call fix.call.function_id, then send the "
      "request again with the new id)",
      ERR_CONFLICT, false },
    { "S004", "validation", "create a new one with sandbox::create", ERR_CONFLICT, false },
    { "S100", "config", "pick a listed image, or add it to image_allowlist in the configuration", ERR_INVALID, false },
    { "S101", "internal",
      "the operator must pull the image first, or let it be pulled (auto_install: true, III_PULL=missing)",
      ERR_NOT_FOUND, false },
    { "S102", "transient", "retry later", ERR_UPSTREAM, true },
    { "S200", "execution", "raise timeout_ms, or split the work", ERR_TIMEOUT, false },
    { "S210", "filesystem", NULL, ERR_INVALID, false },
    { "S211", "filesystem", NULL, ERR_NOT_FOUND, false },
    { "S212", "filesystem", NULL, ERR_INVALID, false },
    { "S213", "filesystem", NULL, ERR_CONFLICT, false },
    { "S214", "filesystem", NULL, ERR_CONFLICT, false },
    { "S215", "filesystem", NULL, ERR_FORBIDDEN, false },
    { "S216", "filesystem", NULL, ERR_INTERNAL, false },
    { "S217", "filesystem", NULL, ERR_INVALID, false },
    { "S218", "transient", "open a new channel and write again", ERR_GONE, true },
    { "S219", "filesystem", "create a new sandbox: its agent will be of this version", ERR_UNSUPPORTED, false },
    { "S300", "platform", "not recoverable by the caller", ERR_INTERNAL, false },
    { "S400", "config", "stop a sandbox or ask for less; the limits are the operator's", ERR_RATE_LIMITED, false },
};

static const struct code *find_code(const char *code)
{
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (strcmp(codes[i].code, code) == 0)
            return &codes[i];
    return &codes[0];
}

json_t *fn_fault_json(const struct api *a, const char *host, const struct fn_fault *f)
{
    const struct code *about = find_code(f->code);
    const char *note = f->note ? f->note : f->has_no_note ? NULL : about->note;
    CLEANUP(free_p) char *url = docs_url(a, host, "errors", f->code);
    json_t *j = json_pack("{s:s, s:s, s:O?, s:s?, s:o, s:b, s:s}", "code", f->code, "docs_url", url, "fix", f->fix,
                          "fix_note", note, "message", json_text(f->message, strlen(f->message)), "retryable",
                          about->is_retryable, "type", about->type);
    if (f->extra)
        (void)json_object_update_missing(j, f->extra);
    return j;
}

json_t *fn_refusal(const struct api *a, const char *host, const struct err *err)
{
    struct fn_part p = { 0 };
    fn_fault_from(&p, err);
    return fn_fault_json(a, host, &p.fault);
}

const char *fn_code(const char *code)
{
    return find_code(code)->code;
}

void fn_log(const struct fn_part *p, const char *function, int64_t duration_us)
{
    char duration[24];
    const struct fn_fault *f = &p->fault;
    (void)snprintf(duration, sizeof(duration), "%lld", (long long)(duration_us / 1000));
    if (!f->code) {
        log_event(LOG_INFO, "function.call", "function_id", function, "sandbox_id", p->sandbox_id, "success", "true",
                  "duration_ms", duration, NULL);
        return;
    }
    const struct code *about = find_code(f->code);
    log_event(LOG_INFO, "function.call", "function_id", function, "sandbox_id", p->sandbox_id, "success", "false",
              "error_code", f->code, "error_type", about->type, "retryable", about->is_retryable ? "true" : "false",
              "duration_ms", duration, NULL);
}

void fn_fault_from(struct fn_part *p, const struct err *err)
{
    static const struct {
        enum err_code kind;
        const char *code;
    } known[] = { { ERR_INVALID, "S001" },   { ERR_UNAUTHORIZED, "S001" }, { ERR_FORBIDDEN, "S001" },
                  { ERR_NOT_FOUND, "S002" }, { ERR_CONFLICT, "S004" },     { ERR_RATE_LIMITED, "S400" } };
    struct fn_fault *f = &p->fault;
    if (f->code)
        return;
    f->code = "S300";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].kind == err->code)
            f->code = known[i].code;
    (void)snprintf(f->message, sizeof(f->message), "%s%s", err->code == ERR_INVALID ? "invalid request: " : "",
                   err->msg);
}

static void set_fault(struct call *c, const char *code, const char *fmt, va_list args)
{
    struct fn_fault *f = &call_fn(c)->fault;
    f->code = code;
    (void)vsnprintf(f->message, sizeof(f->message), fmt, args);
}

void fn_fail_fault(struct call *c)
{
    const struct fn_fault *f = &call_fn(c)->fault;
    call_error(c, find_code(f->code)->kind, "%s", f->message);
}

void fn_fix(struct call *c, json_t *fields, const char *note)
{
    struct fn_fault *f = &call_fn(c)->fault;
    json_decref(f->fix);
    f->fix = fields;
    f->note = note;
}

void fn_fix_call(struct call *c, const char *function, json_t *payload, json_t *take, const char *note)
{
    json_t *call = json_pack("{s:s, s:o}", "function_id", function, "payload", payload);
    if (take)
        (void)json_object_set_new(call, "take", take);
    fn_fix(c, json_pack("{s:o}", "call", call), note);
}

int fn_set_fault(struct call *c, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_fault(c, code, fmt, args);
    va_end(args);
    return -EINVAL;
}

void fn_fail(struct call *c, const char *code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    set_fault(c, code, fmt, args);
    va_end(args);
    fn_fail_fault(c);
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

void fn_fail_file(struct call *c, const struct sandbox *s, const struct err *err, const char *path)
{
    if (s && s->is_gone) {
        fn_fail(c, "S004", "sandbox already stopped: %s", call_fn(c)->sandbox_id);
        return;
    }
    for (size_t i = 0; i < sizeof(file_codes) / sizeof(file_codes[0]); i++)
        if (file_codes[i].sys == err->sys) {
            fn_fail(c, file_codes[i].code, "%s: %s", file_codes[i].text, path);
            return;
        }
    fn_fail(c, "S216", "fs i/o error: %s: %s", path, err->msg);
}

void fn_fail_start(struct call *c, const struct sandbox *s, int r, const char *path)
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
