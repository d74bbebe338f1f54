/* Handlers of templates. */
#include "api/call.h"
#include "api/handlers.h"
#include "sandbox/exec/services.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/lifecycle/templates.h"

void api_template_create(struct call *c)
{
    struct err err = ERR_INIT;
    SANDBOX_CONFIG_OWNED config = { 0 };
    sandbox_config_read(&config, json_get(call_params(c), "config"));
    if (services_check_list(config.services, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    json_t *rec = templates_create(call_manager(c)->templates, call_by(c), call_str(c, "name", ""),
                                   call_str(c, "description", ""), &config, &err);
    handlers_record(c, rec, &err);
}

void api_template_list(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "templates", templates_list(call_manager(c)->templates, call_by(c))));
}

void api_template_get(struct call *c)
{
    struct err err = ERR_INIT;
    handlers_record(c, templates_get(call_manager(c)->templates, call_str(c, "id", ""), &err), &err);
}

void api_template_delete(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "id", "");
    if (templates_delete(call_manager(c)->templates, id, &err) < 0)
        call_fail(c, &err);
    else
        call_ok(c, json_pack("{s:s}", "deleted", id));
}
