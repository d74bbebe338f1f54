/* The ports of workers: the engine port, and one for each iii-worker-manager entry, all on the same registry. A
 * listener judges who may connect and gives each worker its session. Private to engine/. */
#pragma once
#include "engine/engine_core.h"

struct listener;

/* Makes the engine port's listener and those of the configuration; an entry with the engine port's number is its
 * rules. */
int listener_init(struct engine *e, uint16_t engine_port, struct err *err);
void listener_done(struct engine *e);
struct http_app listener_app(struct engine *e); /* of the engine port */
/* Appends the further ports to ret, which has n entries already; returns how many there are then. */
size_t listener_list(struct engine *e, struct engine_listener ret[ENGINE_LISTENERS_MAX], size_t n);
