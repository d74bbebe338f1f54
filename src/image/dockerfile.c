/* The Dockerfile parser: pure, on untrusted text. dockerfile_parse() joins continued lines, drops comments and produces
 * one struct dockerfile_step per instruction; ARG may precede the one FROM, everything else follows it. Arguments stay
 * raw text until dockerfile_words() splits them and replaces variables (struct expansion), because the variables are
 * known only while the build runs. Every limit and syntax error names the line; on failure the output is empty. */
#include "image/dockerfile.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/strlist.h"

#define NESTING_MAX 8 /* ${A:-${B:-…}} */

static const char *const kind_names[] = {
    [DOCKERFILE_FROM] = "FROM",   [DOCKERFILE_RUN] = "RUN",
    [DOCKERFILE_COPY] = "COPY",   [DOCKERFILE_ADD] = "ADD",
    [DOCKERFILE_ENV] = "ENV",     [DOCKERFILE_WORKDIR] = "WORKDIR",
    [DOCKERFILE_ARG] = "ARG",     [DOCKERFILE_USER] = "USER",
    [DOCKERFILE_CMD] = "CMD",     [DOCKERFILE_ENTRYPOINT] = "ENTRYPOINT",
    [DOCKERFILE_LABEL] = "LABEL", [DOCKERFILE_EXPOSE] = "EXPOSE",
};
#define N_KINDS (sizeof(kind_names) / sizeof(kind_names[0]))

const char *dockerfile_kind_name(enum dockerfile_kind kind)
{
    return kind_names[kind];
}

void dockerfile_done(struct dockerfile *d)
{
    for (size_t i = 0; i < d->n_steps; i++)
        free(d->steps[i].args);
    free(d->steps);
    *d = (struct dockerfile){ 0 };
}

/* --- lines to instructions --- */

struct reader {
    const char *at, *end;
    unsigned line; /* of at */
};

static bool next_line(struct reader *r, const char **ret, size_t *ret_len)
{
    if (r->at >= r->end)
        return false;
    const char *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    size_t len = (size_t)((stop ? stop : r->end) - r->at);
    *ret = r->at;
    r->at += len + (stop ? 1 : 0);
    r->line++;
    if (len && (*ret)[len - 1] == '\r')
        len--;
    while (len && isspace((unsigned char)**ret)) {
        (*ret)++;
        len--;
    }
    *ret_len = len;
    return true;
}

static size_t trimmed(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return len;
}

/* Reads one instruction with its continuations into out. false: end of file. ret_line: its first line. */
static int read_instruction(struct reader *r, struct buf *out, unsigned *ret_line, struct err *err)
{
    const char *text;
    size_t len;
    bool is_going = false;
    buf_clear(out);
    while (next_line(r, &text, &len)) {
        if (len == 0 || text[0] == '#')
            continue; /* comments are also allowed between continued lines */
        if (!is_going)
            *ret_line = r->line;
        len = trimmed(text, len);
        is_going = len && text[len - 1] == '\\';
        if (buf_add(out, text, is_going ? len - 1 : len) < 0)
            return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: an instruction has at most %d bytes", *ret_line,
                           DOCKERFILE_ARGS_MAX);
        if (!is_going)
            return 1;
    }
    return out->len > 0;
}

static int find_kind(const char *word, size_t len, unsigned line, enum dockerfile_kind *ret, struct err *err)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (strlen(kind_names[i]) == len && strncasecmp(kind_names[i], word, len) == 0) {
            *ret = (enum dockerfile_kind)i;
            return 0;
        }
    return err_set(err, ERR_INVALID, 0,
                   "Dockerfile line %u: \"%.*s\" is not supported: FROM, RUN, COPY, ADD, ENV, WORKDIR, ARG, USER, CMD, "
                   "ENTRYPOINT, LABEL and EXPOSE are",
                   line, (int)(len < 40 ? len : 40), word);
}

static int check_order(const struct dockerfile *d, bool *has_from, struct err *err)
{
    assert(d->steps && d->n_steps); /* the caller has just added a step */
    const struct dockerfile_step *step = &d->steps[d->n_steps - 1];
    if (step->kind == DOCKERFILE_FROM && *has_from)
        return err_set(
            err, ERR_INVALID, 0,
            "Dockerfile line %u: a second FROM: multi-stage builds are not supported; build each stage as its own "
            "image",
            step->line);
    if (step->kind == DOCKERFILE_FROM)
        *has_from = true;
    else if (!*has_from && step->kind != DOCKERFILE_ARG)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s before FROM: only ARG is allowed there", step->line,
                       kind_names[step->kind]);
    bool has_flags = strchr("FRCA", kind_names[step->kind][0]) &&
                     step->kind != DOCKERFILE_CMD; /* the instructions that accept flags */
    if (has_flags && strncmp(step->args, "--", 2) == 0)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the option %.*s is not supported", step->line,
                       kind_names[step->kind], (int)strcspn(step->args, " \t="), step->args);
    return 0;
}

