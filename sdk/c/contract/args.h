/* args.h: between the JSON of a scenario's step and the typed functions of the library. */
#pragma once
#include "tables.h"

#define KEPT_MAX 16

struct args {
    iii_client *client;
    iii_sandbox *sandbox;
    const json_t *given;
    struct iii_error *err;
    json_t *answer; /* of a call, or the list of a stream's events */
    const struct table_type *event_type;
    size_t take;                /* of a stream; 0: all */
    const void *kept[KEPT_MAX]; /* what the arguments point into, freed after the call */
    size_t kept_count;
};

struct dispatch {
    const char *name;
    bool streams;
    int (*run)(struct args *a);
};
extern const struct dispatch dispatch_table[];

const char *args_text(struct args *a, const char *name);
int64_t args_integer(struct args *a, const char *name);
double args_number(struct args *a, const char *name);
struct iii_command args_command(struct args *a, const char *name);
size_t args_count(struct args *a, const char *name);
const char *const *args_texts(struct args *a, const char *name);
const struct iii_pair *args_pairs(struct args *a, const char *name);
const void *args_object(struct args *a, const char *name, const struct table_type *type);
const void *args_objects(struct args *a, const char *name, const struct table_type *type);
void args_options(struct args *a, const struct table_type *type, void *options);
const char *args_key(struct args *a);
/* Turns a result back into JSON and frees it; NULL (a failure) is fine. */
void args_reply(struct args *a, const struct table_type *type, void *result);
int args_event(const void *event, void *arg);
void args_done(struct args *a);
