/* call.h: one request, put together field by field and then sent. What goes wrong on the way is kept and told by the
 * last step. */
#pragma once
#include "http.h"
#include "table.h"

#define CALL_SAFE 1u /* repeating it changes nothing */
#define CALL_LONG 2u /* it takes as long as its work takes */

struct call {
    iii_client *client;
    struct request request;
    struct text path, query;
    json_t *body;
    char digits[24];
    struct iii_error error;
};

typedef int iii_event_fn(const void *event, void *arg);
/* As iii_data_fn; the event is borrowed. */
typedef int iii_json_fn(json_t *event, void *arg, struct iii_error *err);

struct call iii_call(iii_client *client, const char *method, unsigned flags);
/* The template's {names} are replaced by the texts that follow; NULL ends them. */
void iii_call_path(struct call *c, const char *template_path, ...) __attribute__((sentinel));
const char *iii_call_digits(struct call *c, int64_t number);
void iii_call_key(struct call *c, const char *key);
void iii_call_options(struct call *c, const struct table_type *type, const void *options);

void iii_call_text(struct call *c, const char *name, enum table_place place, const char *value);
void iii_call_integer(struct call *c, const char *name, enum table_place place, int64_t value);
void iii_call_number(struct call *c, const char *name, enum table_place place, double value);
void iii_call_command(struct call *c, const char *name, enum table_place place, struct iii_command value);
void iii_call_texts(struct call *c, const char *name, enum table_place place, const char *const *values, size_t count);
void iii_call_pairs(struct call *c, const char *name, enum table_place place, const struct iii_pair *values,
                    size_t count);
void iii_call_object(struct call *c, const char *name, enum table_place place, const struct table_type *type,
                     const void *value);
void iii_call_objects(struct call *c, const char *name, enum table_place place, const struct table_type *type,
                      const void *values, size_t count);

/* Send it. All end the call, whatever happens. */
int iii_call_run(struct call *c, const struct table_type *type, void **ret, struct iii_error *err);
int iii_call_no_answer(struct call *c, struct iii_error *err); /* of which nothing is left when it ends */
int iii_call_events(struct call *c, iii_json_fn *on_json, void *arg, struct iii_error *err);
/* Of a command called what: an exit code other than 0 is III_COMMAND, and there is no result. */
int iii_call_command_run(struct call *c, const char *what, struct iii_exec_result **ret, struct iii_error *err);
int iii_call_stream(struct call *c, const struct table_type *type, iii_event_fn *on_event, void *arg,
                    struct iii_error *err);
/* III_COMMAND, of a command called what. */
int iii_call_failed(const char *what, const struct iii_exec_result *result, struct iii_error *err);
