#include "engine/pubsub.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/binding_set.h"
#include "engine/registry.h"

struct pubsub {
    struct binding_set listeners;
};

static int pubsub_bind(struct engine *e, struct binding *b, struct err *err)
{
    const char *topic = trigger_config_str(b, "topic", NULL);
    if (!topic || !*topic)
        return err_set(err, ERR_INVALID, 0, "a subscribe trigger needs config.topic, a non-empty string");
    (void)e;
    return 0;
}

static struct binding_set *pubsub_bindings(struct engine *e)
{
    return &e->pubsub->listeners;
}

static const struct trigger_provider subscribe_type = {
    .type = "subscribe",
    .description = "A message was published to a topic",
    .bind = pubsub_bind,
    .bindings = pubsub_bindings,
};

static bool has_topic(const struct binding *b, const void *topic)
{
    return strcmp(trigger_config_str(b, "topic", ""), topic) == 0;
}

static void pubsub_publish(void *arg, struct engine_call *c, json_t *payload)
{
    struct engine *e = arg;
    const char *topic = json_get_str(payload, "topic", NULL);
    json_t *data = json_object_get(payload, "data");
    if (!topic || !*topic) {
        engine_fail(c, topic ? "topic_not_set" : "deserialization_error", "publish needs topic, a non-empty string");
        return;
    }
    JSON_OWNED message = data ? json_incref(data) : json_null();
    binding_set_fire(e, &e->pubsub->listeners, has_topic, topic, message); /* having no subscriber is not an error */
    engine_ok(c, json_null());
}

void pubsub_init(struct engine *e)
{
    e->pubsub = xzalloc(sizeof(*e->pubsub));
    trigger_add_provider(e, &subscribe_type);
    registry_add_inside(e, "publish", "Publish data to a topic: {topic, data}", pubsub_publish, e);
}

void pubsub_done(struct engine *e)
{
    binding_set_done(&e->pubsub->listeners);
    free(e->pubsub);
    e->pubsub = NULL;
}
