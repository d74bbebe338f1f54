#include "cli/operation_args.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/engine_connect.h"

#define SLURP_MAX (256 << 20)

void operation_args_kebab(const char *field, char ret[OPERATION_ARGS_NAME_MAX])
{
    size_t n = 0;
    for (; *field && n + 2 < OPERATION_ARGS_NAME_MAX; field++) {
        if (isupper((unsigned char)*field))
            ret[n++] = '-';
        ret[n++] = (char)tolower((unsigned char)*field);
    }
    ret[n] = '\0';
}

const struct field *operation_args_field(const struct op *op, const char *name)
{
    char kebab[OPERATION_ARGS_NAME_MAX];
    for (const struct field *f = op->fields; f->name; f++) {
        operation_args_kebab(f->name, kebab);
        if (strcmp(f->name, name) == 0 || strcmp(kebab, name) == 0)
            return f;
    }
    return NULL;
}

bool operation_args_takes_many(const struct field *f)
{
    return f->type == FIELD_STR_LIST || f->type == FIELD_STR_MAP || f->type == FIELD_COMMAND;
}

/* --- one value --- */

static int no_good(struct err *err, const struct field *f, const char *text, const char *wanted)
{
    return err_set(err, ERR_INVALID, 0, "%s: \"%.80s\" is not %s", f->name, text, wanted);
}

static json_t *member_of_kind(json_t *params, const char *name, json_type kind)
{
    json_t *there = json_object_get(params, name);
    if (there && json_typeof(there) == kind)
        return there;
    json_t *made = kind == JSON_ARRAY ? json_array() : json_object();
    (void)json_object_set_new(params, name, made);
    return made;
}

/* Adds "K=V" to the map that params has under the field's name; or merges a whole JSON object. */
static int put_pair(json_t *params, const struct field *f, const char *text, struct err *err)
{
    JSON_OWNED whole = NULL;
    const char *equals = strchr(text, '=');
    if (text[0] == '{' && json_read(text, strlen(text), &whole, NULL) == 0 && json_is_object(whole))
        return json_object_update(member_of_kind(params, f->name, JSON_OBJECT), whole);
    if (!equals || equals == text)
        return no_good(err, f, text, "NAME=VALUE or a JSON object");
    json_t *map = member_of_kind(params, f->name, JSON_OBJECT), *value = NULL;
    if (f->type == FIELD_OBJ)
        (void)json_read(equals + 1, strlen(equals + 1), &value, NULL);
    return json_object_setn_new(map, text, (size_t)(equals - text), value ? value : json_string(equals + 1));
}

/* Adds an entry to the list, or all entries of a JSON array. */
static int put_entry(json_t *params, const struct field *f, const char *text, struct err *err)
{
    JSON_OWNED whole = NULL;
    bool is_json = (text[0] == '[' || text[0] == '{') && json_read(text, strlen(text), &whole, NULL) == 0;
    if (is_json && json_is_array(whole))
        return json_object_set(params, f->name, whole);
    if (f->type == FIELD_OBJ_LIST) {
        if (!is_json)
            return no_good(err, f, text, "a JSON array or object");
        return json_array_append(member_of_kind(params, f->name, JSON_ARRAY), whole);
    }
    return json_array_append_new(member_of_kind(params, f->name, JSON_ARRAY), json_string(text));
}

/* One word is a line for a shell; several are a program and its arguments. */
static int put_command(json_t *params, const struct field *f, const char *text)
{
    JSON_OWNED whole = NULL;
    json_t *before = json_object_get(params, f->name);
    if (!before && text[0] == '[' && json_read(text, strlen(text), &whole, NULL) == 0)
        return json_object_set(params, f->name, whole);
    if (!before)
        return json_object_set_new(params, f->name, json_string(text));
    if (json_is_string(before))
        (void)json_object_set_new(params, f->name, json_pack("[O]", before));
    return json_array_append_new(json_object_get(params, f->name), json_string(text));
}

