/* Handlers of snapshots. */
#include "sandbox/storage/snapshots.h"

#include "api/call.h"
#include "api/handlers.h"

static void answer_snapshot(void *arg, const json_t *snapshot, const struct err *err)
{
    handlers_record(arg, (json_t *)(uintptr_t)snapshot, err);
}

void api_snapshot_create(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    struct snapshots_plan plan = { .name = call_str(c, "name", NULL), .by = call_by(c) };
    snapshots_create(call_manager(c)->snapshots, s, &plan, answer_snapshot, c);
}

void api_snapshot_create_short(struct call *c)
{
    const char *comment = call_str(c, "comment", NULL);
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    struct snapshots_plan plan = { .name = call_str(c, "name", comment && *comment ? comment : NULL),
                                   .by = call_by(c) };
    snapshots_create(call_manager(c)->snapshots, s, &plan, answer_snapshot, c);
}

void api_snapshot_list(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "snapshots",
                         snapshots_list(call_manager(c)->snapshots, call_by(c), call_str(c, "id", ""))));
}

void api_snapshot_restore(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    if (s)
        snapshots_restore(call_manager(c)->snapshots, s, call_str(c, "snapshotId", ""), handlers_answer, c);
}

void api_snapshot_clone(struct call *c)
{
    struct snapshots_plan plan = { .name = call_str(c, "name", NULL), .by = call_by(c) };
    snapshots_clone(call_manager(c)->snapshots, call_str(c, "snapshotId", ""), &plan, handlers_answer, c);
}

void api_snapshot_delete(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "snapshotId", "");
    if (snapshots_delete(call_manager(c)->snapshots, id, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", id));
}
