/* Handlers of volumes. */
#include "api/call.h"
#include "api/handlers.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/storage/volumes.h"

void api_volume_create(struct call *c)
{
    struct err err = ERR_INIT;
    struct volumes_plan plan = { .name = call_str(c, "name", ""), .size_mb = call_int(c, "sizeMb", 0) };
    if (handlers_driver(c, "local"))
        handlers_record(c, volumes_create(call_manager(c)->volumes, call_by(c), &plan, &err), &err);
}

void api_volume_list(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "volumes", volumes_list(call_manager(c)->volumes, call_by(c))));
}

static void on_deleted(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", call_str(c, "volumeId", "")));
}

void api_volume_delete(struct call *c)
{
    volumes_delete(call_manager(c)->volumes, call_str(c, "volumeId", ""), on_deleted, c);
}

static void on_attached(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err) {
        call_fail(c, err);
        return;
    }
    (void)event_log_emit(
        call_manager(c)->events, "volume.attached", call_str(c, "sandboxId", ""),
        json_pack("{s:s, s:s}", "volumeId", call_str(c, "volumeId", ""), "mountPath", call_str(c, "mountPath", "")));
    call_ok(c, json_pack("{s:b, s:s}", "attached", 1, "mountPath", call_str(c, "mountPath", "")));
}

void api_volume_attach(struct call *c)
{
    struct err err = ERR_INIT;
    const char *sid = call_str(c, "sandboxId", "");
    struct sandbox *s = manager_find_running(call_manager(c), sid, &err);
    if (!s) {
        call_fail(c, &err);
        return;
    }
    call_set_sandbox(c, sid);
    struct box_volume how = { .target = call_str(c, "mountPath", ""), .is_readonly = call_bool(c, "readOnly", false) };
    volumes_attach(call_manager(c)->volumes, call_str(c, "volumeId", ""), s, &how, on_attached, c);
}

static void on_detached(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:b}", "detached", 1));
}

void api_volume_detach(struct call *c)
{
    volumes_detach(call_manager(c)->volumes, call_str(c, "volumeId", ""), on_detached, c);
}
