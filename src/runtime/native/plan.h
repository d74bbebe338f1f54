/* Turns a plan of the vtable into a request to the launcher. May include: base/, runtime/. */
#pragma once
#include "runtime/native/wire.h"
#include "runtime/runtime.h"

/* ret_bytes: size of the layers behind the request. */
int native_plan_check(const struct box_plan *plan, size_t *ret_bytes, struct err *err);
/* Fills the request of a checked plan, and the ret_bytes behind it. */
void native_plan_put(const struct box_plan *plan, struct wire_request *q);
void native_plan_put_layers(char *to, const char *const *layers, size_t n);