static int add_step(struct dockerfile *d, const struct buf *text, unsigned line, struct err *err)
{
    size_t word = strcspn(text->data, " \t"), at = word, len = trimmed(text->data, text->len);
    enum dockerfile_kind kind;
    if (memchr(text->data, '\0', text->len))
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: contains a NUL byte", line);
    int r = find_kind(text->data, word < len ? word : len, line, &kind, err);
    if (r < 0)
        return r;
    while (at < len && isspace((unsigned char)text->data[at]))
        at++;
    if (at >= len)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s needs an argument", line, kind_names[kind]);
    if (d->n_steps == DOCKERFILE_STEPS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d instructions", line,
                       DOCKERFILE_STEPS_MAX);
    d->steps = xrealloc(d->steps, (d->n_steps + 1) * sizeof(*d->steps));
    d->steps[d->n_steps++] =
        (struct dockerfile_step){ .kind = kind, .line = line, .args = xstrndup(text->data + at, len - at) };
    return 0;
}

int dockerfile_parse(const char *text, size_t len, struct dockerfile *ret, struct err *err)
{
    CLEANUP(dockerfile_done) struct dockerfile d = { 0 };
    CLEANUP(buf_done) struct buf one = BUF_INIT(DOCKERFILE_ARGS_MAX);
    struct reader reader = { .at = text, .end = text + len };
    bool has_from = false;
    unsigned line = 0;
    int r;
    if (len > DOCKERFILE_BYTES_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "the Dockerfile has %zu bytes, at most %d are read", len,
                       DOCKERFILE_BYTES_MAX);
    while ((r = read_instruction(&reader, &one, &line, err)) > 0) {
        r = one.len ? add_step(&d, &one, line, err) : 0;
        if (r == 0 && one.len)
            r = check_order(&d, &has_from, err);
        if (r < 0)
            return r;
    }
    if (r < 0)
        return r;
    if (!has_from)
        return err_set(err, ERR_INVALID, 0, "the Dockerfile has no FROM");
    *ret = d;
    d = (struct dockerfile){ 0 };
    return 0;
}

/* --- words --- */

bool dockerfile_is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return len > 0 && !isdigit((unsigned char)text[0]);
}

int dockerfile_exec_form(const struct dockerfile_step *step, char ***ret, struct err *err)
{
    JSON_OWNED list = NULL;
    if (step->args[0] != '[' || json_read(step->args, strlen(step->args), &list, NULL) < 0 || !json_is_array(list))
        return 0;
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const json_t *word = json_array_get(list, i);
        if (!json_is_string(word) || strlen(json_string_value(word)) != json_string_length(word))
            return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the list may hold only strings", step->line,
                           kind_names[step->kind]);
    }
    if (n > DOCKERFILE_WORDS_MAX)
        return err_set(err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d arguments", step->line,
                       DOCKERFILE_WORDS_MAX);
    if (n == 0)
        return err_set(err, ERR_INVALID, 0, "Dockerfile line %u: %s: the list is empty", step->line,
                       kind_names[step->kind]);
    *ret = strlist_from_json(list);
    return 1;
}

struct expansion {
    const struct dockerfile_step *step;
    char *const *vars;
    struct buf out;
    struct err *err;
};

static int expand_error(const struct expansion *x, const char *what)
{
    return err_set(x->err, ERR_INVALID, 0, "Dockerfile line %u: %s: %s", x->step->line, kind_names[x->step->kind],
                   what);
}

static int expand_put(struct expansion *x, const char *text, size_t len)
{
    if (buf_add(&x->out, text, len) == 0)
        return 0;
    return err_set(x->err, ERR_TOO_LARGE, 0, "Dockerfile line %u: over %d bytes after variables are replaced",
                   x->step->line, DOCKERFILE_ARGS_MAX);
}

static const char *value_of(const struct expansion *x, const char *name, size_t len)
{
    char *key = xstrndup(name, len);
    const char *value = strlist_env_get(x->vars, key);
    free(key);
    return value ? value : "";
}

static int expand_variable(struct expansion *x, const char **at, int depth);

