/* THE TABLE: every operation with its fields, limits, reply and help. Data only, no handlers. REST routes, validation,
 * OpenAPI, MCP tools, command lines, engine functions and reference pages are all made from it. May include: base/. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/settings.h"

enum field_type {
    FIELD_STR, /* min..max bytes */
    FIELD_INT, /* min..max */
    FIELD_NUM, /* min..max */
    FIELD_BOOL,
    FIELD_OBJ,      /* any object, at most max members */
    FIELD_STR_MAP,  /* object of strings, min..max members */
    FIELD_STR_LIST, /* array of strings, min..max entries */
    FIELD_OBJ_LIST, /* array of objects, min..max entries */
    FIELD_COMMAND,  /* non-empty string, or non-empty array of strings */
    FIELD_ANY,
};
enum field_flag {
    FIELD_REQUIRED = 1,
    FIELD_CLAMP = 2,     /* out of range is clamped, never refused */
    FIELD_LENIENT = 4,   /* a value of the wrong type counts as absent */
    FIELD_PATH = 8,      /* part of the path (":id"); strings only */
    FIELD_SECRET = 16,   /* never logged */
    FIELD_BYTES = 32,    /* text that may hold NUL: read it with its length. With FIELD_ANY: text or an object */
    FIELD_SCALAR = 64,   /* a number or boolean becomes its JSON text; in lists each entry does */
    FIELD_JSON = 128,    /* the JSON type itself: text does not count as a number or boolean */
    FIELD_HEADER = 256,  /* over HTTP it comes in a header: "ifNoneMatch" in If-None-Match */
    FIELD_CHANNEL = 512, /* a channel of the engine: over HTTP it is the body */
};
/* The kind of object that a field names: a caller that is bound to one tenant gets 404 for an object of another, before
 * any handler runs. A path field without a mark is refused to such callers. */
enum field_ref {
    REF_NONE,
    REF_SANDBOX,
    REF_SNAPSHOT,
    REF_NETWORK,
    REF_VOLUME,
    REF_TEMPLATE,      /* by id */
    REF_TEMPLATE_NAME, /* by id or name */
    REF_JOB,
    REF_EXEC,
    REF_ALERT,
    REF_WEBHOOK,
    REF_SSH_KEY,
    REF_INNER,          /* of the sandbox that another field names */
    REF_FILTER,         /* narrows a list that shows only the caller's own anyway, or is a new id */
    REF_SANDBOX_FILTER, /* the same by a sandbox, which may be gone */
    REF_SHARED,         /* of no tenant: images, and what only admins may call */
};
struct field {
    const char *name, *help;
    enum field_type type;
    unsigned flags;
    double min, max;
    const char *choices;  /* "a|b|c" for FIELD_STR, or NULL */
    const char *fallback; /* default as shown in documents, or NULL */
    const struct field
        *members;     /* of FIELD_OBJ and of each entry of FIELD_OBJ_LIST, ended by name NULL; or NULL: any */
    double entry_max; /* bytes of each entry of FIELD_STR_LIST and each value of FIELD_STR_MAP; 0: SPEC_ENTRY_MAX */
    enum field_ref ref;
    size_t ceiling; /* offset of the setting (a whole number) that max is lowered to; 0: none */
};
#define SPEC_CEILING(setting) .ceiling = offsetof(struct settings, setting)
#define SPEC_ENTRY_MAX        LIMIT_MAX(ENTRY_BYTES)
#define SPEC_JSON_MAX         2097152 /* bytes of a JSON body: parsing a longer one would hold up every other request */