static int put_scalar(json_t *params, const struct field *f, const char *text, struct err *err)
{
    JSON_OWNED value = NULL;
    bool is_json = json_read(text, strlen(text), &value, NULL) == 0;
    if (f->type == FIELD_BOOL) {
        bool is_no = strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
        if (!is_no && *text && strcmp(text, "true") != 0 && strcmp(text, "1") != 0)
            return no_good(err, f, text, "true or false");
        return json_object_set_new(params, f->name, json_boolean(!is_no));
    }
    if (f->type == FIELD_ANY)
        return json_object_set_new(params, f->name, is_json ? STEAL(value) : json_string(text));
    if (!json_is_number(value))
        return no_good(err, f, text, "a number");
    return json_object_set(params, f->name, value);
}

int operation_args_put(json_t *params, const struct field *f, const char *text, struct err *err)
{
    if (!utf8_is_valid(text, strlen(text)))
        return err_set(err, ERR_INVALID, 0, "%s: the text is not UTF-8", f->name);
    switch (f->type) {
    case FIELD_STR:
        return json_object_set_new(params, f->name, json_string(text));
    case FIELD_INT:
    case FIELD_NUM:
    case FIELD_BOOL:
    case FIELD_ANY:
        return put_scalar(params, f, text, err);
    case FIELD_OBJ:
    case FIELD_STR_MAP:
        return put_pair(params, f, text, err);
    case FIELD_STR_LIST:
    case FIELD_OBJ_LIST:
        return put_entry(params, f, text, err);
    case FIELD_COMMAND:
        return put_command(params, f, text);
    }
    return -EINVAL;
}

/* --- all values --- */

int operation_args_slurp(const char *path, char **ret, size_t *ret_len)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct buf out = BUF_INIT(SLURP_MAX);
    ssize_t n = fd < 0 ? -1 : 1;
    int r = 0;
    while (n > 0 && r == 0) {
        char piece[65536];
        n = read(fd, piece, sizeof(piece));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            r = buf_add(&out, piece, (size_t)n);
    }
    int saved = errno;
    if (fd >= 0 && !is_stdin)
        (void)close(fd);
    if (n < 0 || r < 0) {
        (void)fprintf(stderr, "error: %s: %s\n", is_stdin ? "standard input" : path,
                      r < 0 ? "more than 256 MiB do not fit into a request" : strerror(saved));
        buf_done(&out);
        return -1;
    }
    *ret = buf_steal(&out, ret_len);
    return 0;
}

/* --params: JSON, or @FILE, or - for standard input. */
static int take_body(const struct verbs_args *a, const char *given, json_t *params)
{
    CLEANUP(free_p) char *text = NULL;
    JSON_OWNED body = NULL;
    struct err why = ERR_INIT;
    size_t len = strlen(given);
    if (strcmp(given, "-") != 0 && given[0] != '@')
        text = strdup(given);
    else if (operation_args_slurp(given[0] == '@' ? given + 1 : given, &text, &len) < 0)
        return 1;
    if (!text || json_read(text, len, &body, &why) < 0 || !json_is_object(body))
        return verbs_usage_error(a->verb, "--params: %s", why.code ? why.msg : "a JSON object is needed");
    return json_object_update(params, body) < 0 ? 1 : 0;
}

static bool is_listed(const char *const *names, const char *name)
{
    while (names && *names && strcmp(*names, name) != 0)
        names++;
    return names && *names;
}

int operation_args_take(const struct verbs_args *a, json_t *params, const char *const *except)
{
    const char *body = verbs_value(a, "params");
    int r = body && a->verb->op ? take_body(a, body, params) : 0;
    for (size_t i = 0; r == 0 && a->verb->op && i < a->n_given; i++) {
        const char *name = a->given[i].option->name;
        const struct field *f = is_listed(except, name) ? NULL : operation_args_field(a->verb->op, name);
        struct err err = ERR_INIT;
        if (f && operation_args_put(params, f, a->given[i].value, &err) < 0)
            r = verbs_usage_error(a->verb, "%s", err.msg);
    }
    return r;
}
