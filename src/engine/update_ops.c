/* Operations on one JSON value. update_ops_apply() checks the form of every operation first, so that a malformed list
 * changes nothing; then it works on a deep copy. An operation has a root or a path. A path is a list of literal keys
 * (a string is one key: dots do not separate); only merge and append accept more than one. A failing operation adds one
 * entry to the errors and leaves the copy as it was. A missing value is NULL until an operation creates it: an object,
 * except for append, increment and decrement at the root, which create what they append or add. */
#include "engine/update_ops.h"

#include <string.h>

enum op_kind { OP_SET, OP_MERGE, OP_INCREMENT, OP_DECREMENT, OP_APPEND, OP_REMOVE, OP_KINDS };

static const char *const op_words[OP_KINDS] = { "set", "merge", "increment", "decrement", "append", "remove" };

struct op {
    enum op_kind kind;
    size_t index;
    const char *path[UPDATE_OPS_PATH_MAX];
    size_t n_path; /* 0: the root */
    json_t *value; /* borrowed; NULL when absent */
    json_int_t by;
    json_t *errors; /* borrowed */
};

/* --- the form --- */

static bool has_path_list(enum op_kind k)
{
    return k == OP_MERGE || k == OP_APPEND;
}

static bool is_path(enum op_kind k, const json_t *path)
{
    if (!path || json_is_null(path))
        return has_path_list(k);
    if (!json_is_array(path) || !has_path_list(k))
        return json_is_string(path);
    for (size_t i = 0; i < json_array_size(path); i++)
        if (!json_is_string(json_array_get(path, i)))
            return false;
    return true;
}

static int op_read(const json_t *from, size_t index, struct op *ret, struct err *err)
{
    const char *word = json_get_str(from, "type", "");
    *ret = (struct op){ .index = index, .value = json_object_get(from, "value") };
    while (ret->kind < OP_KINDS && strcmp(op_words[ret->kind], word) != 0)
        ret->kind++;
    if (ret->kind == OP_KINDS)
        return err_set(err, ERR_INVALID, 0,
                       "ops[%zu]: type \"%.32s\" is not one of set, merge, increment, decrement, append, remove", index,
                       word);
    if (!is_path(ret->kind, json_object_get(from, "path")))
        return err_set(err, ERR_INVALID, 0, "ops[%zu]: %s needs path, a string%s", index, word,
                       has_path_list(ret->kind) ? " or a list of strings" : "");
    if (has_path_list(ret->kind) && !ret->value)
        return err_set(err, ERR_INVALID, 0, "ops[%zu]: %s needs value", index, word);
    if (ret->kind == OP_INCREMENT || ret->kind == OP_DECREMENT) {
        const json_t *by = json_object_get(from, "by");
        if (!json_is_integer(by))
            return err_set(err, ERR_INVALID, 0, "ops[%zu]: %s needs by, an integer", index, word);
        ret->by = json_integer_value(by);
    }
    return 0;
}

/* --- what an operation may not do --- */

static void op_fail(const struct op *o, const char *what, const char *message)
{
    JSON_OWNED code = json_sprintf("%s.%s", op_words[o->kind], what);
    (void)json_array_append_new(
        o->errors, json_pack("{s:I, s:O, s:s}", "op_index", (json_int_t)o->index, "code", code, "message", message));
}

/* Names that change the prototype of an object in JavaScript clients. */
static bool is_prototype_name(const char *key)
{
    return strcmp(key, "__proto__") == 0 || strcmp(key, "constructor") == 0 || strcmp(key, "prototype") == 0;
}

static const char *segment_problem(const char *segment, const char **ret_message)
{
    *ret_message = "a segment of the path is empty";
    if (!*segment)
        return "path.empty_segment";
    *ret_message = "a segment of the path has more than 256 bytes";
    if (strlen(segment) > UPDATE_OPS_SEGMENT_MAX)
        return "path.segment_too_long";
    *ret_message = "__proto__, constructor and prototype are not allowed in a path";
    return is_prototype_name(segment) ? "path.proto_polluted" : NULL;
}

static bool op_read_path(struct op *o, const json_t *path)
{
    const char *message = "";
    size_t n = json_is_array(path) ? json_array_size(path) : json_string_length(path) > 0;
    if (n > UPDATE_OPS_PATH_MAX) {
        op_fail(o, "path.too_deep", "the path has more than 32 segments");
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        o->path[i] = json_string_value(json_is_array(path) ? json_array_get(path, i) : path);
        const char *problem = segment_problem(o->path[i], &message);
        if (problem) {
            op_fail(o, problem, message);
            return false;
        }
    }
    o->n_path = n;
    return true;
}

/* The first problem of a value to merge at any depth, or NULL. */
static const char *value_problem(json_t *value, int depth)
{
    const char *key, *problem = NULL;
    json_t *member;
    size_t i;
    if (depth > UPDATE_OPS_VALUE_DEPTH)
        return "value.too_deep";
    if (json_is_array(value))
        json_array_foreach(value, i, member)
        {
            if (!problem)
                problem = value_problem(member, depth + 1);
        }
    else if (json_is_object(value))
        json_object_foreach(value, key, member)
        {
            if (!problem)
                problem = is_prototype_name(key) ? "value.proto_polluted" : value_problem(member, depth + 1);
        }
    return problem;
}

/* --- the operations; root is the slot of the whole value, *root NULL when it is missing --- */

static void root_set(json_t **root, json_t *value)
{
    json_decref(*root);
    *root = value;
}

/* The object that holds the path's last key, or NULL after an error. Missing objects on the way are created;
 * is_replaced: in the place of other values, too. */
