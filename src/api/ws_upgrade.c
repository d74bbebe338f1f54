#include "api/ws_upgrade.h"

#include "api/api_core.h"
#include "engine/channel.h"
#include "sandbox/lifecycle/manager.h"

static bool serve_channel(void *arg, struct http_req *r)
{
    const struct api *a = arg;
    return channel_hub_serve(a->manager->channels, r);
}

void ws_upgrade_add(struct api *a)
{
    /* The key is the credential, as on the engine's port. */
    api_add_entry(a, &(struct api_entry){ .path_prefix = "/ws/channels/", .fn = serve_channel, .arg = a });
}
