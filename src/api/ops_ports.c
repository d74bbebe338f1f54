/* Handlers of exposed ports. */
#include <string.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/preview.h"
#include "sandbox/net/listening.h"
#include "sandbox/net/ports.h"

void api_port_expose(struct call *c)
{
    struct err err = ERR_INIT;
    json_t *mapping = NULL;
    struct sandbox *s = handlers_running(c);
    if (!s)
        return;
    int64_t inner = call_int(c, "containerPort", 0);
    struct forward_plan plan = { .is_udp = strcmp(call_str(c, "protocol", "tcp"), "udp") == 0,
                                 .inner_port = (uint16_t)inner,
                                 .host_port = (uint16_t)call_int(c, "hostPort", inner) };
    if (ports_expose(call_manager(c)->ports, s, call_by(c), &plan, &mapping, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, mapping);
}

void api_port_list(struct call *c)
{
    struct sandbox *s = handlers_sandbox(c);
    size_t i;
    const json_t *row;
    if (!s)
        return;
    json_t *listening = json_array();
    json_array_foreach(listening_rows(s), i, row)
    {
        CLEANUP(free_p) char *url = preview_url(call_api(c), s, (uint16_t)json_get_int(row, "port", 0));
        json_t *shown = json_copy((json_t *)(uintptr_t)row);
        (void)json_object_set_new(shown, "url", json_string(url));
        (void)json_array_append_new(listening, shown);
    }
    call_ok(c, json_pack("{s:o, s:o}", "ports", ports_list(call_manager(c)->ports, s), "listening", listening));
}

void api_port_unexpose(struct call *c)
{
    struct err err = ERR_INIT;
    int64_t inner = call_int(c, "containerPort", 0);
    struct sandbox *s = handlers_sandbox(c);
    if (!s)
        return;
    if (ports_unexpose(call_manager(c)->ports, s, (uint16_t)inner, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:I}", "removed", (json_int_t)inner));
}
