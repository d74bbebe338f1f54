/* table.h: the types of the interface as tables, and the two walks over them: JSON to struct and back. */
#pragma once
#include <jansson.h>

#include "iii_sandbox.h"

enum table_kind { KIND_TEXT, KIND_INTEGER, KIND_NUMBER, KIND_BOOLEAN, KIND_JSON, KIND_OBJECT, KIND_COMMAND };
/* EITHER: a list, or one element where the interface allows both; it is a list here, and a bool behind the count says
 * which it was. */
enum table_form { FORM_ONE, FORM_LIST, FORM_MAP, FORM_EITHER };
enum table_place { IN_BODY, IN_QUERY };

struct table_field {
    const char *name; /* on the wire */
    enum table_kind kind;
    enum table_form form;
    enum table_place place;
    bool optional; /* may have no value: numbers are behind a pointer */
    bool missing;  /* may be left out on the wire */
    size_t offset;
    size_t size_offset; /* of the length or count; 0: none */
    const struct table_type *of;
};

struct table_type {
    const char *name;
    size_t size;
    const struct table_field *fields;
    size_t count;
    bool whole; /* no object: its only field is the whole value */
};

struct error_name {
    int code;
    const char *name;
};
extern const struct error_name iii_error_names[];

/* Takes over `value`, also on failure. *ret is for iii_free(). */
int iii_table_decode(const struct table_type *type, json_t *value, void **ret, struct iii_error *err);
/* The fields of one place; NULL when memory is short. `data` may be NULL: an empty object. */
json_t *iii_table_encode(const struct table_type *type, const void *data, enum table_place place);
/* NULL when it is neither, or memory is short. */
json_t *iii_table_command(struct iii_command command);
json_t *iii_table_pairs(const struct iii_pair *pairs, size_t count);
json_t *iii_table_texts(const char *const *texts, size_t count);

/* Memory that iii_free() frees, filled with zeros; NULL when there is none. */
void *iii_result_new(size_t size);

/* Fills err (may be NULL) and returns code. */
int iii_fail(struct iii_error *err, int code, int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
