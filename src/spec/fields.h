/* The field tables that the rows of ops_*.def name, and the shapes they share. Each table ends with name NULL.
 * May include: base/. */
#pragma once
#include "base/limits.h"
#include "spec/spec.h"

#define FIELDS_NAME_MAX    LIMIT_MAX(NAME_BYTES)
#define FIELDS_PATH_MAX    LIMIT_MAX(PATH_BYTES)
#define FIELDS_COMMAND_MAX LIMIT_MAX(COMMAND_BYTES)
#define FIELDS_INPUT_MAX   LIMIT_MAX(INPUT_BYTES)
#define FIELDS_LIST_MAX    LIMIT_MAX(LIST_ENTRIES)
#define FIELDS_BODY_MAX    LIMIT_MAX(BODY_BYTES)
#define FIELDS_WHOLE_MAX   LIMIT_MAX(WHOLE)

#define FIELDS_PATH_PART(name, help, whose)                                                  \
    {                                                                                        \
        name, help, FIELD_STR, FIELD_REQUIRED | FIELD_PATH, 1, FIELDS_NAME_MAX, .ref = whose \
    }
#define FIELDS_SANDBOX "Sandbox: its id, UUID, name, or the beginning of its id"
#define FIELDS_ID      FIELDS_PATH_PART("id", FIELDS_SANDBOX, REF_SANDBOX)

/* The first message of exec::attach, which is in no query. */
extern const struct field fields_exec_attach_plan[];

#define OP(id, fn, method, path, fields, reply, flags, help) extern const struct field fields[];
#define OPS_REST_END
#include "spec/ops.def"
