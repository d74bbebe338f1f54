/* Handlers of SSH keys. */
#include "api/api_core.h"
#include "api/handlers.h"
#include "api/ssh_entry.h"
#include "sandbox/lifecycle/manager.h"
#include "sandbox/net/ssh_keys.h"

void api_ssh_key_add(struct call *c)
{
    struct err err = ERR_INIT;
    const char *sandbox = call_str(c, "sandbox", NULL);
    if (call_who(c) && call_who(c)->issuer) {
        call_error(c, ERR_FORBIDDEN, "an SSH key acts as an API token: add it with one, not with a JWT or certificate");
        return;
    }
    const struct sandbox *s = sandbox ? manager_find(call_manager(c), sandbox, &err) : NULL;
    struct ssh_keys_wish wish = { .name = call_str(c, "name", NULL),
                                  .text = call_str(c, "publicKey", ""),
                                  .token = call_who(c) ? call_who(c)->id : "",
                                  .sandbox = s ? s->id : NULL,
                                  .expires = call_int(c, "expires", 0) };
    json_t *rec = sandbox && !s ? NULL : ssh_keys_add(call_manager(c)->ssh_keys, call_by(c), &wish, &err);
    handlers_record(c, rec, &err);
}

void api_ssh_key_list(struct call *c)
{
    call_ok(c, json_pack("{s:o}", "keys", ssh_keys_list(call_manager(c)->ssh_keys, call_by(c))));
}

void api_ssh_key_delete(struct call *c)
{
    struct err err = ERR_INIT;
    const char *id = call_str(c, "keyId", "");
    if (ssh_keys_delete(call_manager(c)->ssh_keys, id, &err) < 0) {
        call_fail(c, &err);
        return;
    }
    ssh_entry_end_key(call_api(c)->ssh, id);
    call_ok(c, json_pack("{s:s}", "deleted", id));
}

void api_ssh_info(struct call *c)
{
    call_ok(c, ssh_entry_info(call_api(c)->ssh));
}
