/* JSON Schemas of the functions, for introspection and help. May include: base/. */
#pragma once
#include "base/json.h"

/* From words "name:type", ended by "!" when required. Types: string, integer, number, boolean, object, list, any. */
json_t *fn_schema_make(const char *fields); /* caller owns */
