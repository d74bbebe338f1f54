/* Handlers of networks. */
#include "api/call.h"
#include "api/handlers.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/networks.h"

void api_network_create(struct call *c)
{
    if (handlers_driver(c, "bridge"))
        networks_create(call_manager(c)->networks, call_by(c), call_str(c, "name", ""), handlers_record, c);
}

void api_network_list(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "networks", networks_list(call_manager(c)->networks, call_by(c))));
}

static void emit_member_event(struct call *c, const char *topic)
{
    (void)event_log_emit(call_manager(c)->events, topic, call_str(c, "sandboxId", ""),
                         json_pack("{s:s}", "networkId", call_str(c, "networkId", "")));
}

static void on_connected(void *arg, const struct err *err)
{
    if (err) {
        call_fail(arg, err);
        return;
    }
    emit_member_event(arg, "network.connected");
    call_ok(arg, json_pack("{s:b}", "connected", 1));
}

void api_network_connect(struct call *c)
{
    struct err err = ERR_INIT;
    const char *sid = call_str(c, "sandboxId", "");
    struct sandbox *s = manager_find_running(call_manager(c), sid, &err);
    if (!s) {
        call_fail(c, &err);
        return;
    }
    call_set_sandbox(c, sid);
    networks_connect(call_manager(c)->networks, call_str(c, "networkId", ""), s, on_connected, c);
}

static void on_disconnected(void *arg, const struct err *err)
{
    if (err) {
        call_fail(arg, err);
        return;
    }
    emit_member_event(arg, "network.disconnected");
    call_ok(arg, json_pack("{s:b}", "disconnected", 1));
}

void api_network_disconnect(struct call *c)
{
    struct err err = ERR_INIT;
    const char *sid = call_str(c, "sandboxId", "");
    struct sandbox *s = manager_find(call_manager(c), sid, &err);
    if (!s) {
        call_fail(c, &err);
        return;
    }
    call_set_sandbox(c, sid);
    networks_disconnect(call_manager(c)->networks, call_str(c, "networkId", ""), s, on_disconnected, c);
}

static void on_deleted(void *arg, const struct err *err)
{
    struct call *c = arg;
    if (err)
        call_fail(c, err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", call_str(c, "networkId", "")));
}

void api_network_delete(struct call *c)
{
    networks_delete(call_manager(c)->networks, call_str(c, "networkId", ""), on_deleted, c);
}
