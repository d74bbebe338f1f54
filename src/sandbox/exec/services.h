/* Services of a sandbox: commands of its configuration that the agent keeps running. Here are their definitions, what
 * is known of their states, and the events about them; the agent starts, restarts and orders them (agent/service.h).
 * May include: base/, guest/, sandbox/. */
#pragma once
#include "base/err.h"
#include "base/json.h"
#include "guest/link.h"
#include "guest/proto.h"
#include "sandbox/lifecycle/manager.h"

void services_init(struct manager *m); /* once, before there are sandboxes */
/* What the table cannot say of a list of services (or NULL): names are unique, dependencies exist and have no cycle, a
 * readiness check is one of three. */
int services_check_list(const json_t *list, struct err *err);
/* The same of a new sandbox, and that each service could be started as far as is known here. */
int services_check(struct sandbox *s, struct err *err);
/* The agent gets the definitions, and starts what it does not run. is_new: its box was just made; else the agent may
 * run them since long. */
void services_begin(struct sandbox *s, bool is_new);
void services_free(struct sandbox *s);
json_t *services_json(const struct sandbox *s);                                   /* array of Service; caller owns */
json_t *services_one(const struct sandbox *s, const char *name, struct err *err); /* ERR_NOT_FOUND; caller owns */
/* PROTO_ACT_*. fn when it has begun; never from inside this call. Definitions take up the sandbox's environment. */
int services_act(struct sandbox *s, const char *name, uint8_t act, guest_done_fn *fn, void *arg, struct err *err);
/* Tag of a service's log; into ret. */
void services_tag(const char *name, char ret[PROTO_TAG_MAX + 1]);

bool services_are_settled(const struct sandbox *s); /* none is about to start, to be ready or to stop */
/* fn once, when they are settled, the sandbox sleeps or is gone, or ms have passed; never from inside this call. */
struct services_wait;
struct services_wait *services_wait(struct sandbox *s, int64_t ms, loop_fn *fn, void *arg);
void services_wait_cancel(struct services_wait *w); /* before fn was called */
