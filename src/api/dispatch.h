/* Rows to handlers. May include: spec/. */
#pragma once
#include "api/call.h"

op_fn *dispatch_handler(const struct op *op); /* of a row of spec_ops */