enum op_flag {
    OP_NO_AUTH = 1, /* health */
    OP_SANDBOX = 2, /* the path's :id names a sandbox */
    OP_STREAM = 4,  /* answers with server-sent events */
    OP_MUTATES = 8, /* changes something: audit, idempotency */
    OP_RATE_EXEC = 16,
    OP_RATE_FS = 32,
    OP_RAW_BODY = 64,    /* the body is bytes, streamed to the handler */
    OP_NOT_JSON = 128,   /* the reply is not JSON (metrics text, raw downloads) */
    OP_IDEMPOTENT = 256, /* takes an Idempotency-Key header */
    OP_MAY_STREAM = 512, /* answers with server-sent events when asked to, else with its reply */
    OP_ADMIN = 1024, /* about the whole server: for admins only. Else OP_MUTATES needs a user, the rest may be read */
    OP_WATCH = 2048, /* with OP_ADMIN: a read-only token for all tenants may see it, too */
    OP_SLOW = 65536, /* works as long as a registry or a copy of files takes; so does what has OP_RATE_EXEC */
    OP_LARGE_BODY = 131072, /* carries content: its JSON may be as long as III_MAX_BODY_MB, else SPEC_JSON_MAX */
    OP_BACKEND = 4096,      /* not every backend can do it */
    OP_UPGRADE = 16384,     /* its handler takes the connection; a WebSocket may bring its token as ?token= */
    OP_SANDBOXES = 32768,   /* lists sandboxes, as far as the caller sees them: a token for one sees one */
    OP_WAKES = 524288,      /* wakes a sandbox with autoResume, as OP_RATE_EXEC and OP_RATE_FS do */
    OP_SPAWNS = 262144,     /* makes another sandbox, which a token for one must not */
    OP_FUNCTION = 8192 /* only a function of the engine: no method and path, reply is a shape, errors are S-codes */
};

enum op_id {
#define OP(id, fn, method, path, fields, reply, flags, help) OP_ID_##id,
#define OPS_REST_END                                         OP_COUNT, OP_LAST_REST = OP_COUNT - 1, /* rows from here on are on no REST path */
#include "spec/ops.def"
    OP_ALL
};

struct op {
    const char *name; /* "sandbox_create" */
    const char *fn;   /* "sandbox::create": function id in traces and in the engine */
    const char *method;
    const char *path;           /* "/sandboxes/:id/exec", without the prefix */
    const struct field *fields; /* ended by name NULL; path parameters included */
    const char *reply;          /* name of a schema in schemas.c; of OP_FUNCTION rows a shape */
    unsigned flags;
    const char *help;
    const char *group; /* "exec": what the operations of a token name */
};
extern const struct op spec_ops[OP_ALL];

/* Whether words ("exec,files": groups and function ids, separated by commas) name the row. */
bool spec_op_in(const struct op *op, const char *words);
/* -EINVAL: a word that names no row; err has the nearest. */
int spec_check_words(const char *words, struct err *err);

/* The OpenAPI 3.1 document of the whole table. Caller owns. */
json_t *spec_openapi(const char *prefix, const char *version);
bool spec_reply_is_object(const struct op *op); /* with named members, to which `warnings` may be added */
/* One reply schema (JSON Schema, refs into #/components/schemas). Borrowed; NULL when unknown. */
const json_t *spec_schema(const char *name);
/* One field as JSON Schema, with its description, limits and default. Caller owns. */
json_t *spec_field_schema(const struct field *f);
/* docs/api-reference.md, docs/configuration.md and docs/limits-reference.md as text; caller frees. */
char *spec_reference_md(void);
char *spec_settings_md(void);
char *spec_limits_md(void);

/* Checks and converts merged parameters in place after the row: "12" becomes 12 where a number is meant, null members
 * and lenient fields of the wrong type are removed, clamped ones are clamped. -EINVAL: err names field, value and
 * limit; -ENOENT for a path part that cannot be anything's id. settings: what lowers maxima (or NULL). warnings: gets
 * what was clamped, removed or is not a field (base/warnings.h; or NULL). */
int spec_check(const struct op *op, json_t *params, const struct settings *settings, json_t **warnings,
               struct err *err);
const char *spec_ceiling(const struct field *f); /* the setting that lowers its maximum, "III_MAX_FORK"; NULL: none */
#define SPEC_HEADER_MAX 32
void spec_header_name(const struct field *f, char out[SPEC_HEADER_MAX]); /* "If-None-Match" of a FIELD_HEADER */
bool spec_is_choice(const char *choices, const char *text);              /* choices: "a|b|c" */