static json_t *op_parent(const struct op *o, json_t **root, bool is_replaced)
{
    if (!*root || (is_replaced && !json_is_object(*root)))
        root_set(root, json_object());
    json_t *at = *root;
    for (size_t i = 0; i + 1 < o->n_path && json_is_object(at); i++) {
        json_t *next = json_object_get(at, o->path[i]);
        if (!next || (is_replaced && !json_is_object(next))) {
            next = json_object();
            (void)json_object_set_new(at, o->path[i], next);
        }
        at = next;
    }
    if (json_is_object(at))
        return at;
    op_fail(o, "target_not_object", "the value that the path leads into is not an object");
    return NULL;
}

static void op_merge(const struct op *o, json_t **root)
{
    const char *problem = value_problem(o->value, 1);
    if (!json_is_object(o->value))
        op_fail(o, "value.not_an_object", "merge needs an object as value");
    else if (json_object_size(o->value) > UPDATE_OPS_VALUE_MEMBERS)
        op_fail(o, "value.too_many_keys", "the value has more than 1024 members");
    else if (problem)
        op_fail(o, problem,
                "the value is nested more than 16 deep, or has a member __proto__, constructor or prototype");
    else if (o->n_path == 0) {
        if (!*root)
            root_set(root, json_object());
        (void)json_object_update(*root, o->value); /* the contract: skipped when the root is not an object */
    } else {
        const char *key = o->path[o->n_path - 1];
        json_t *parent = op_parent(o, root, true), *target = json_object_get(parent, key);
        if (json_is_object(target))
            (void)json_object_update(target, o->value);
        else
            (void)json_object_set(parent, key, o->value);
    }
}

/* The new number, or NULL after an error. old NULL: there is none yet. */
static json_t *op_sum(const struct op *o, const json_t *old)
{
    json_int_t step = o->by, sum;
    bool is_minus = o->kind == OP_DECREMENT;
    if (old && !json_is_number(old)) {
        op_fail(o, "not_number", "the value is not a number");
        return NULL;
    }
    if ((!old || json_is_integer(old)) && (!is_minus || !__builtin_mul_overflow(step, -1, &step)) &&
        !__builtin_add_overflow(old ? json_integer_value(old) : 0, step, &sum))
        return json_integer(sum);
    return json_real((old ? json_number_value(old) : 0) + (is_minus ? -1.0 : 1.0) * (double)o->by);
}

/* The new list or text, or NULL after an error. */
static json_t *op_appended(const struct op *o, json_t *old)
{
    if (!old || json_is_null(old)) {
        if (json_is_string(o->value) && o->n_path < 2)
            return json_incref(o->value);
        return json_pack("[O]", o->value);
    }
    if (json_is_string(old) && json_is_string(o->value)) /* by length: a text may hold NUL characters */
        return json_pack("s%+%", json_string_value(old), json_string_length(old), json_string_value(o->value),
                         json_string_length(o->value));
    if (!json_is_array(old)) {
        op_fail(o, "type_mismatch", "only a list, or a text with a text as value, can be appended to");
        return NULL;
    }
    json_t *list = json_copy(old);
    (void)json_array_append(list, o->value);
    return list;
}

/* What takes the place of the value at the path; NULL after an error. */
static json_t *op_result(const struct op *o, json_t *old)
{
    switch (o->kind) {
    case OP_INCREMENT:
    case OP_DECREMENT:
        return op_sum(o, old);
    case OP_APPEND:
        return op_appended(o, old);
    case OP_SET:
        return o->value ? json_incref(o->value) : json_null();
    case OP_REMOVE:
        return json_null();
    case OP_MERGE:
    case OP_KINDS:
        break;
    }
    return NULL;
}

static void op_apply(const struct op *o, json_t **root)
{
    if (o->kind == OP_MERGE) {
        op_merge(o, root);
        return;
    }
    json_t *parent = o->n_path ? op_parent(o, root, false) : NULL;
    const char *key = o->n_path ? o->path[o->n_path - 1] : NULL;
    if (key && !parent)
        return;
    if (key && o->kind == OP_REMOVE) {
        (void)json_object_del(parent, key); /* absent is fine */
        return;
    }
    json_t *next = op_result(o, key ? json_object_get(parent, key) : *root);
    if (next && key)
        (void)json_object_set_new(parent, key, next);
    else if (next)
        root_set(root, next);
}

int update_ops_apply(json_t *old, const json_t *ops, json_t **ret_value, json_t **ret_errors, struct err *err)
{
    struct op op;
    size_t n = json_array_size(ops);
    if (n == 0 || n > UPDATE_OPS_MAX)
        return err_set(err, ERR_INVALID, 0, "ops: a list of 1 to %d operations {type, path, value} is expected",
                       UPDATE_OPS_MAX);
    for (size_t i = 0; i < n; i++) {
        int r = op_read(json_array_get(ops, i), i, &op, err);
        if (r < 0)
            return r;
    }
    JSON_OWNED errors = json_array();
    json_t *value = json_deep_copy(old);
    for (size_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(ops, i);
        (void)op_read(from, i, &op, NULL);         /* it was read before */
        JSON_OWNED own = json_deep_copy(op.value); /* later operations may change what this one puts in */
        op.value = own;
        op.errors = errors;
        if (op_read_path(&op, json_object_get(from, "path")))
            op_apply(&op, &value);
    }
    *ret_value = value ? value : json_object();
    *ret_errors = json_array_size(errors) ? STEAL(errors) : NULL;
    return 0;
}