/* Expands text up to the closing brace. is_used: it becomes part of the result. */
static int expand_default(struct expansion *x, const char **at, bool is_used, int depth)
{
    size_t mark = x->out.len;
    int r = 0;
    while (r == 0 && **at && **at != '}') {
        if (**at == '$') {
            r = expand_variable(x, at, depth + 1);
        } else {
            if (**at == '\\' && (*at)[1])
                (*at)++;
            r = expand_put(x, *at, 1);
            (*at)++;
        }
    }
    if (!is_used && x->out.data) {
        x->out.len = mark;
        x->out.data[mark] = '\0';
    }
    return r;
}

/* *at: the dollar sign; on return just after the variable. */
static int expand_variable(struct expansion *x, const char **at, int depth)
{
    const char *name = *at + 1;
    bool has_brace = *name == '{';
    if (depth > NESTING_MAX)
        return expand_error(x, "variables are nested too deeply");
    name += has_brace ? 1 : 0;
    size_t len = 0;
    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    if (!has_brace && !dockerfile_is_name(name, len)) { /* a lone dollar */
        (*at)++;
        return expand_put(x, "$", 1);
    }
    if (!dockerfile_is_name(name, len))
        return expand_error(x, "after ${ the name of a variable is expected");
    const char *value = value_of(x, name, len);
    *at = name + len;
    if (!has_brace)
        return expand_put(x, value, strlen(value));
    bool is_minus = strncmp(*at, ":-", 2) == 0, is_plus = strncmp(*at, ":+", 2) == 0;
    int r = *value && !is_plus ? expand_put(x, value, strlen(value)) : 0;
    if (is_minus || is_plus) {
        *at += 2;
        r = r < 0 ? r : expand_default(x, at, is_plus == (*value != '\0'), depth);
    }
    if (r < 0)
        return r;
    if (**at != '}')
        return expand_error(x, "in ${…} only ${NAME}, ${NAME:-text} and ${NAME:+text} are supported");
    (*at)++;
    return 0;
}

/* Reads one word from *at on; *at is not white space. */
static int read_word(struct expansion *x, const char **at)
{
    char quote = '\0';
    int r = 0;
    while (r == 0 && **at && (quote || !isspace((unsigned char)**at))) {
        char c = **at;
        if (c == '$' && quote != '\'') {
            r = expand_variable(x, at, 0);
            continue;
        }
        (*at)++;
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? '\0' : c;
        } else if (c == '\\' && quote != '\'' && **at && (!quote || strchr("\"\\$", **at))) {
            r = expand_put(x, *at, 1);
            (*at)++;
        } else {
            r = expand_put(x, &c, 1);
        }
    }
    return r == 0 && quote ? expand_error(x, "a quote is not closed") : r;
}

/* The entries of a list have no quotes or white space to interpret, only variables. */
static int expand_list(struct expansion *x, char *const *list, char ***ret)
{
    assert(list);
    for (size_t i = 0; list[i]; i++) {
        buf_clear(&x->out);
        const char *at = list[i];
        int r = 0;
        while (r == 0 && *at) {
            if (*at == '$')
                r = expand_variable(x, &at, 0);
            else
                r = expand_put(x, at++, 1);
        }
        if (r < 0)
            return r;
        strlist_add(ret, buf_text(&x->out));
    }
    return 0;
}

static int split_words(struct expansion *x, char ***ret)
{
    const char *at = x->step->args;
    for (size_t n = 0; *at; n++) {
        if (n == DOCKERFILE_WORDS_MAX)
            return err_set(x->err, ERR_TOO_LARGE, 0, "Dockerfile line %u: more than %d arguments", x->step->line,
                           DOCKERFILE_WORDS_MAX);
        buf_clear(&x->out);
        int r = read_word(x, &at);
        if (r < 0)
            return r;
        strlist_add(ret, buf_text(&x->out));
        while (isspace((unsigned char)*at))
            at++;
    }
    return 0;
}

int dockerfile_words(const struct dockerfile_step *step, char *const *vars, char ***ret, struct err *err)
{
    CLEANUP(strlist_free_p) char **list = NULL;
    CLEANUP(strlist_free_p) char **words = NULL;
    struct expansion x = { .step = step, .vars = vars, .out = BUF_INIT(DOCKERFILE_ARGS_MAX), .err = err };
    bool can_list = step->kind == DOCKERFILE_COPY || step->kind == DOCKERFILE_ADD;
    int r = can_list ? dockerfile_exec_form(step, &list, err) : 0;
    if (r >= 0)
        r = r ? expand_list(&x, list, &words) : split_words(&x, &words);
    buf_done(&x.out);
    if (r < 0)
        return r;
    *ret = STEAL(words);
    return 0;
}
